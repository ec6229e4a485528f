package rsocket

import (
	"context"
	"net"
	"time"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// Listener accepts connections. It is safe for concurrent use, and a net.Listener.
// A thread of the library's own answers the peers, so a Dial succeeds before Accept.
type Listener struct {
	*socket
	options Options
}

var _ net.Listener = (*Listener)(nil)

// Listen listens at an address, IP:PORT or [IPv6%ZONE]:PORT. Port 0 has the kernel
// choose one, which Addr tells.
//
// Implements: rsocket, rbind, rlisten, rfcntl.
func Listen(addr string, o Options) (*Listener, error) {
	local, sa, err := parse(addr)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return nil, opError("listen", local, rdmacm.Addr{}, err)
	}
	s, err := open(sa, crdmacm.SOCK_STREAM, o.Linger, &listeners)
	if err != nil {
		return nil, opError("listen", local, rdmacm.Addr{}, err)
	}
	s.local = local
	if err := s.listen(sa, o); err != nil {
		err = s.fail("listen", err)
		s.discard()
		return nil, err
	}
	l := &Listener{socket: s, options: o}
	life.Enter(&s.life, l, "rsocket listener at "+s.local.String())
	return l, nil
}

func (s *socket) listen(sa *crdmacm.Sockaddr, o Options) error {
	if err := o.apply(s); err != nil {
		return err
	}
	if err := s.fd.Bind(sa); err != nil {
		return err
	}
	backlog := o.Backlog
	if backlog == 0 {
		backlog = 128
	}
	s.slow = true
	if err := s.fd.Listen(backlog); err != nil {
		return err
	}
	a, err := s.fd.LocalName()
	s.local = rdmacm.Addr{IP: a.AddrPort()}
	return err
}

// Accept waits for a connection until Close or the deadline.
//
// Implements: raccept, rpoll.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptContext(context.Background())
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AcceptContext is Accept with a context. A connection that comes as the context
// ends stays for the next call.
//
// Implements: raccept, rpoll, rfcntl.
func (l *Listener) AcceptContext(ctx context.Context) (*Conn, error) {
	var s *socket
	err := l.do(ctx, &l.in, func() (bool, error) {
		var err error
		s, err = wrap(l.linger, &streams, l.fd.Accept)
		return err == nil, err
	})
	if err != nil {
		return nil, l.fail("accept", err)
	}
	s.names()
	if err := l.options.keepAlive(s); err != nil {
		err = l.fail("accept", err)
		s.discard()
		return nil, err
	}
	c := &Conn{socket: s}
	life.Enter(&s.life, c, "rsocket from "+s.peer.String())
	return c, nil
}

// Addr returns the address that is listened at, a rdmacm.Addr.
func (l *Listener) Addr() net.Addr { return l.local }

// SetDeadline ends Accept at a time; the zero time is none.
func (l *Listener) SetDeadline(t time.Time) error {
	l.in.deadline.set(t)
	return nil
}

// Close ends Accept, closes connections that nobody accepted, and releases the
// rsocket. More than one call does no harm.
//
// Implements: rclose.
func (l *Listener) Close() error {
	return l.fail("close", l.close(func() {
		for {
			fd, err := l.fd.Accept()
			if err != nil {
				return
			}
			_ = fd.Close()
		}
	}))
}

// CloseAll is Close.
func (l *Listener) CloseAll() error { return l.Close() }
