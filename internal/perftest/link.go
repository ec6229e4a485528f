package perftest

import (
	"context"
	"net"

	"github.com/gofabric/gofabric/verbs"
)

// link is how the two sides meet: the control connection, and how the queue pairs
// come to know each other.
type link interface {
	// meet makes the control connection. A server calls listening before it
	// waits.
	meet(ctx context.Context, c *Config, listening func() error) (net.Conn, error)
	// joint tells that create connects the queue pair, so that both sides must
	// come to it at the same time. prepare is called before the peer may begin.
	joint() bool
	prepare(c *Config) error
	// create makes a queue pair.
	create(ctx context.Context, e *end, pd *verbs.PD, opts verbs.QPOptions) (*verbs.QP, error)
	// connect brings a queue pair to where it can do this side's part.
	connect(e *end, p *pair, peer Key, mtu MTU) error
	// close releases what create and prepare made, the queue pairs included if
	// they are joint.
	close() error
}

// linkOf is the link that the flags ask for.
func linkOf(c *Config) link {
	switch {
	case c.CMPairs && c.Connection == verbs.UD:
		return &cmDatagramsLink{}
	case c.CMPairs:
		return &cmPairsLink{}
	case c.CMControl:
		return cmLink{}
	}
	return tcpLink{}
}

// tcpLink is perftest's usual one: TCP, and queue pairs that are connected by
// hand.
type tcpLink struct{}

func (tcpLink) meet(ctx context.Context, c *Config, listening func() error) (net.Conn, error) {
	if c.Role() == RoleClient {
		return Dial(ctx, c.Host, c.Port, c.SourceIP)
	}
	listener, err := Listen(ctx, c.SourceIP, c.Port)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	if err := listening(); err != nil {
		return nil, err
	}
	return listener.Accept(ctx)
}

func (tcpLink) joint() bool           { return false }
func (tcpLink) prepare(*Config) error { return nil }
func (tcpLink) close() error          { return nil }

func (tcpLink) create(_ context.Context, _ *end, pd *verbs.PD, opts verbs.QPOptions) (*verbs.QP, error) {
	return pd.CreateQP(opts)
}

func (tcpLink) connect(e *end, p *pair, peer Key, mtu MTU) error {
	c := e.config
	remote := verbs.Endpoint{QPN: peer.QPN, PSN: peer.PSN, LID: peer.LID, MTU: verbs.MTU(mtu), MaxReads: uint8(min(peer.OutReads, 255))}
	if peer.GID != nil {
		remote.GID = verbs.GID(*peer.GID)
	}
	if c.Connection == verbs.UD {
		return connectDatagrams(c, p, remote)
	}
	opts := verbs.ConnectOptions{
		MTU:          verbs.MTU(mtu),
		Timeout:      c.AckTimeout,
		Retries:      7,
		RNRRetries:   verbs.InfiniteRNRRetry,
		MinRNRTimer:  12,
		MaxReads:     1,
		ServiceLevel: uint8(c.ServiceLevel),
		TrafficClass: uint8(c.TrafficClass),
		HopLimit:     255,
	}
	if c.Tool.Verb.brings() {
		opts.MaxReads = min(int(peer.OutReads), e.reads)
	}
	if err := p.qp.Init(); err != nil {
		return err
	}
	if err := p.qp.RTR(remote, opts); err != nil || !c.sends() {
		return err
	}
	return p.qp.RTS(remote, opts)
}

// connectDatagrams keeps the way to the peer beside the queue pair.
func connectDatagrams(c *Config, p *pair, remote verbs.Endpoint) (err error) {
	if err := p.qp.Activate(); err != nil {
		return err
	}
	p.qpn, p.qkey = remote.QPN, verbs.DefaultQKey
	p.to, err = p.qp.CreateAH(remote, verbs.RouteOptions{
		ServiceLevel: uint8(c.ServiceLevel), TrafficClass: uint8(c.TrafficClass), HopLimit: 255,
	})
	return err
}
