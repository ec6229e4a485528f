package perftest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// cmDatagramsLink is that of -R with UD: the client asks the connection manager for
// the way to each queue pair of the server. Where the server sends too, it learns
// the way back from a message: four bytes, and the number of the client's queue
// pair as immediate data.
type cmDatagramsLink struct {
	cmLink
	listener *rdmacm.EndpointListener
	made     []datagrams
}

// datagrams is a queue pair and the way to its peer.
type datagrams struct {
	qp   *verbs.QP
	to   *verbs.AddressHandle // nil where nothing is sent
	qpn  uint32
	dial *rdmacm.Datagram // the client's, which owns the rest
}

func (*cmDatagramsLink) joint() bool { return true }

func (l *cmDatagramsLink) prepare(c *Config) (err error) {
	if c.Role() == RoleServer {
		l.listener, err = c.listenCM(rdmacm.UDP)
	}
	return err
}

func (l *cmDatagramsLink) create(ctx context.Context, e *end, pd *verbs.PD, opts verbs.QPOptions) (*verbs.QP, error) {
	opts.QKey = rdmacm.UDPQKey
	create := l.ask
	if l.listener != nil {
		create = l.answer
	}
	d, err := create(ctx, e, pd, opts)
	if d.qp != nil {
		l.made = append(l.made, d) // close closes it
	}
	return d.qp, err
}

// ask is the client's part.
func (l *cmDatagramsLink) ask(ctx context.Context, e *end, pd *verbs.PD, opts verbs.QPOptions) (d datagrams, err error) {
	c := e.config
	source, err := c.cmSource()
	if err != nil {
		return d, err
	}
	options := rdmacm.DialDatagramOptions{
		ID: rdmacm.IDOptions{TypeOfService: c.typeOfService()}, Source: source,
		QueuePair: func(context.Context, rdmacm.Location) (*verbs.QP, error) { return pd.CreateQP(opts) },
	}
	// A service that nobody offers yet cannot be told from one out of reach.
	err = patiently(ctx, rdmacm.ErrUnreachable, func() (err error) {
		limited, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		d.dial, err = rdmacm.DialDatagram(limited, net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), options)
		return causeOf(ctx, err)
	})
	if err != nil {
		return d, err
	}
	var qkey uint32
	d.qp = d.dial.QP()
	d.to, d.qpn, qkey = d.dial.Service()
	if !c.answers() {
		return d, nil
	}
	return d, greet(ctx, e, pd, opts.RecvCQ, func(mr *verbs.MR) error {
		batch := d.qp.SendBatch()
		batch.SendImmTo(0, d.qp.Num(), d.to, d.qpn, qkey, mr.SGE(0, 4))
		_, err := batch.Post()
		return err
	}, nil)
}

// answer is the server's part.
func (l *cmDatagramsLink) answer(ctx context.Context, e *end, pd *verbs.PD, opts verbs.QPOptions) (d datagrams, err error) {
	request, err := l.listener.AcceptRequest(ctx)
	if err != nil {
		return d, causeOf(ctx, err)
	}
	defer func() { err = errors.Join(err, request.Close()) }()
	if d.qp, err = pd.CreateQP(opts); err != nil {
		return d, err
	}
	if err := d.qp.Activate(); err != nil {
		return d, err
	}
	answer := func() error {
		limited, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return request.Answer(limited, d.qp, nil)
	}
	if !e.config.answers() {
		return d, answer()
	}
	return d, greet(ctx, e, pd, opts.RecvCQ, func(mr *verbs.MR) error {
		batch := d.qp.RecvBatch()
		batch.Recv(0, mr.SGE(0, mr.Len()))
		if _, err := batch.Post(); err != nil {
			return err
		}
		return answer()
	}, func(mr *verbs.MR, wc *verbs.Completion) (err error) {
		var ok bool
		if d.qpn, ok = wc.Imm(); !ok {
			return fmt.Errorf("%w: the first datagram has no number of a queue pair; %s", ErrIncompatible, hintSameTool)
		}
		d.to, err = pd.CreateAHFromCompletion(wc, mr.Bytes()[:verbs.GRHLen], opts.Port)
		return err
	})
}

// greet posts something on memory of its own, waits for its completion and hands
// that on.
func greet(ctx context.Context, e *end, pd *verbs.PD, cq *verbs.CQ, post func(*verbs.MR) error, then func(*verbs.MR, *verbs.Completion) error) (err error) {
	mr, err := pd.AllocMR(verbs.GRHLen+4, verbs.MROptions{Access: verbs.AccessLocalWrite})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mr.Close()) }()
	if err := post(mr); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.config.Timeout, ErrPeerSilent)
	defer cancel()
	wait := cq.Spin
	if e.config.Events {
		wait = cq.Wait
	}
	wc := make([]verbs.Completion, 1)
	if _, err := wait(ctx, wc); err != nil {
		return causeOf(ctx, err)
	}
	if err := wc[0].Err(); err != nil || then == nil {
		return err
	}
	return then(mr, &wc[0])
}

// answers tells that the server sends too.
func (c *Config) answers() bool { return c.Bidirectional || c.Tool.Latency }

func (l *cmDatagramsLink) connect(_ *end, p *pair, _ Key, _ MTU) error {
	for _, d := range l.made {
		if d.qp == p.qp {
			p.to, p.qpn, p.qkey = d.to, d.qpn, rdmacm.UDPQKey
		}
	}
	return nil
}

func (l *cmDatagramsLink) close() error {
	var errs []error
	if l.listener != nil {
		errs = append(errs, l.listener.Close())
	}
	for _, d := range l.made {
		if d.dial != nil {
			errs = append(errs, d.dial.Close())
			continue
		}
		errs = append(errs, d.qp.Close())
		if d.to != nil {
			errs = append(errs, d.to.Close())
		}
	}
	return errors.Join(errs...)
}
