package rdmacm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ListenOptions are the options of Listen.
type ListenOptions struct {
	// Hub is what connections are made on: those that come in on another device
	// are refused. nil is one a device that all connections of the process
	// share, which comes and goes with them.
	Hub *Hub
	// Conn are the options of the connections.
	Conn ConnOptions
	// ID are the options of the id.
	ID IDOptions
	// Backlog is how many requests wait at most, and how many handshakes are
	// under way or done and not accepted; zero is 128. More are refused.
	Backlog int
	// Handshake is how long a peer may take from its request to its hello;
	// zero is 10 seconds.
	Handshake time.Duration
	// Timeout and Retries are as in DialOptions.
	Timeout, Retries int
}

// Listener takes connections. It is safe for concurrent use; a connection goes to
// one caller of Accept.
//
// Handshakes go on by themselves, each for itself: a peer that does not finish
// its own holds up nobody. One that is no Conn's is refused, with a reason in its
// RejectError.Data, and Accept does not see it.
type Listener struct {
	l    *EndpointListener
	opts ListenOptions

	ctx    context.Context // ends when the listener closes
	cancel context.CancelFunc
	ready  chan *Conn
	places chan struct{} // a token for each handshake under way
	wg     sync.WaitGroup
	failed error // why requests are taken no more; valid once ready is closed
}

// Listen listens at an address, in the form that ListenEndpoint takes.
func Listen(addr string, opts ListenOptions) (*Listener, error) {
	const op = "listen at"
	if opts.Backlog == 0 {
		opts.Backlog = 128
	}
	if opts.Handshake == 0 {
		opts.Handshake = handshakeLimit
	}
	if opts.Backlog < 0 || opts.Handshake < 0 {
		return nil, &OpError{Op: op, Address: addr, Err: errors.New("a negative Backlog or Handshake: zero is the default")}
	}
	if _, err := opts.Conn.withDefaults(); err != nil {
		return nil, &OpError{Op: op, Address: addr, Err: err}
	}
	l, err := ListenEndpoint(addr, ListenEndpointOptions{ID: opts.ID, Backlog: opts.Backlog})
	if err != nil {
		return nil, err
	}
	ln := &Listener{l: l, opts: opts, ready: make(chan *Conn), places: make(chan struct{}, opts.Backlog)}
	ln.ctx, ln.cancel = context.WithCancel(context.Background())
	ln.wg.Add(1)
	go ln.take()
	return ln, nil
}

// Addr returns the address that the listener is at.
func (ln *Listener) Addr() Addr { return ln.l.Addr() }

// take starts a handshake for each request until the listener is closed.
func (ln *Listener) take() {
	defer ln.wg.Done()
	defer close(ln.ready)
	var shaking sync.WaitGroup
	defer shaking.Wait()
	for {
		select {
		case ln.places <- struct{}{}:
		case <-ln.ctx.Done():
			ln.failed = ErrClosed
			return
		}
		r, err := ln.l.AcceptRequest(ln.ctx)
		if err != nil {
			if ln.failed = err; ln.ctx.Err() != nil {
				ln.failed = ErrClosed
			}
			return
		}
		shaking.Add(1)
		go func() {
			defer shaking.Done()
			defer func() { <-ln.places }()
			ln.serve(r)
		}()
	}
}

// serve makes a connection of a request and hands it to a caller of Accept.
func (ln *Listener) serve(r *Request) {
	c, err := ln.shake(r)
	if err != nil {
		// It is the peer's to know, which has been told, if anybody can.
		return
	}
	select {
	case ln.ready <- c:
	case <-ln.ctx.Done():
		_ = c.Abort()
	}
}

func (ln *Listener) shake(r *Request) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ln.ctx, ln.opts.Handshake)
	defer cancel()
	if why := ln.refusal(r); why != "" {
		reason, err := FramePrivateData([]byte(why))
		return nil, errors.Join(errors.New(why), err, r.Reject(reason))
	}
	m := maker{hub: ln.opts.Hub, opts: ln.opts.Conn}
	e, err := r.Accept(ctx, m.endpoint(ln.opts.Timeout, ln.opts.Retries))
	if err != nil {
		return nil, errors.Join(err, m.drop())
	}
	return m.start(ctx, e)
}

// refusal returns why a request cannot become a connection, or nothing.
func (ln *Listener) refusal(r *Request) string {
	mark, err := r.PeerData().Framed()
	if err != nil || !bytes.HasPrefix(mark, []byte(wireMagic)) {
		return "this service speaks to connections of package rdmacm"
	}
	if !bytes.Equal(mark, connMark) {
		return fmt.Sprintf("this service speaks version %d", wireVersion)
	}
	if h := ln.opts.Hub; h != nil && h.dev.Name() != r.Location().Device {
		return "this service is not on the device that the address leads to"
	}
	return ""
}

// Accept returns the next connection, waiting for it if need be. It returns
// ErrClosed when the listener is closed, and the context's error when that ends.
func (ln *Listener) Accept(ctx context.Context) (*Conn, error) {
	fail := func(err error) error { return &OpError{Op: "accept at", Address: ln.Addr().String(), Err: err} }
	select {
	case c, ok := <-ln.ready:
		if !ok {
			return nil, fail(ln.failed)
		}
		return c, nil
	case <-ctx.Done():
		return nil, fail(ctx.Err())
	}
}

// Close stops listening, ends the handshakes that are under way, and aborts
// connections that nobody has accepted. Those that were accepted live on.
func (ln *Listener) Close() error {
	ln.cancel()
	err := ln.l.Close()
	ln.wg.Wait()
	return err
}
