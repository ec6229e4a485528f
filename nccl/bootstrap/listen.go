package bootstrap

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
)

// listenAt opens rank 0's port at the world's address, or at the next of its
// ports that is free. A port in use may be another rank 0's of this job, which
// then says so.
func listenAt(ctx context.Context, w World, o Options) (net.Listener, error) {
	var failed error
	for _, address := range w.candidates() {
		host, port, err := splitAddress(address)
		if err != nil {
			return nil, err
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", bindAddress(host, port))
		if err == nil {
			return listener, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, &AddressError{Op: "listen", Addr: address, Err: err, Hint: listenHint(err)}
		}
		if err := askHolder(ctx, w, o, address); err != nil {
			return nil, err
		}
		failed = &AddressError{Op: "listen", Addr: address, Err: err, Hint: "another program has the port: choose another with MASTER_PORT at all ranks"}
	}
	return nil, failed
}

// bindAddress takes a loopback address as it is. Any other is known to this
// machine under names and numbers that the others need not use, so that rank 0
// listens on all of them.
func bindAddress(host string, port int) string {
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		host = ""
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// askHolder looks who has a port. It is an error if it is this job's rank 0, which
// refuses another one.
func askHolder(ctx context.Context, w World, o Options, address string) error {
	c, err := join(ctx, w, o, address, target{})
	if err == nil {
		_ = c.close()
		return nil
	}
	if errors.Is(err, ErrDuplicateRank) || errors.Is(err, ErrSizeMismatch) {
		return err
	}
	return nil
}

func listenHint(err error) string {
	switch {
	case errors.Is(err, syscall.EACCES):
		return "choose a port above 1023 with MASTER_PORT at all ranks"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "it is no address of this machine: set MASTER_ADDR to rank 0's"
	default:
		return ""
	}
}

// listenOn opens a free port on each of the addresses, and returns what the
// others connect to.
func listenOn(ctx context.Context, hosts []string) (listeners []net.Listener, addresses []string, err error) {
	for _, host := range hosts {
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0")); err == nil {
			listeners = append(listeners, l)
			addresses = append(addresses, l.Addr().String())
		}
	}
	if listeners == nil {
		return nil, nil, &AddressError{Op: "listen", Addr: hosts[len(hosts)-1], Err: err}
	}
	return listeners, addresses, nil
}
