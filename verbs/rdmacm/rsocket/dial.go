package rsocket

import (
	"context"
	"errors"
	"syscall"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// Dial connects to an rsocket that listens at an address, IP:PORT or
// [IPv6%ZONE]:PORT; names are not looked up. It ends with the context; without a
// deadline the library gives a peer that is silent about two minutes. Nobody listening
// is syscall.ECONNREFUSED, and no RDMA device syscall.ENODEV.
//
// See rsocket(7).
//
// Implements: rsocket, rbind, rconnect, rfcntl, rpoll.
func Dial(ctx context.Context, addr string, o Options) (*Conn, error) {
	peer, sa, err := parse(addr)
	if err == nil {
		err = o.check()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, opError("dial", rdmacm.Addr{}, peer, err)
	}
	s, err := open(sa, crdmacm.SOCK_STREAM, o.Linger, &streams)
	if err != nil {
		return nil, opError("dial", rdmacm.Addr{}, peer, err)
	}
	s.peer = peer
	if err := s.connect(ctx, sa, o); err != nil {
		err = s.fail("dial", err)
		s.discard()
		return nil, err
	}
	c := &Conn{socket: s}
	life.Enter(&s.life, c, "rsocket to "+peer.String())
	return c, nil
}

func (s *socket) connect(ctx context.Context, sa *crdmacm.Sockaddr, o Options) error {
	if err := o.apply(s); err != nil {
		return err
	}
	if o.LocalAddr != "" {
		_, local, err := parse(o.LocalAddr)
		if err != nil {
			return err
		}
		if err := s.fd.Bind(local); err != nil {
			return err
		}
	}
	s.slow = true
	err := s.fd.Connect(sa)
	if errors.Is(err, syscall.EINPROGRESS) {
		err = s.do(ctx, &s.out, func() (bool, error) {
			err := s.fd.Connected()
			return err == nil, err
		})
	}
	if err != nil {
		return err
	}
	s.slow = false
	s.names()
	return o.keepAlive(s)
}
