package rdmacm

import (
	"context"
	"errors"
	"time"

	"github.com/gofabric/gofabric/verbs"
)

// connMark goes with the request for a connection, so that a listener knows its
// own kind before it makes anything for the peer.
var connMark = []byte(wireMagic + "\x01")

// connTimeout is the default of how long to wait for an acknowledgement, 268 ms.
// With the default of the retries a dead peer is told after about two seconds,
// where the kernel's own default makes it fifteen.
const connTimeout = 16

// DialOptions are the options of Dial.
type DialOptions struct {
	// Hub is what the connection is made on; nil is one that all connections
	// of the process on the device share, which comes and goes with them.
	Hub *Hub
	// Conn are the connection's own options.
	Conn ConnOptions
	// ID are the options of the id; its port space is TCP or IB.
	ID IDOptions
	// Source is the own address; the zero Addr lets the routing table choose.
	Source Addr
	// Timeout is how long to wait for an acknowledgement before a retry: 4.096
	// µs times 2^Timeout, 1 to 31. Zero is 16, 268 ms.
	Timeout int
	// Retries is how often to retry before the peer is gone, up to 7; zero is
	// 6, verbs.None is no retry. 7 never ends on soft-RoCE.
	Retries int
}

// Dial connects to a Listener at an address, in the form that ParseAddr reads or
// as a name and a port.
//
// It fails as DialEndpoint does, and with ErrForeignPeer if the peer is no
// Listener. The context bounds the whole of it. Without librdmacm it fails with
// ErrLibraryNotFound.
func Dial(ctx context.Context, addr string, opts DialOptions) (*Conn, error) {
	m := maker{hub: opts.Hub, opts: opts.Conn}
	e, err := DialEndpoint(ctx, addr, DialEndpointOptions{
		ID: opts.ID, Source: opts.Source,
		EndpointOptions: m.endpoint(opts.Timeout, opts.Retries),
	})
	if err != nil {
		return nil, errors.Join(err, m.drop())
	}
	return m.start(ctx, e)
}

// maker makes the queue pair of a connection whose device is known late.
type maker struct {
	hub  *Hub // that was asked for
	opts ConnOptions

	pending *Pending
	shared  string // the device of the shared hub in use
}

func (m *maker) endpoint(timeout, retries int) EndpointOptions {
	if timeout == 0 {
		timeout = connTimeout
	}
	return EndpointOptions{
		QueuePair: m.queuePair, PrivateData: connMark, Framed: true, Timeout: timeout, Retries: retries,
	}
}

// queuePair makes one with its receives posted. It is called again for the next
// address of a name when one did not answer.
func (m *maker) queuePair(_ context.Context, at Location) (*verbs.QP, error) {
	if err := m.drop(); err != nil {
		return nil, err
	}
	hub := m.hub
	if hub == nil {
		var err error
		if hub, err = useHub(at.Device); err != nil {
			return nil, err
		}
		m.shared = at.Device
	}
	opts := m.opts
	opts.QP.Port = at.Port
	p, err := hub.Prepare(opts)
	if err != nil {
		return nil, err
	}
	m.pending = p
	return p.QP(), nil
}

// drop undoes what was made.
func (m *maker) drop() error {
	var errs []error
	if m.pending != nil {
		errs = append(errs, m.pending.Close())
		m.pending = nil
	}
	if m.shared != "" {
		errs = append(errs, endUse(m.shared))
		m.shared = ""
	}
	return errors.Join(errs...)
}

// start greets the peer of an endpoint.
func (m *maker) start(ctx context.Context, e *Endpoint) (*Conn, error) {
	l := &managed{e: e, shared: m.shared}
	c, err := m.pending.start(ctx, l)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// managed is the link of a connection that the connection manager made.
type managed struct {
	e      *Endpoint
	shared string
}

func (l *managed) Gone() <-chan struct{} { return l.e.Disconnected() }

func (l *managed) Leave() error { return l.e.Close() }

// Left is called when nothing of the connection is left on its hub.
func (l *managed) Left() error {
	if l.shared == "" {
		return nil
	}
	return endUse(l.shared)
}

// LocalAddr returns the own address; the zero Addr for a connection that was made
// by hand.
func (c *Conn) LocalAddr() Addr {
	if l, ok := c.link.(*managed); ok {
		return l.e.LocalAddr()
	}
	return Addr{}
}

// RemoteAddr returns the peer's address; the zero Addr for a connection that was
// made by hand.
func (c *Conn) RemoteAddr() Addr {
	if l, ok := c.link.(*managed); ok {
		return l.e.RemoteAddr()
	}
	return Addr{}
}

// handshakeLimit is the default of ListenOptions.Handshake.
const handshakeLimit = 10 * time.Second
