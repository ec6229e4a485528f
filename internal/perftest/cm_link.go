package perftest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// cmLink is that of -z: the control connection is a queue pair of the connection
// manager's, and the others are connected by hand.
type cmLink struct{ tcpLink }

func (cmLink) meet(ctx context.Context, c *Config, listening func() error) (net.Conn, error) {
	conn := newCMConn()
	var err error
	if c.Role() == RoleClient {
		conn.endpoint, err = dialCM(ctx, c, conn.options(), 0)
	} else {
		conn.endpoint, err = acceptOneCM(ctx, c, conn.options(), listening)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// dialCM connects a queue pair to the server.
func dialCM(ctx context.Context, c *Config, opts rdmacm.EndpointOptions, tos uint8) (*rdmacm.Endpoint, error) {
	source, err := c.cmSource()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	e, err := rdmacm.DialEndpoint(limited, net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), rdmacm.DialEndpointOptions{
		ID: rdmacm.IDOptions{TypeOfService: tos}, Source: source, EndpointOptions: opts,
	})
	switch {
	case err == nil:
		return e, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w; start the server there first, with the same of -R and -z and with -p %d", err, c.Port)
	}
	return nil, err
}

// acceptOneCM waits for one client and connects a queue pair to it.
func acceptOneCM(ctx context.Context, c *Config, opts rdmacm.EndpointOptions, listening func() error) (e *rdmacm.Endpoint, err error) {
	listener, err := c.listenCM(rdmacm.TCP)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	if err := listening(); err != nil {
		return nil, err
	}
	return acceptCM(ctx, listener, opts)
}

func acceptCM(ctx context.Context, listener *rdmacm.EndpointListener, opts rdmacm.EndpointOptions) (*rdmacm.Endpoint, error) {
	request, err := listener.AcceptRequest(ctx)
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		var e *rdmacm.Endpoint
		if e, err = request.Accept(limited, opts); err == nil {
			return e, nil
		}
	}
	return nil, causeOf(ctx, err)
}

func (c *Config) listenCM(space rdmacm.PortSpace) (*rdmacm.EndpointListener, error) {
	source := c.SourceIP
	if source == "" {
		source = "0.0.0.0"
	}
	return rdmacm.ListenEndpoint(net.JoinHostPort(source, strconv.Itoa(c.Port)),
		rdmacm.ListenEndpointOptions{ID: rdmacm.IDOptions{PortSpace: space}})
}

// cmSource is this side's address, the zero one where the routes decide.
func (c *Config) cmSource() (rdmacm.Addr, error) {
	if c.SourceIP == "" {
		return rdmacm.Addr{}, nil
	}
	source, err := rdmacm.ParseAddr(net.JoinHostPort(c.SourceIP, "0"))
	if err != nil {
		return rdmacm.Addr{}, fmt.Errorf("--source_ip %s: %w; give an IP address of this machine", c.SourceIP, err)
	}
	return source, nil
}

// cmPairsLink is that of -R: the connection manager connects the queue pairs too,
// when they are made.
type cmPairsLink struct {
	cmLink
	listener  *rdmacm.EndpointListener
	endpoints []*rdmacm.Endpoint
}

func (*cmPairsLink) joint() bool { return true }

// prepare has a server listen, before the client is told that it may connect.
func (l *cmPairsLink) prepare(c *Config) (err error) {
	if c.Role() == RoleServer {
		l.listener, err = c.listenCM(rdmacm.TCP)
	}
	return err
}

func (l *cmPairsLink) create(ctx context.Context, e *end, pd *verbs.PD, opts verbs.QPOptions) (*verbs.QP, error) {
	c := e.config
	options := rdmacm.EndpointOptions{
		QueuePair:   func(context.Context, rdmacm.Location) (*verbs.QP, error) { return pd.CreateQP(opts) },
		Timeout:     c.AckTimeout,
		Retries:     orNone(c.RetryCount),
		MinRNRTimer: 12,
		MaxReads:    verbs.None,
	}
	if c.Tool.Verb.brings() {
		options.MaxReads = e.reads
	}
	var (
		endpoint *rdmacm.Endpoint
		err      error
	)
	if l.listener != nil {
		endpoint, err = acceptCM(ctx, l.listener, options)
	} else {
		err = patiently(ctx, syscall.ECONNREFUSED, func() (err error) {
			endpoint, err = dialCM(ctx, c, options, c.typeOfService())
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	l.endpoints = append(l.endpoints, endpoint)
	return endpoint.QP(), nil
}

// patiently dials, and tries again while that ends in refused: a C tool begins to
// listen after it has told that it is ready.
func patiently(ctx context.Context, refused error, dial func() error) error {
	const tries, pause = 20, 100 * time.Millisecond
	for i := 1; ; i++ {
		err := dial()
		if err == nil || i == tries || !errors.Is(err, refused) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// typeOfService is that of -T.
func (c *Config) typeOfService() uint8 {
	if c.TypeOfService == nil {
		return 0
	}
	return uint8(*c.TypeOfService)
}

// orNone is an option whose zero means none.
func orNone(n int) int {
	if n == 0 {
		return verbs.None
	}
	return n
}

// connect has nothing left to do.
func (*cmPairsLink) connect(*end, *pair, Key, MTU) error { return nil }

// close ends the connections. Closing tells the peer, which need not be there.
func (l *cmPairsLink) close() error {
	var errs []error
	if l.listener != nil {
		errs = append(errs, l.listener.Close())
	}
	for _, e := range l.endpoints {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}
