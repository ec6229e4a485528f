package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/verbs"
)

// Conn is a connection that carries messages between two processes, over a
// reliable queue pair. Every method is safe for concurrent use, of any number of
// goroutines.
//
// A message arrives whole, once, and in the order in which it was sent, and so do
// messages of different lengths, empty ones included. Send returns when the
// adapter has the message, not when the peer has it; how many may be on their way
// is the peer's choice (ConnOptions.Window), and when that many are, Send waits.
//
// A context that ends releases its caller and nothing else: what was posted goes
// on, and the memory stays the adapter's until it has done with it. A Send that
// its context ended has sent nothing.
type Conn struct {
	hub   *Hub
	shard *shard
	opts  ConnOptions
	qp    *verbs.QP
	link  link // nil for one that was connected by hand
	place int
	id    uint64 // of the connection's requests
	depth int    // places of the send queue

	touched bool // in this batch; the shard's goroutine's

	peer    hello         // valid once greeted is closed
	greeted chan struct{} // the peer has said hello

	failed sync.Once
	dead   chan struct{} // the connection is over
	err    error         // why; valid once dead is closed

	send sendSide
	recv recvSide
	regions
	counts connCounts

	active  atomic.Bool // there were completions since the last look
	lastUse time.Time   // as far as the hub's probing knows

	closing chan struct{} // holds a token while somebody closes
	closed  bool          // the token's
	left    atomic.Bool   // in good order
}

// link is the connection manager's part of a connection.
type link interface {
	// Gone is closed when the peer has left.
	Gone() <-chan struct{}
	// Leave tells the peer and frees the link. The queue pair is closed.
	Leave() error
	// Left is called when nothing of the connection is left on its hub, but
	// messages that were not released.
	Left() error
}

// Pending is one side of a connection that is not connected yet: a queue pair
// whose receives are posted. Connect makes a Conn of it, or Close undoes it. It
// is safe for concurrent use.
type Pending struct{ c *Conn }

// Prepare makes a queue pair on the hub's completion queues and posts its
// receives. The peer needs its Endpoint.
func (h *Hub) Prepare(opts ConnOptions) (*Pending, error) {
	return h.prepare(opts, func(o verbs.QPOptions) (*verbs.QP, error) {
		qp, err := h.pd.CreateQP(o)
		if err != nil {
			return nil, err
		}
		if err := qp.Init(); err != nil {
			return nil, errors.Join(err, qp.Close())
		}
		return qp, nil
	})
}

// prepare is Prepare with a queue pair that the caller makes and brings to INIT.
func (h *Hub) prepare(opts ConnOptions, create func(verbs.QPOptions) (*verbs.QP, error)) (*Pending, error) {
	const op = "prepare connection"
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, h.err(op, err)
	}
	c := &Conn{hub: h, opts: opts, depth: opts.sends(), dead: make(chan struct{}), greeted: make(chan struct{}), closing: make(chan struct{}, 1)}
	c.regions.init()
	if err := c.recv.init(h.pd, &opts); err != nil {
		return nil, h.err(op, err)
	}
	if c.shard, err = h.reserve(c.requests()); err != nil {
		return nil, h.err(op, errors.Join(err, c.recv.free()))
	}
	undo := func(err error) (*Pending, error) {
		h.unreserve(c.shard, c.requests())
		return nil, h.err(op, errors.Join(err, c.recv.free()))
	}
	o := opts.QP
	o.Type, o.SRQ, o.SendCQ, o.RecvCQ = verbs.RC, nil, c.shard.cq, c.shard.cq
	o.MaxSend, o.MaxRecv, o.MaxSendSGE, o.MaxRecvSGE, o.MaxInline = c.depth, len(c.recv.slots), 1, 1, 0
	o.Access = verbs.AccessLocalWrite | verbs.AccessRemoteWrite | verbs.AccessRemoteRead
	if c.qp, err = create(o); err != nil {
		return undo(err)
	}
	c.send.init(c)
	if err := c.shard.add(c); err != nil {
		return undo(errors.Join(err, c.qp.Close()))
	}
	c.recv.c = c
	c.recv.mu.Lock()
	err = c.recv.post()
	c.recv.mu.Unlock()
	if err != nil {
		err = errors.Join(err, c.qp.Close())
		c.shard.remove(c)
		return undo(err)
	}
	h.enter(c)
	return &Pending{c}, nil
}

// requests is how many completions the connection can have at once, the queue
// pair's closing included.
func (c *Conn) requests() int { return c.depth + len(c.recv.slots) + 2 }

// QP returns the queue pair. Only connecting it is the caller's.
func (p *Pending) QP() *verbs.QP { return p.c.qp }

// Endpoint returns what the peer must know of the queue pair.
func (p *Pending) Endpoint() (verbs.Endpoint, error) { return p.c.qp.Endpoint() }

// Connect connects the queue pair to the peer's and waits for the peer's hello.
// Both sides have to call it, within the time that opts.Timeout and opts.Retries
// let a hello go unanswered: half a second by default, on a device that keeps the
// specification's times. The default of opts.Retries, 6, lets a dead peer be
// noticed; with 7 some devices, the kernel's soft-RoCE among them, never do.
//
// It fails with ErrForeignPeer if the peer is no Conn, or of another version.
// After a failure the side is closed.
func (p *Pending) Connect(ctx context.Context, peer verbs.Endpoint, opts verbs.ConnectOptions) (*Conn, error) {
	if err := p.c.qp.Connect(ctx, peer, opts); err != nil {
		return nil, errors.Join(p.c.fault("connect", err), p.Close())
	}
	return p.start(ctx, nil)
}

// start greets the peer of a queue pair that is connected.
func (p *Pending) start(ctx context.Context, l link) (*Conn, error) {
	c := p.c
	c.link = l
	if err := c.send.greet(); err != nil {
		c.fail(err)
	}
	if l != nil {
		go c.watch(l.Gone())
	}
	var err error
	select {
	case <-c.greeted:
		return c, nil
	case <-c.dead:
		err = c.reason()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if errors.Is(err, ErrForeignPeer) {
		c.send.greetingSent()
	}
	err = c.fault("greet the peer", err)
	return nil, errors.Join(err, c.Abort())
}

// watch ends the connection when its link says that the peer has left.
func (c *Conn) watch(gone <-chan struct{}) {
	select {
	case <-gone:
		c.flush()
		c.fail(ErrPeerGone)
	case <-c.dead:
	}
}

// flush waits, for flushTime at most, until what the peer sent before it left was
// seen. The queue is served in order, and a request that is posted to a queue pair
// in the error state is flushed behind all that came before; it ends the connection.
func (c *Conn) flush() {
	// It may be in the error state already.
	_ = c.qp.Err()
	c.send.probing.Store(true)
	c.send.kick()
	lost := time.NewTimer(flushTime)
	defer lost.Stop()
	select {
	case <-c.dead:
	case <-lost.C:
	}
}

// flushTime bounds waits for completions that an adapter in order gives at once.
// A machine may be too busy to look at them for a while.
const flushTime = 3 * time.Second

// Close undoes a side that was not connected.
func (p *Pending) Close() error { return p.c.Abort() }

// fail ends the connection for the first reason given. Requests in flight are
// flushed, which gives their memory back.
func (c *Conn) fail(err error) {
	c.failed.Do(func() {
		c.err = err
		close(c.dead)
		if !errors.Is(err, ErrForeignPeer) {
			// It may be in the error state already.
			_ = c.qp.Err()
		}
	})
}

// reason is why a connection that is over is. Of one that both sides have left in
// good order it is that, though the peer's queue pair may have gone before this
// one's.
func (c *Conn) reason() error {
	if c.left.Load() {
		return verbs.ErrClosed
	}
	return c.err
}

// over returns why the connection is over, or nil.
func (c *Conn) over() error {
	select {
	case <-c.dead:
		return c.reason()
	default:
		return nil
	}
}

func (c *Conn) fault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &ConnError{Op: op, Device: c.hub.dev.Name(), QPN: c.qp.Num(), Err: err}
}

// Hub returns the hub that the connection belongs to.
func (c *Conn) Hub() *Hub { return c.hub }

// QPN returns the number of the connection's queue pair, 24 bits.
func (c *Conn) QPN() uint32 { return c.qp.Num() }

// Done is closed when the connection is over: closed by this side, or failed.
// The peer's orderly end does not close it.
func (c *Conn) Done() <-chan struct{} { return c.dead }

// Err returns why the connection is over, verbs.ErrClosed if this side closed it,
// or nil.
func (c *Conn) Err() error {
	if err := c.over(); err != nil {
		return c.fault("connection", err)
	}
	return nil
}

// completed takes note of a completion. It runs on the shard's goroutine.
func (c *Conn) completed(wc *verbs.Completion) {
	c.active.Store(true)
	seq := uint32(wc.ID()) & (sendBit - 1)
	if wc.ID()&sendBit != 0 {
		c.send.completed(seq, wc)
		return
	}
	if err := wc.Err(); err != nil {
		c.fail(whyFailed(wc))
		return
	}
	if err := c.arrived(int(seq), wc); err != nil {
		c.fail(err)
	}
}

// afterBatch does what a batch of completions gave rise to.
func (c *Conn) afterBatch() {
	c.recv.mu.Lock()
	err := c.recv.post()
	c.recv.mu.Unlock()
	if err != nil && c.over() == nil {
		c.fail(err)
	}
	c.send.kick()
}

// arrived handles a message that fills a slot.
func (c *Conn) arrived(slot int, wc *verbs.Completion) error {
	imm, ok := wc.Imm()
	op, _ := wc.Opcode()
	if !ok {
		return &HelloError{Reason: "it sends messages without immediate data", Err: ErrForeignPeer}
	}
	k, credits, err := parseImm(imm)
	if err == nil && (k == kindDone) != (op == verbs.WCRecvRDMAWithImm) {
		err = fmt.Errorf("%w: kind %d by the wrong operation", ErrProtocol, k)
	}
	greeted := c.peer.window != 0
	if !greeted && (err != nil || k != kindHello) {
		return &HelloError{Reason: "its first message is no hello", Err: ErrForeignPeer}
	}
	if err != nil {
		return err
	}
	body := c.recv.body(slot, wc.Len())
	if k == kindDone {
		body = nil // its bytes are elsewhere
	}
	if greeted && k == kindHello {
		return fmt.Errorf("%w: a second hello", ErrProtocol)
	}
	if greeted {
		if err := c.send.credit(credits); err != nil {
			return err
		}
	}
	return c.dispatch(k, slot, body)
}

func (c *Conn) dispatch(k kind, slot int, body []byte) error {
	r := &c.recv
	switch k {
	case kindData:
		return r.message(slot, len(body))
	case kindOffer:
		n, err := parseOffer(body)
		if err != nil {
			return err
		}
		return r.offered(slot, n)
	}
	var err error
	credited := false
	switch k {
	case kindHello:
		err = c.greet(body)
	case kindGrant:
		var g grant
		if g, err = parseGrant(body); err == nil {
			err = c.send.granted(g)
		}
	case kindDone:
		err = r.written()
	case kindRegion:
		var note regionNote
		if note, err = parseRegion(body); err == nil {
			err = c.regions.learn(c, note)
		}
		credited = true
	case kindRevoke, kindRevoked:
		var id uint32
		if id, err = parseID(body); err == nil && k == kindRevoke {
			err = c.regions.revoke(c, id)
		} else if err == nil {
			err = c.regions.confirmed(id)
		}
		credited = k == kindRevoke
	case kindEnd:
		r.end()
		c.regions.end()
	case kindAbort:
		err = ErrPeerAborted
	}
	r.reuse(slot, credited)
	return err
}

func (c *Conn) greet(body []byte) error {
	h, err := parseHello(body)
	if err != nil {
		return err
	}
	c.peer = h
	c.send.open(h)
	close(c.greeted)
	return nil
}
