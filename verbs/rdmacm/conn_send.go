package rdmacm

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/verbs"
)

// sendSide is what goes out. Whoever holds the lock posts; whoever finds it held
// leaves word (kick), and the holder does the work before it goes. So the shard's
// goroutine never waits for a sender.
type sendSide struct {
	c     *Conn
	mu    sync.Mutex
	dirty atomic.Bool   // there is work for whoever holds the lock
	turn  chan struct{} // holds a token while a sender has its turn
	wake  chan struct{} // holds one token, for the sender whose turn it is

	// Requests are counted from 0. Those below sentOK have succeeded, those
	// below sent have ended; the shard's goroutine writes both.
	sentOK, sent atomic.Uint32
	lost         atomic.Int64 // the number, from 1, of the request that failed first
	credits      atomic.Int32 // messages that the peer takes now
	owed         atomic.Int32 // credits to return
	awaited      atomic.Int32 // grants that the peer has to give
	probing      atomic.Bool  // a probe is asked for

	grantMu sync.Mutex
	grants  []grant // that were given and not used

	// The rest is guarded by mu.
	requests   []request // a ring
	head, tail uint32    // of the requests that are not reaped
	unsignaled int
	waiting    bool // a sender waits for room
	waitsLarge bool // for a large message
	large      int  // that may be under way
	outbox     []*Buffer
	offset     int  // bytes of the first of the outbox that were written
	shut       bool // no more messages are taken
	ended      bool // the end was posted
	endSeq     uint32
	aborting   bool
	aborted    bool

	ops opTable
}

// request is a place of the send queue, as long as its request has not ended.
type request struct {
	buf *Buffer // to be given back
	op  int     // of the table of operations; -1 if it is none
}

// maxChunk is the most that one RDMA write moves: no device has a smaller limit.
const maxChunk = 4 << 20

func (s *sendSide) init(c *Conn) {
	s.c = c
	s.turn, s.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	s.requests = make([]request, c.depth)
	s.ops.init(c.opts.Ops)
}

// open lets messages out once the peer's sizes are known. It runs on the shard's
// goroutine before anybody has the connection.
func (s *sendSide) open(h hello) {
	s.large = min(s.c.opts.Large, int(h.large))
	s.credits.Store(int32(h.window))
}

// completed takes note of a request that ended. It runs on the shard's goroutine.
func (s *sendSide) completed(seq uint32, wc *verbs.Completion) {
	last := s.sent.Load()
	next := last + (seq-last)&(sendBit-1) + 1
	if wc.Err() != nil {
		s.lost.CompareAndSwap(0, int64(next))
		s.c.fail(whyFailed(wc))
	} else {
		s.sentOK.Store(next)
	}
	s.sent.Store(next)
}

// onlyEndLost reports whether everything but the end was acknowledged: requests of
// a reliable queue pair end in order. The connection is over, and what was posted
// is being flushed.
func (s *sendSide) onlyEndLost() bool {
	const step = time.Millisecond
	s.mu.Lock()
	ended, seq := s.ended, s.endSeq
	s.mu.Unlock()
	if !ended {
		return false
	}
	for end := time.Now().Add(flushTime); int32(s.sent.Load()-seq) <= 0 && time.Now().Before(end); {
		time.Sleep(step)
	}
	return int32(s.sentOK.Load()-seq) > 0 || s.lost.Load() == int64(seq+1)
}

// credit takes in what the peer returned.
func (s *sendSide) credit(n uint16) error {
	if n > 0 && s.credits.Add(int32(n)) > int32(s.c.peer.window) {
		return fmt.Errorf("%w: it returned more credits than it was sent messages", ErrProtocol)
	}
	return nil
}

// granted takes in leave to write the oldest large message that has none.
func (s *sendSide) granted(g grant) error {
	if s.awaited.Add(-1) < 0 {
		return fmt.Errorf("%w: a grant that nobody asked for", ErrProtocol)
	}
	s.grantMu.Lock()
	defer s.grantMu.Unlock()
	s.grants = append(s.grants, g)
	return nil
}

// owes reports whether the peer needs a message for credits alone.
func (s *sendSide) owes() bool { return int(s.owed.Load()) >= max(1, s.c.opts.Window/2) }

// kick has the connection's pending work done, by this goroutine or by the one
// that is at it.
func (s *sendSide) kick() {
	s.dirty.Store(true)
	if s.mu.TryLock() {
		s.unlock()
	}
}

// unlock does what is pending and unlocks.
func (s *sendSide) unlock() {
	for {
		s.dirty.Store(false)
		s.pump()
		s.mu.Unlock()
		if !s.dirty.Load() || !s.mu.TryLock() {
			return
		}
	}
}

// pump ends what has completed, adds to the batch what needs no caller, and posts
// the batch. The lock is held.
func (s *sendSide) pump() {
	s.reap(s.sent.Load())
	if s.c.over() != nil {
		return
	}
	s.answer()
	s.writeLarge()
	if s.shut && !s.ended && len(s.outbox) == 0 && s.room() > 0 {
		s.ended, s.endSeq = true, s.tail
		s.add(kindEnd, nil, true)
	}
	if s.aborting && !s.aborted && s.room() > 0 {
		s.aborted, s.endSeq = true, s.tail
		s.add(kindAbort, nil, true)
	}
	if s.owes() && s.room() > 0 {
		s.c.counts.creditMessages.Add(1)
		s.add(kindCredit, nil, false)
	}
	s.post()
	if s.waiting && s.fits(s.waitsLarge) {
		s.waiting = false
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// greet says hello. The peer may have broken the connection already with its own;
// then it still gets to know whom it talks to.
func (s *sendSide) greet() error {
	s.mu.Lock()
	defer s.unlock()
	o := &s.c.opts
	buf, err := s.body(hello{
		version: wireVersion, window: uint32(o.Window), bufferSize: uint32(o.BufferSize),
		large: uint32(o.Large), maxMessage: uint64(o.MaxMessage),
	}.append)
	if err != nil {
		return err
	}
	s.add(kindHello, buf, true)
	s.post()
	return nil
}

// greetingSent waits, not for ever, until the hello was sent.
func (s *sendSide) greetingSent() {
	const step = time.Millisecond
	for end := time.Now().Add(flushTime); s.sent.Load() == 0 && time.Now().Before(end); {
		time.Sleep(step)
	}
}

// answer adds the messages that others asked for.
func (s *sendSide) answer() {
	for s.room() > 0 {
		g, ok := s.c.recv.nextGrant()
		if !ok || !s.addBody(kindGrant, g.append) {
			break
		}
	}
	for s.room() > 0 {
		id, ok := s.c.regions.nextRevoked()
		if !ok || !s.addBody(kindRevoked, func(b []byte) []byte { return appendID(b, id) }) {
			break
		}
	}
	if s.probing.Swap(false) && s.room() > 0 {
		// An RDMA write of nothing needs no key and disturbs nobody; a peer
		// that is gone does not acknowledge it.
		id := s.nextID()
		s.place(s.c.qp.SendBatch().Write(id, verbs.RemoteBuffer{}), request{op: -1}, true)
	}
}

// writeLarge adds the writes of large messages that the peer has room for.
func (s *sendSide) writeLarge() {
	for len(s.outbox) > 0 && s.room() > 0 {
		s.grantMu.Lock()
		var g grant
		there := len(s.grants) > 0
		if there {
			g = s.grants[0]
		}
		s.grantMu.Unlock()
		if !there {
			return
		}
		buf := s.outbox[0]
		n := min(buf.n-s.offset, maxChunk)
		remote := verbs.RemoteBuffer{Addr: g.addr + uint64(s.offset), RKey: g.rkey, Len: uint64(n)}
		local := buf.mr.SGE(buf.off+s.offset, n)
		b, id := s.c.qp.SendBatch(), s.nextID()
		if s.offset += n; s.offset < buf.n {
			s.place(b.Write(id, remote, local), request{op: -1}, false)
			continue
		}
		s.place(b.WriteImm(id, packImm(kindDone, s.returned()), remote, local), request{buf, -1}, true)
		s.offset = 0
		s.outbox = s.outbox[:copy(s.outbox, s.outbox[1:])]
		s.grantMu.Lock()
		s.grants = s.grants[:copy(s.grants, s.grants[1:])]
		s.grantMu.Unlock()
	}
}

// room is how many requests fit the send queue.
func (s *sendSide) room() int { return len(s.requests) - int(s.tail-s.head) }

// fits reports whether a message of a caller can be posted, without taking the
// places that operations and answers may need.
func (s *sendSide) fits(large bool) bool {
	return s.credits.Load() > 0 && s.room() > s.c.opts.Ops+s.c.opts.controlSends() &&
		(!large || len(s.outbox) < s.large)
}

func (s *sendSide) nextID() uint64 { return s.c.id | sendBit | uint64(s.tail&(sendBit-1)) }

// returned takes the credits that a message carries back.
func (s *sendSide) returned() uint16 {
	if s.owed.Load() == 0 {
		return 0
	}
	return uint16(s.owed.Swap(0))
}

// add adds a message to the batch; the buffer is given back when it was sent.
func (s *sendSide) add(k kind, buf *Buffer, signal bool) {
	b, id, imm := s.c.qp.SendBatch(), s.nextID(), packImm(k, s.returned())
	if buf != nil && buf.n > 0 {
		s.place(b.SendImm(id, imm, buf.sge()), request{buf, -1}, signal || buf.n >= 64<<10)
		return
	}
	// A piece of no length means 2 GiB to some adapters.
	s.place(b.SendImm(id, imm), request{buf, -1}, signal)
}

// addBody adds a message of this connection's own. It is false if there is no
// memory for it, which ends the connection.
func (s *sendSide) addBody(k kind, write func([]byte) []byte) bool {
	buf, err := s.body(write)
	if err != nil {
		s.c.fail(err)
		return false
	}
	s.add(k, buf, false)
	return true
}

// body makes a buffer that the connection owns.
func (s *sendSide) body(write func([]byte) []byte) (*Buffer, error) {
	buf, err := s.c.hub.pool.get(1 << minClass)
	if err != nil {
		return nil, err
	}
	buf.n = len(write(buf.Bytes()[:0]))
	buf.state.Store(bufferSent)
	return buf, nil
}

// place notes the request that was added to the batch.
func (s *sendSide) place(r verbs.Request, q request, signal bool) {
	if s.unsignaled++; signal || s.unsignaled >= signalEvery {
		s.unsignaled = 0
	} else {
		r.Unsignaled()
	}
	s.requests[s.tail%uint32(len(s.requests))] = q
	s.tail++
}

// post posts the batch. A device that does not take it has lost the connection.
func (s *sendSide) post() {
	b := s.c.qp.SendBatch()
	if b.Len() == 0 {
		return
	}
	if _, err := b.Post(); err != nil {
		s.c.fail(err)
	}
}

// reap gives back what requests below a number held.
func (s *sendSide) reap(below uint32) {
	for ; s.head != below; s.head++ {
		q := &s.requests[s.head%uint32(len(s.requests))]
		if q.op >= 0 {
			s.ops.end(s.c, q.op, int32(s.sentOK.Load()-s.head) > 0)
		}
		if q.buf != nil {
			q.buf.done()
			q.buf = nil
		}
	}
}

// Send sends a copy of p, which the caller may change at once. It waits while the
// peer's window is full. It fails with ErrMessageTooLong if the peer takes no such
// message. An empty message is one too.
func (c *Conn) Send(ctx context.Context, p []byte) error {
	const op = "send"
	if err := c.fits(op, len(p)); err != nil {
		return err
	}
	if len(p) == 0 {
		return c.fault(op, c.send.message(ctx, nil, nil))
	}
	buf, err := c.hub.pool.get(len(p))
	if err != nil {
		return c.fault(op, err)
	}
	copy(buf.Bytes(), p)
	if err := c.SendBuffer(ctx, buf); err != nil {
		buf.Release()
		return err
	}
	return nil
}

// SendBuffer sends a buffer without copying it. If it fails, the buffer is still
// the caller's; if not, it is not, and goes back to its pool by itself.
func (c *Conn) SendBuffer(ctx context.Context, buf *Buffer) error {
	const op = "send"
	if err := buf.take(bufferSent); err != nil {
		return c.fault(op, err)
	}
	err := c.fits(op, buf.n)
	if err == nil {
		err = c.fault(op, c.sendTaken(ctx, buf))
	}
	if err != nil {
		buf.state.Store(bufferHeld)
	}
	return err
}

func (c *Conn) sendTaken(ctx context.Context, buf *Buffer) error {
	if buf.n <= int(c.peer.bufferSize) {
		return c.send.message(ctx, buf, nil)
	}
	body, err := c.send.body(func(b []byte) []byte { return appendOffer(b, uint64(buf.n)) })
	if err != nil {
		return err
	}
	if err := c.send.message(ctx, buf, body); err != nil {
		body.done()
		return err
	}
	return nil
}

func (c *Conn) fits(op string, n int) error {
	if uint64(n) > c.peer.maxMessage {
		return c.fault(op, fmt.Errorf("%d bytes: the peer takes %d: %w", n, c.peer.maxMessage, ErrMessageTooLong))
	}
	return nil
}

// message sends one of the user's; offer is the announcement of a large one.
func (s *sendSide) message(ctx context.Context, buf, offer *Buffer) error {
	n := 0
	if buf != nil {
		n = buf.n
	}
	if err := s.messageOf(ctx, kindData, buf, offer); err != nil {
		return err
	}
	s.c.counts.sent.Add(1)
	s.c.counts.sentBytes.Add(uint64(n))
	return nil
}

// messageOf waits for its turn and for room, and posts a message that takes a
// credit.
func (s *sendSide) messageOf(ctx context.Context, k kind, buf, offer *Buffer) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	for {
		s.mu.Lock()
		err := s.taking()
		if err == nil && s.fits(offer != nil) {
			s.credits.Add(-1)
			if offer == nil {
				s.add(k, buf, false)
			} else {
				s.awaited.Add(1)
				s.outbox = append(s.outbox, buf)
				s.add(kindOffer, offer, false)
			}
			s.unlock()
			<-s.turn
			return nil
		}
		s.waiting, s.waitsLarge = true, offer != nil
		s.unlock()
		if err == nil {
			err = s.waitForRoom(ctx)
		}
		if err != nil {
			<-s.turn
			return err
		}
	}
}

// take waits for the turn to send: messages go out one after the other.
func (s *sendSide) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-s.c.dead:
		return s.c.reason()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// taking returns why no message can be sent any more.
func (s *sendSide) taking() error {
	if err := s.c.over(); err != nil {
		return err
	}
	if s.shut {
		return verbs.ErrClosed
	}
	return nil
}

func (s *sendSide) waitForRoom(ctx context.Context) error {
	s.c.counts.waits.Add(1)
	select {
	case <-s.wake:
		return nil
	case <-s.c.dead:
		return s.c.reason()
	case <-ctx.Done():
		return ctx.Err()
	}
}
