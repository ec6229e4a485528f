package rsocket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// MaxDatagram is the length of the longest datagram, in bytes: what the library's
// own messages of 2 KiB hold beside its header. The fabric's MTU less 24 counts too:
// a longer datagram is lost.
const MaxDatagram = 2000

// PacketConn sends and receives datagrams. It is safe for concurrent use, and a
// net.PacketConn. It is for InfiniBand: on RoCE the library (rdma-core 44 to 64) asks
// for an address handle without the global route that RoCE needs, so that the first
// datagram to a peer, and DialPacket, fail with the kernel's errno. Datagrams can be lost, as with UDP. The first ones to a peer go by
// UDP itself, until the library has found its queue pair.
type PacketConn struct {
	*socket
	connected bool
}

var (
	_ net.PacketConn = (*PacketConn)(nil)
	_ net.Conn       = (*PacketConn)(nil)
)

// ListenPacket receives datagrams at an address, IP:PORT or [IPv6%ZONE]:PORT. Port 0
// has the kernel choose one.
//
// Implements: rsocket, rbind, rfcntl.
func ListenPacket(addr string, o Options) (*PacketConn, error) {
	local, sa, err := parse(addr)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return nil, opError("listen", local, rdmacm.Addr{}, err)
	}
	c, err := packetConn(sa, o)
	if err != nil {
		return nil, opError("listen", local, rdmacm.Addr{}, err)
	}
	return c, nil
}

// DialPacket is for datagrams to one peer: Write sends to it. Datagrams of others
// are received as well, as the library has no filter.
//
// Implements: rsocket, rbind, rconnect, rfcntl.
func DialPacket(addr string, o Options) (*PacketConn, error) {
	peer, sa, err := parse(addr)
	if err == nil {
		err = o.check()
	}
	var local *crdmacm.Sockaddr
	if err == nil {
		local, err = crdmacm.SockaddrOf(anyAddr(peer))
	}
	if err == nil && o.LocalAddr != "" {
		_, local, err = parse(o.LocalAddr)
	}
	if err != nil {
		return nil, opError("dial", rdmacm.Addr{}, peer, err)
	}
	c, err := packetConn(local, o)
	if err != nil {
		return nil, opError("dial", rdmacm.Addr{}, peer, err)
	}
	if err := c.fd.Connect(sa); err != nil {
		_ = c.Close()
		return nil, opError("dial", rdmacm.Addr{}, peer, err)
	}
	c.connected = true
	c.names()
	return c, nil
}

func packetConn(local *crdmacm.Sockaddr, o Options) (*PacketConn, error) {
	// Without a device the library would say so at the first datagram.
	if devices, err := crdmacm.Devices(); err != nil {
		return nil, err
	} else if len(devices) == 0 {
		return nil, syscall.ENODEV
	}
	s, err := open(local, crdmacm.SOCK_DGRAM, o.Linger, &packets)
	if err != nil {
		return nil, err
	}
	s.slow = true
	// It is bound whatever happens: what is not cannot be closed.
	if err := errors.Join(o.apply(s), s.fd.Bind(local)); err != nil {
		s.discard()
		return nil, err
	}
	s.names()
	c := &PacketConn{socket: s}
	life.Enter(&s.life, c, "rsocket of datagrams at "+s.local.String())
	return c, nil
}

// ReadFrom receives a datagram and its sender's address, a rdmacm.Addr. What is
// longer than b is cut.
//
// Implements: rrecvfrom, rpoll.
func (c *PacketConn) ReadFrom(b []byte) (int, net.Addr, error) {
	return c.ReadFromContext(context.Background(), b)
}

// ReadFromContext is ReadFrom with a context. If it ends, nothing has been received.
//
// Implements: rrecvfrom, rpoll.
func (c *PacketConn) ReadFromContext(ctx context.Context, b []byte) (n int, from net.Addr, err error) {
	err = c.do(ctx, &c.in, func() (bool, error) {
		m, sa, err := c.fd.RecvFrom(b)
		if err == nil {
			n, from = m, rdmacm.Addr{IP: sa.AddrPort()}
		}
		return err == nil, err
	})
	return n, from, c.fail("read", err)
}

// WriteTo sends a datagram to an address of ReadFrom's kind, or a *net.UDPAddr. One
// longer than MaxDatagram is syscall.EMSGSIZE.
//
// Implements: rsendto, rpoll.
func (c *PacketConn) WriteTo(b []byte, addr net.Addr) (int, error) {
	return c.WriteToContext(context.Background(), b, addr)
}

// WriteToContext is WriteTo with a context.
//
// Implements: rsendto, rpoll.
func (c *PacketConn) WriteToContext(ctx context.Context, b []byte, addr net.Addr) (int, error) {
	to, sa, err := target(addr)
	if err == nil && to.IP.Addr().Unmap().Is4() != c.local.IP.Addr().Is4() {
		err = fmt.Errorf("%v is of another family than %v: %w", to, c.local, syscall.EAFNOSUPPORT)
	}
	if err != nil {
		return 0, opError("write", c.local, to, err)
	}
	n, err := c.send(ctx, b, func() (int, error) { return c.fd.SendTo(b, sa) })
	return n, opError("write", c.local, to, err)
}

func (c *PacketConn) send(ctx context.Context, b []byte, call func() (int, error)) (n int, err error) {
	if len(b) > MaxDatagram {
		return 0, syscall.EMSGSIZE
	}
	err = c.do(ctx, &c.out, func() (bool, error) {
		n, err = call()
		return err == nil, err
	})
	return n, err
}

// target reads an address of one of the kinds that WriteTo takes.
func target(addr net.Addr) (rdmacm.Addr, *crdmacm.Sockaddr, error) {
	var a rdmacm.Addr
	switch addr := addr.(type) {
	case rdmacm.Addr:
		a = addr
	case *net.UDPAddr:
		a.IP = addr.AddrPort()
	}
	if !a.IP.IsValid() {
		return a, nil, fmt.Errorf("%v is no address of a datagram rsocket: want a rdmacm.Addr or a *net.UDPAddr", addr)
	}
	sa, err := crdmacm.SockaddrOf(a.IP)
	return a, sa, err
}

// Read receives a datagram.
//
// Implements: rrecvfrom, rpoll.
func (c *PacketConn) Read(b []byte) (int, error) {
	n, _, err := c.ReadFrom(b)
	return n, err
}

// Write sends a datagram to the peer that was dialed; without one the error is
// syscall.EDESTADDRREQ.
//
// Implements: rsend, rpoll.
func (c *PacketConn) Write(b []byte) (int, error) {
	if !c.connected {
		return 0, c.fail("write", syscall.EDESTADDRREQ)
	}
	n, err := c.send(context.Background(), b, func() (int, error) { return c.fd.Send(b) })
	return n, c.fail("write", err)
}

// LocalAddr returns this side's address, a rdmacm.Addr.
//
// Implements: rgetsockname.
func (c *PacketConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address that was dialed; not valid if none was.
//
// Implements: rgetpeername.
func (c *PacketConn) RemoteAddr() net.Addr { return c.peer }

// SetDeadline ends calls at a time, also those that wait; the zero time is none.
func (c *PacketConn) SetDeadline(t time.Time) error {
	c.in.deadline.set(t)
	c.out.deadline.set(t)
	return nil
}

// SetReadDeadline is SetDeadline for what receives.
func (c *PacketConn) SetReadDeadline(t time.Time) error {
	c.in.deadline.set(t)
	return nil
}

// SetWriteDeadline is SetDeadline for what sends.
func (c *PacketConn) SetWriteDeadline(t time.Time) error {
	c.out.deadline.set(t)
	return nil
}

// SetOption sets an option.
//
// Implements: rsetsockopt.
func (c *PacketConn) SetOption(o Option, value int) error { return c.setOption(o, value) }

// Option returns an option as the library has it.
//
// Implements: rgetsockopt.
func (c *PacketConn) Option(o Option) (int, error) { return c.option(o) }

// Close ends all calls and releases the rsocket. More than one call does no harm.
//
// Implements: rclose.
func (c *PacketConn) Close() error { return c.fail("close", c.close(nil)) }

// CloseAll is Close.
func (c *PacketConn) CloseAll() error { return c.Close() }
