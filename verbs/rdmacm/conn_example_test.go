//go:build linux && cgo

package rdmacm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// A server and a client in one process, on the device inside it.
func ExamplePair() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dev, err := verbs.Open("loop0")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	hub, err := rdmacm.NewHub(dev, rdmacm.HubOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer hub.CloseAll()
	a, b, err := rdmacm.Pair(ctx, hub, hub, rdmacm.ConnOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if err := a.Send(ctx, []byte("hello")); err != nil {
		log.Fatal(err)
	}
	m, err := b.Recv(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", m.Bytes())
	m.Release()
	// Output: hello
}

// A buffer is filled where the adapter sends from: nothing is copied.
func ExampleConn_SendBuffer() {
	ctx, a, b, done := examplePair()
	defer done()
	buf, err := a.Hub().Buffer(1 << 20)
	if err != nil {
		log.Fatal(err)
	}
	copy(buf.Bytes(), "a large message")
	if err := a.SendBuffer(ctx, buf); err != nil {
		buf.Release() // it is still ours
		log.Fatal(err)
	}
	m, err := b.Recv(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Release()
	fmt.Printf("%d bytes: %s\n", m.Len(), m.Bytes()[:15])
	// Output: 1048576 bytes: a large message
}

// One side lets the other read its memory, and takes it back.
func ExampleConn_Advertise() {
	ctx, a, b, done := examplePair()
	defer done()
	mr, err := b.Hub().PD().AllocMR(4096, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteRead})
	if err != nil {
		log.Fatal(err)
	}
	defer mr.Close()
	copy(mr.Bytes(), "what everybody reads")
	region, err := b.Advertise(ctx, "table", mr, 0, mr.Len(), rdmacm.RegionRead)
	if err != nil {
		log.Fatal(err)
	}

	table, err := a.Region(ctx, "table")
	if err != nil {
		log.Fatal(err)
	}
	p := make([]byte, 20)
	if err := a.Read(ctx, table, 0, p); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", p)

	if err := region.Revoke(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(errors.Is(a.Read(ctx, table, 0, p), rdmacm.ErrRevoked))
	// Output:
	// what everybody reads
	// true
}

func examplePair() (ctx context.Context, a, b *rdmacm.Conn, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	dev, err := verbs.Open("loop0")
	if err != nil {
		log.Fatal(err)
	}
	hub, err := rdmacm.NewHub(dev, rdmacm.HubOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if a, b, err = rdmacm.Pair(ctx, hub, hub, rdmacm.ConnOptions{}); err != nil {
		log.Fatal(err)
	}
	return ctx, a, b, func() {
		if err := errors.Join(a.Abort(), b.Abort(), hub.Close(), dev.Close()); err != nil {
			log.Fatal(err)
		}
		cancel()
	}
}

// The service of docs/services.md, with a client in the same process.
func Example_service() {
	ctx, a, b, done := examplePair()
	defer done()
	s := newService(4)
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.serve(ctx, ctx, b)
	}()
	for _, q := range []string{"one", "two"} {
		answer, err := ask(ctx, a, []byte(q))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", answer)
	}
	if err := a.Close(); err != nil {
		log.Fatal(err)
	}
	<-served
	// Output:
	// you said one
	// you said two
}

// service answers requests of any number of connections.
type service struct {
	work chan struct{} // a token for each request under way

	mu    sync.Mutex
	conns map[*rdmacm.Conn]struct{}
}

func newService(atOnce int) *service {
	return &service{work: make(chan struct{}, atOnce), conns: map[*rdmacm.Conn]struct{}{}}
}

// run serves an address until the context ends, and then lets clients finish for
// as long as grace says.
func (s *service) run(ctx context.Context, addr string, grace time.Duration) error {
	l, err := rdmacm.Listen(addr, rdmacm.ListenOptions{
		Conn: rdmacm.ConnOptions{Window: 16, BufferSize: 16 << 10, MaxMessage: 1 << 20},
	})
	if err != nil {
		return err
	}
	finish, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var wg sync.WaitGroup
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			err = errors.Join(err, l.Close()) // connections live on
			time.AfterFunc(grace, cancel)
			wg.Wait()
			return err
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.serve(ctx, finish, conn)
		}()
	}
}

// serve answers one connection's requests, in order. Once ctx has ended it takes no
// more of them, and what is under way may go on until finish ends.
func (s *service) serve(ctx, finish context.Context, conn *rdmacm.Conn) {
	s.note(conn, true)
	defer s.note(conn, false)
	for {
		m, err := conn.Recv(ctx)
		switch {
		case errors.Is(err, io.EOF):
			_ = conn.Close() // the client has what it asked for
			return
		case ctx.Err() != nil:
			_ = conn.Shutdown(finish) // the client gets io.EOF after the last answer
			return
		case err != nil:
			_ = conn.Abort()
			return
		}
		s.work <- struct{}{}
		answer, err := s.answer(conn.Hub(), m)
		<-s.work
		if err == nil {
			if err = conn.SendBuffer(finish, answer); err != nil {
				answer.Release()
			}
		}
		if err != nil {
			_ = conn.Abort()
			return
		}
	}
}

// answer writes into memory that is sent without a copy.
func (s *service) answer(hub *rdmacm.Hub, m rdmacm.Message) (*rdmacm.Buffer, error) {
	defer m.Release() // from here on the client may send one more
	const greeting = "you said "
	buf, err := hub.Buffer(len(greeting) + m.Len())
	if err != nil {
		return nil, err
	}
	copy(buf.Bytes()[copy(buf.Bytes(), greeting):], m.Bytes())
	return buf, nil
}

func (s *service) note(conn *rdmacm.Conn, here bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if here {
		s.conns[conn] = struct{}{}
	} else {
		delete(s.conns, conn)
	}
}

// stats sums up what a metrics endpoint shows.
func (s *service) stats() (sum rdmacm.ConnStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		st := conn.Stats()
		sum.Sent += st.Sent
		sum.Received += st.Received
		sum.SendWaits += st.SendWaits
		sum.Queued += st.Queued
		sum.Unreleased += st.Unreleased
	}
	return sum
}

// ask is the client's side: one request and its answer.
func ask(ctx context.Context, conn *rdmacm.Conn, request []byte) ([]byte, error) {
	if err := conn.Send(ctx, request); err != nil {
		return nil, err
	}
	m, err := conn.Recv(ctx)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	return append([]byte(nil), m.Bytes()...), nil
}

// What a program that embeds the service calls.
var (
	_ = (*service).run
	_ = (*service).stats
)
