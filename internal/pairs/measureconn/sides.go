package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// Both ways the server takes all messages and answers with one byte, which ends
// the client's clock; the first byte of the clock's time is sent.

func (o *options) conn() rdmacm.ConnOptions {
	return rdmacm.ConnOptions{Window: o.window, BufferSize: o.buffer}
}

func (o *options) address() string { return net.JoinHostPort(o.host, strconv.Itoa(o.port)) }

func (o *options) serve(ctx context.Context) error {
	if o.over == "tcp" {
		return o.serveTCP()
	}
	l, err := rdmacm.Listen(o.address(), rdmacm.ListenOptions{Conn: o.conn()})
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := l.Accept(ctx)
	if err != nil {
		return err
	}
	for range o.messages(o.size) {
		m, err := c.Recv(ctx)
		if err != nil {
			return errors.Join(err, c.Abort())
		}
		m.Release()
	}
	if err := c.Send(ctx, []byte{1}); err != nil {
		return errors.Join(err, c.Abort())
	}
	return c.Close()
}

func (o *options) serveTCP() error {
	l, err := net.Listen("tcp", o.address())
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	buf := make([]byte, o.size)
	for range o.messages(o.size) {
		if _, err := io.ReadFull(c, buf); err != nil {
			return err
		}
	}
	_, err = c.Write([]byte{1})
	return err
}

// patiently tries until the server listens.
func patiently[C any](ctx context.Context, dial func() (C, error)) (C, error) {
	const pause = 20 * time.Millisecond
	for {
		c, err := dial()
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		select {
		case <-ctx.Done():
			return c, err
		case <-time.After(pause):
		}
	}
}

func (o *options) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	move := o.moveConn
	if o.over == "tcp" {
		move = o.moveTCP
	}
	took, err := move(ctx)
	if err != nil {
		return err
	}
	fmt.Println(float64(o.messages(o.size)*o.size) / (1 << 20) / took.Seconds())
	return nil
}

func (o *options) moveConn(ctx context.Context) (time.Duration, error) {
	source, err := netip.ParseAddr(o.source)
	if err != nil {
		return 0, err
	}
	c, err := patiently(ctx, func() (*rdmacm.Conn, error) {
		return rdmacm.Dial(ctx, o.address(), rdmacm.DialOptions{Conn: o.conn(), Source: rdmacm.Addr{IP: netip.AddrPortFrom(source, 0)}})
	})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	for range o.messages(o.size) {
		b, err := c.Hub().Buffer(o.size)
		if err != nil {
			return 0, errors.Join(err, c.Abort())
		}
		if err := c.SendBuffer(ctx, b); err != nil {
			b.Release()
			return 0, errors.Join(err, c.Abort())
		}
	}
	m, err := c.Recv(ctx)
	if err != nil {
		return 0, errors.Join(err, c.Abort())
	}
	took := time.Since(start)
	m.Release()
	return took, c.Close()
}

func (o *options) moveTCP(ctx context.Context) (time.Duration, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(o.source)}}
	c, err := patiently(ctx, func() (net.Conn, error) { return d.DialContext(ctx, "tcp", o.address()) })
	if err != nil {
		return 0, err
	}
	defer c.Close()
	buf := make([]byte, o.size)
	start := time.Now()
	for range o.messages(o.size) {
		if _, err := c.Write(buf); err != nil {
			return 0, err
		}
	}
	_, err = io.ReadFull(c, buf[:1])
	return time.Since(start), err
}
