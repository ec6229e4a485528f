package rsocket

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// defaultLinger is how long Close waits for what was sent.
const defaultLinger = 10 * time.Second

// Options are how an rsocket is made. The zero value leaves the library's defaults,
// which /etc/rdma/rsocket may change.
type Options struct {
	// SendBuffer and RecvBuffer are the sizes, in bytes, of the rings that
	// bytes are copied through: SO_SNDBUF and SO_RCVBUF. The library takes
	// twice as much. Zero is 128 KiB in all.
	SendBuffer, RecvBuffer int
	// SendQueue and RecvQueue are the requests that the queue pair holds:
	// RDMA_SQSIZE and RDMA_RQSIZE. Zero is 384; the device's limit counts.
	SendQueue, RecvQueue int
	// Inline is the size, in bytes, up to which data travels in the request
	// itself: RDMA_INLINE. Zero is 64.
	Inline int
	// IOMaps is how many mappings of the peer's memory this side can know, up
	// to 128 exactly: RDMA_IOMAPSIZE. Zero is none: the peer's MapIO fails.
	// What Listen has, the accepted connections have.
	IOMaps int
	// KeepAlive is the time between the messages that keep a connection alive:
	// SO_KEEPALIVE and TCP_KEEPIDLE, in whole seconds. Zero sends none. The
	// library has a thread for them. A stream's only.
	KeepAlive time.Duration
	// LocalAddr is the address to dial from, as IP:PORT. Empty lets the
	// route decide.
	LocalAddr string
	// Backlog is how many connections may wait for Accept. Zero is 128.
	Backlog int
	// Linger is how long Close and CloseWrite wait for what was sent to
	// arrive before they answer ErrLingering. Zero is 10 seconds.
	Linger time.Duration
}

// An Option is one of an rsocket's, by level and name.
type Option struct{ level, name int }

// What SetOption and Option know. The library keeps NoDelay and does nothing
// about it; it never delays.
var (
	SendBuffer  = Option{crdmacm.SOL_SOCKET, crdmacm.SO_SNDBUF}
	RecvBuffer  = Option{crdmacm.SOL_SOCKET, crdmacm.SO_RCVBUF}
	ReuseAddr   = Option{crdmacm.SOL_SOCKET, crdmacm.SO_REUSEADDR}
	KeepAlive   = Option{crdmacm.SOL_SOCKET, crdmacm.SO_KEEPALIVE}
	KeepIdle    = Option{crdmacm.IPPROTO_TCP, crdmacm.TCP_KEEPIDLE}
	NoDelay     = Option{crdmacm.IPPROTO_TCP, crdmacm.TCP_NODELAY}
	SegmentSize = Option{crdmacm.IPPROTO_TCP, crdmacm.TCP_MAXSEG}
	SendQueue   = Option{crdmacm.SOL_RDMA, crdmacm.RDMA_SQSIZE}
	RecvQueue   = Option{crdmacm.SOL_RDMA, crdmacm.RDMA_RQSIZE}
	InlineSize  = Option{crdmacm.SOL_RDMA, crdmacm.RDMA_INLINE}
	IOMapSize   = Option{crdmacm.SOL_RDMA, crdmacm.RDMA_IOMAPSIZE}
)

func (o Options) check() error {
	const most = 1 << 30
	for _, v := range []struct {
		name        string
		value, most int
	}{
		{"SendBuffer", o.SendBuffer, most}, {"RecvBuffer", o.RecvBuffer, most},
		{"SendQueue", o.SendQueue, 0xfffe}, {"RecvQueue", o.RecvQueue, 0xfffe},
		{"Inline", o.Inline, 0xfffe}, {"IOMaps", o.IOMaps, 128}, {"Backlog", o.Backlog, 0xffff},
	} {
		if v.value < 0 || v.value > v.most {
			return fmt.Errorf("option %s is %d: want 0 to %d", v.name, v.value, v.most)
		}
	}
	if o.KeepAlive < 0 || o.KeepAlive%time.Second != 0 {
		return fmt.Errorf("option KeepAlive is %v: want whole seconds", o.KeepAlive)
	}
	if o.Linger < 0 {
		return fmt.Errorf("option Linger is %v: want a time", o.Linger)
	}
	return nil
}

// apply sets what has to be set before there is a queue pair.
func (o Options) apply(s *socket) error {
	for _, v := range []struct {
		option Option
		value  int
	}{
		{SendBuffer, o.SendBuffer}, {RecvBuffer, o.RecvBuffer}, {SendQueue, o.SendQueue},
		{RecvQueue, o.RecvQueue}, {InlineSize, o.Inline}, {IOMapSize, o.IOMaps},
	} {
		if v.value == 0 {
			continue
		}
		if err := s.fd.SetOption(v.option.level, v.option.name, v.value); err != nil {
			return err
		}
	}
	return nil
}

// keepAlive starts keep-alive messages on what is connected.
func (o Options) keepAlive(s *socket) error {
	if o.KeepAlive == 0 {
		return nil
	}
	if err := s.fd.SetOption(KeepIdle.level, KeepIdle.name, int(o.KeepAlive/time.Second)); err != nil {
		return err
	}
	return s.fd.SetOption(KeepAlive.level, KeepAlive.name, 1)
}

func (s *socket) setOption(o Option, value int) error {
	return s.fail("set", s.quick(func() error { return s.fd.SetOption(o.level, o.name, value) }))
}

func (s *socket) option(o Option) (value int, err error) {
	err = s.quick(func() error {
		value, err = s.fd.Option(o.level, o.name)
		return err
	})
	return value, s.fail("get", err)
}

// parse reads IP:PORT or [IPv6%ZONE]:PORT.
func parse(text string) (rdmacm.Addr, *crdmacm.Sockaddr, error) {
	a, err := rdmacm.ParseAddr(text)
	if err != nil {
		return a, nil, err
	}
	if !a.IP.IsValid() {
		return a, nil, fmt.Errorf("%q is a native InfiniBand address: rsockets take IP:PORT here", text)
	}
	sa, err := crdmacm.SockaddrOf(a.IP)
	return a, sa, err
}

// anyAddr is the address of all interfaces, with no port, in a peer's family.
func anyAddr(peer rdmacm.Addr) netip.AddrPort {
	if peer.IP.Addr().Unmap().Is4() {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
}
