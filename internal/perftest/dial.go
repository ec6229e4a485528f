package perftest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// network is the control connection's: perftest 4.5 knows IPv4 only.
const network = "tcp4"

// dialTimeout bounds the attempt to connect.
const dialTimeout = 10 * time.Second

// Dial connects to the server at host, from the IPv4 address source unless that
// is empty. Like the C tools it tries once. The error is an *AddressError.
func Dial(ctx context.Context, host string, port int, source string) (net.Conn, error) {
	addr := net.JoinHostPort(host, strconv.Itoa(port))
	dialer := net.Dialer{Timeout: dialTimeout}
	if source != "" {
		from, err := net.ResolveTCPAddr(network, net.JoinHostPort(source, "0"))
		if err != nil {
			return nil, &AddressError{Op: "connect", Addr: addr, Hint: "give --source_ip an IPv4 address of this machine", Err: err}
		}
		dialer.LocalAddr = from
	}
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, &AddressError{Op: "connect", Addr: addr, Hint: dialHint(err, port), Err: causeOf(ctx, err)}
	}
	return conn, nil
}

func dialHint(err error, port int) string {
	var (
		dns  *net.DNSError
		addr *net.AddrError
		wait net.Error
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("start the server there first, without a host argument and with -p %d", port)
	case errors.As(err, &dns):
		return "check the host's name, or give its IPv4 address"
	case errors.As(err, &addr):
		return "the control connection is IPv4 only: give an IPv4 address or a name that has one"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "check the address and the route to it"
	case errors.As(err, &wait) && wait.Timeout():
		return "check the address, and that no firewall drops the port"
	default:
		return ""
	}
}

// causeOf returns why ctx ended, if it did, and err otherwise.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Listener is a server's bound port. Its methods may be called from several
// goroutines.
type Listener struct {
	inner net.Listener
	once  sync.Once
	err   error
}

// Listen binds port on the IPv4 address source, or on every one if that is empty,
// with SO_REUSEADDR. Port 0 takes a free one, which Addr tells. The error is an
// *AddressError.
func Listen(ctx context.Context, source string, port int) (*Listener, error) {
	if source == "" {
		source = "0.0.0.0"
	}
	addr := net.JoinHostPort(source, strconv.Itoa(port))
	var config net.ListenConfig // Go sets SO_REUSEADDR on listeners
	inner, err := config.Listen(ctx, network, addr)
	if err != nil {
		var hint string
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			hint = "another server runs on this port: end it, or choose another port with -p on both sides"
		case errors.Is(err, syscall.EACCES):
			hint = "choose a port above 1023 with -p on both sides"
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			hint = "give --source_ip an IPv4 address of this machine"
		}
		return nil, &AddressError{Op: "listen", Addr: addr, Hint: hint, Err: causeOf(ctx, err)}
	}
	return &Listener{inner: inner}, nil
}

// Addr returns the bound address.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Accept waits for one client, without a time limit of its own, and closes the
// listener. The error is an *AddressError.
func (l *Listener) Accept(ctx context.Context) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	conn, err := l.inner.Accept()
	if !stop() {
		if err == nil {
			_ = conn.Close()
		}
		err = context.Cause(ctx)
	}
	_ = l.Close()
	if err != nil {
		return nil, &AddressError{Op: "accept", Addr: l.Addr().String(), Err: err}
	}
	return conn, nil
}

// Close gives up the port. It may be called again and then returns the first
// call's error.
func (l *Listener) Close() error {
	l.once.Do(func() { l.err = l.inner.Close() })
	return l.err
}
