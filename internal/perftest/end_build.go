package perftest

import (
	"context"
	"fmt"

	"github.com/gofabric/gofabric/verbs"
)

const (
	// A latency test has one message under way. Its completions are few, because
	// the peer's answer tells as much, and seen after some time.
	latencySends   = 64
	latencySignals = 16
	// It receives one message while it answers another.
	latencyReceives = 2
	// cqSpare is how many completions of a queue pair there can be besides those
	// of its requests: what closing it posts.
	cqSpare = 2
)

// sendDepth is how many requests the send queue holds.
func (c *Config) sendDepth() int {
	switch {
	case !c.sends():
		return 1
	case c.Tool.Latency:
		return latencySends
	}
	return c.TxDepth
}

// recvDepth is how many receives the receive queue holds.
func (c *Config) recvDepth() int {
	switch {
	case !c.receives():
		return 1
	case c.Tool.Latency:
		return max(c.RxDepth, latencyReceives)
	}
	return c.RxDepth
}

// lanes is on how many goroutines the queue pairs are spread.
func (c *Config) lanes() int { return max(1, c.Threads) }

// cqDepth is how many completions there can be of so many queue pairs.
func (c *Config) cqDepth(pairs int) int {
	each := c.sendDepth() + cqSpare
	if c.SharedReceive {
		return pairs*each + c.recvDepth()
	}
	return pairs * (each + c.recvDepth())
}

// build makes the memory and the queue pairs, once both sides have agreed.
func (e *end) build(ctx context.Context, agreed Agreement) error {
	c := e.config
	pd, err := e.dev.AllocPD()
	if err != nil {
		return err
	}
	e.layout = newLayout(c.Size, c.Connection, agreed)
	mrs, err := e.registerAll(ctx, pd)
	if err != nil {
		return err
	}
	var srq *verbs.SRQ
	if c.SharedReceive && c.receives() {
		if srq, err = pd.CreateSRQ(verbs.SRQOptions{MaxRecv: c.recvDepth()}); err != nil {
			return err
		}
	}
	for i := range c.lanes() {
		l := &lane{config: c, agreed: agreed, inline: e.inline, index: i}
		pairs := (c.QueuePairs + c.lanes() - 1 - i) / c.lanes()
		if l.cq, err = e.dev.CreateCQ(verbs.CQOptions{Depth: c.cqDepth(pairs), Events: c.Events, Vector: c.Vector}); err != nil {
			return err
		}
		l.wait = l.cq.Spin
		if c.Events {
			l.wait = l.cq.Wait
		}
		if srq != nil {
			l.srq = srq.RecvBatch()
		}
		e.lanes = append(e.lanes, l)
	}
	for i := range c.QueuePairs {
		if err := e.addPair(ctx, pd, srq, i, mrs); err != nil {
			return err
		}
	}
	return nil
}

// registerAll makes the memory: one region, or one for each queue pair.
func (e *end) registerAll(ctx context.Context, pd *verbs.PD) ([]*verbs.MR, error) {
	n, each := 1, e.config.QueuePairs
	if e.config.Memory.PerQueuePair {
		n, each = e.config.QueuePairs, 1
	}
	var mrs []*verbs.MR
	for range n {
		mr, err := e.register(pd, 2*each*e.layout.slot)
		if err != nil {
			return nil, err
		}
		bytes := mr.Bytes()
		if e.config.Tool.Latency && e.config.Tool.Verb == VerbWrite && bytes != nil {
			bytes = bytes[:len(bytes)/2] // the peer's half must be zero at first
		}
		if err := fill(ctx, bytes); err != nil {
			return nil, err
		}
		mrs = append(mrs, mr)
	}
	e.relaxed = mrs[0].Access()&verbs.AccessRelaxedOrdering != 0
	return mrs, nil
}

// addPair makes a queue pair, the i-th.
func (e *end) addPair(ctx context.Context, pd *verbs.PD, srq *verbs.SRQ, i int, mrs []*verbs.MR) error {
	c, l := e.config, e.lanes[i%len(e.lanes)]
	opts := verbs.QPOptions{
		Type:   c.Connection,
		SendCQ: l.cq, RecvCQ: l.cq, SRQ: srq,
		MaxSend: c.sendDepth(), MaxRecv: c.recvDepth(),
		MaxInline: e.inline,
		Port:      c.IBPort,
		PKeyIndex: uint16(c.PKeyIndex),
		Access:    e.access(),
	}
	if e.gid != nil {
		opts.GIDIndex = &e.gid.Index
	}
	qp, err := e.link.create(ctx, e, pd, opts)
	if err != nil {
		return err
	}
	p := &pair{config: c, index: len(l.pairs), qp: qp, send: qp.SendBatch(), slot: e.layout.slot}
	if srq == nil {
		p.recv = qp.RecvBatch()
	}
	if c.Memory.PerQueuePair {
		p.mr, p.sendAt, p.recvAt = mrs[i], 0, e.layout.slot
	} else {
		p.mr, p.sendAt, p.recvAt = mrs[0], i*e.layout.slot, (c.QueuePairs+i)*e.layout.slot
	}
	p.stages = c.stages(p.mr)
	l.pairs, e.pairs = append(l.pairs, p), append(e.pairs, p)
	key, err := e.key(p)
	e.keys = append(e.keys, key)
	return err
}

// key is what the peer must know of a queue pair.
func (e *end) key(p *pair) (Key, error) {
	own, err := p.qp.Endpoint()
	if err != nil {
		return Key{}, err
	}
	offered := p.mr.Remote().At(uint64(p.recvAt), uint64(p.slot))
	key := Key{LID: own.LID, OutReads: uint16(e.reads), QPN: own.QPN, PSN: own.PSN, RKey: offered.RKey, VAddr: offered.Addr}
	if e.gid != nil {
		gid := GID(own.GID)
		key.GID = &gid
	}
	return key, nil
}

// connect brings the queue pairs to where they can do this side's part.
func (e *end) connect(peers []Key, agreed Agreement) error {
	for i, p := range e.pairs {
		if err := e.link.connect(e, p, peers[i], agreed.MTU); err != nil {
			return err
		}
		if got := peers[i].OutReads; e.config.Tool.Verb.brings() && got == 0 {
			return fmt.Errorf("%w: the peer answers no reads: %s", ErrIncompatible, hintSameTool)
		}
		p.remote = verbs.RemoteBuffer{Addr: peers[i].VAddr, RKey: peers[i].RKey, Len: uint64(p.slot)}
	}
	return nil
}
