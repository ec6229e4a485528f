package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// Client reads a server's table and has it changed. It is safe for concurrent
// use.
type Client struct {
	conn  *rdmacm.Conn
	table *rdmacm.RemoteRegion
	mu    sync.Mutex // answers come in the order of the requests
}

// NewClient takes a connection over.
func NewClient(ctx context.Context, conn *rdmacm.Conn) (*Client, error) {
	table, err := conn.Region(ctx, tableName)
	if err == nil && (table.Len() == 0 || table.Len()%bucketSize != 0) {
		err = fmt.Errorf("the server's table of %d bytes is of another kind", table.Len())
	}
	if err != nil {
		return nil, errors.Join(err, conn.Abort())
	}
	return &Client{conn: conn, table: table}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Get returns the value of a key. The server's processor has no part in it: one
// RDMA read brings the key's bucket.
func (c *Client) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	b, err := c.conn.Hub().Buffer(bucketSize)
	if err != nil {
		return nil, false, err
	}
	defer b.Release()
	for {
		if err := c.conn.ReadBuffer(ctx, c.table, bucketOf(key, c.table.Len()), b); err != nil {
			return nil, false, err
		}
		value, ok, err := lookUp(b.Bytes(), key)
		if !errors.Is(err, errTorn) {
			return value, ok, err
		}
	}
}

// Put stores a value, and Delete removes one, when it returns.
func (c *Client) Put(ctx context.Context, key string, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if len(value) > maxValue {
		return fmt.Errorf("a value of %d bytes: the most is %d", len(value), maxValue)
	}
	return c.ask(ctx, makeRequest(opPut, key, value))
}

// Delete removes a key, if it is there.
func (c *Client) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return c.ask(ctx, makeRequest(opDel, key, nil))
}

func checkKey(key string) error {
	if len(key) < 1 || len(key) > maxKey {
		return fmt.Errorf("a key of %d bytes: it must have 1 to %d", len(key), maxKey)
	}
	return nil
}

// ask sends a request and waits for the answer. One whose context ends in between
// leaves an answer behind that nobody could tell from the next: the connection is
// given up.
func (c *Client) ask(ctx context.Context, request []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.Send(ctx, request); err != nil {
		return err
	}
	m, err := c.conn.Recv(ctx)
	if err != nil {
		return errors.Join(err, c.conn.Abort())
	}
	defer m.Release()
	if m.Len() > 0 {
		return errors.New(string(m.Bytes()))
	}
	return nil
}
