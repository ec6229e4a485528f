package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// tableName is what the server calls its table towards clients.
const tableName = "kv"

// Server keeps a table. It is safe for concurrent use.
type Server struct {
	mu sync.Mutex // of whoever changes the table
	mr *verbs.MR
}

// NewServer makes a table in a hub's domain, for so many buckets.
func NewServer(hub *rdmacm.Hub, buckets int) (*Server, error) {
	mr, err := hub.PD().AllocMR(buckets*bucketSize, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteRead})
	if err != nil {
		return nil, err
	}
	s := &Server{mr: mr}
	for at := 0; at < mr.Len(); at += slotSize {
		putSlot(mr.Bytes()[at:at+slotSize], "", nil)
	}
	return s, nil
}

// Close frees the table. Connections that were told of it must be closed.
func (s *Server) Close() error { return s.mr.Close() }

// Serve lets a client read the table and makes the changes it asks for, until it
// closes its side.
func (s *Server) Serve(ctx context.Context, conn *rdmacm.Conn) error {
	if _, err := conn.Advertise(ctx, tableName, s.mr, 0, s.mr.Len(), rdmacm.RegionRead); err != nil {
		return errors.Join(err, conn.Abort())
	}
	for {
		m, err := conn.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return conn.Close()
		}
		if err != nil {
			return errors.Join(err, conn.Abort())
		}
		answer := s.change(m.Bytes())
		m.Release()
		if err := conn.Send(ctx, []byte(answer)); err != nil {
			return errors.Join(err, conn.Abort())
		}
	}
}

// change carries out a request and returns what is wrong with it, or nothing.
func (s *Server) change(request []byte) string {
	op, key, value, err := parseRequest(request)
	if err != nil {
		return err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := bucketOf(key, uint64(s.mr.Len()))
	bucket := s.mr.Bytes()[at : at+bucketSize]
	var free []byte
	for i := range perBucket {
		slot := bucket[i*slotSize : (i+1)*slotSize]
		// Nobody else writes to the table, so a slot is never torn here.
		switch k, _, _ := readSlot(slot); k {
		case key:
			if op == opDel {
				key, value = "", nil
			}
			putSlot(slot, key, value)
			return ""
		case "":
			free = slot
		}
	}
	if op == opDel {
		return ""
	}
	if free == nil {
		return "the key's bucket is full"
	}
	putSlot(free, key, value)
	return ""
}
