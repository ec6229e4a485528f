package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gofabric/gofabric/verbs"
)

// recvSide is what comes in. Receives are posted from slots of one region; the
// slot of a message stays the caller's until the message is released.
type recvSide struct {
	c    *Conn
	mu   sync.Mutex
	wake chan struct{} // holds one token, for one who waits in Recv

	mr    *verbs.MR
	size  int // bytes of a slot
	slots []slot
	idle  []int // slots to be posted
	// batch is how many slots are posted at once, and window the messages that
	// the peer may send.
	batch, window int
	idleCredits   int // messages' slots among the idle ones

	queue  []entry // a ring: messages in the order in which they came
	first  int
	length int
	ended  bool // no more will come

	large  largeSide
	leases int  // messages that were handed out
	gone   bool // nothing is posted any more
	over   bool // the adapter is done with the memory
}

type slot struct {
	turn  uint32 // of its leases
	held  bool
	large *largeBuffer // of a message that did not fit the slot
}

// entry is a message that nobody has asked for yet.
type entry struct {
	slot  int
	n     int
	ready bool // false for a large one that is still on its way
}

func (r *recvSide) init(pd *verbs.PD, o *ConnOptions) (err error) {
	n := o.slots()
	r.size, r.window = o.BufferSize, o.Window
	r.batch = max(1, o.Window/4)
	r.wake = make(chan struct{}, 1)
	r.slots, r.queue, r.idle = make([]slot, n), make([]entry, n), make([]int, n)
	for i := range r.idle {
		r.idle[i] = i
	}
	r.large.init(pd, o)
	r.mr, err = pd.AllocMR(n*r.size, verbs.MROptions{})
	return err
}

// free gives the memory back. The queue pair is gone, and so are the leases.
func (r *recvSide) free() error {
	if r.mr == nil {
		return nil
	}
	return errors.Join(r.mr.Close(), r.large.free())
}

func (r *recvSide) body(slot, n int) []byte {
	off := slot * r.size
	return r.mr.Bytes()[off : off+min(n, r.size) : off+min(n, r.size)]
}

// post posts the idle slots. The lock is held.
func (r *recvSide) post() error {
	if len(r.idle) == 0 || r.gone {
		return nil
	}
	b := r.c.qp.RecvBatch()
	for _, i := range r.idle {
		b.Recv(r.c.id|uint64(i), r.mr.SGE(i*r.size, r.size))
	}
	n, err := b.Post()
	if err != nil && !errors.Is(err, verbs.ErrRecvQueueFull) {
		return err
	}
	// A slot whose completion is not accounted for yet stays for the next time.
	rest := copy(r.idle, r.idle[n:])
	r.idle = r.idle[:rest]
	if rest == 0 {
		r.c.send.owed.Add(int32(r.idleCredits))
		r.idleCredits = 0
	}
	return nil
}

// reuse makes a slot idle. The peer may use it for a message again if it used it
// for one (credited).
func (r *recvSide) reuse(slot int, credited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reuseLocked(slot, credited)
}

func (r *recvSide) reuseLocked(slot int, credited bool) {
	r.idle = append(r.idle, slot)
	if credited {
		r.idleCredits++
	}
}

func (r *recvSide) push(e entry) error {
	if r.ended {
		return fmt.Errorf("%w: a message after the end", ErrProtocol)
	}
	if r.length == len(r.queue) {
		return fmt.Errorf("%w: more messages than it had credits for", ErrProtocol)
	}
	r.queue[(r.first+r.length)%len(r.queue)] = e
	r.length++
	return nil
}

// message takes in one that fits its slot.
func (r *recvSide) message(slot, n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.push(entry{slot: slot, n: n, ready: true})
	r.signal()
	return err
}

// end takes note that the peer sends no more.
func (r *recvSide) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.signal()
}

// atEnd reports whether the peer has said that it sends no more.
func (r *recvSide) atEnd() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// signal wakes one who waits. The lock is held.
func (r *recvSide) signal() {
	if r.length > 0 && !r.queue[r.first].ready || r.length == 0 && !r.ended {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// next takes the oldest message. The error is io.EOF at the end.
func (r *recvSide) next() (m Message, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.length == 0 {
		if r.ended {
			r.signal() // for others who wait
			return m, false, io.EOF
		}
		return m, false, nil
	}
	e := &r.queue[r.first]
	if !e.ready {
		return m, false, nil
	}
	r.first = (r.first + 1) % len(r.queue)
	r.length--
	s := &r.slots[e.slot]
	s.turn++
	s.held = true
	r.leases++
	m = Message{c: r.c, slot: e.slot, turn: s.turn}
	if s.large != nil {
		m.bytes = s.large.mr.Bytes()[:e.n:e.n]
	} else {
		m.bytes = r.body(e.slot, e.n)
	}
	r.c.counts.received.Add(1)
	r.c.counts.receivedBytes.Add(uint64(e.n))
	r.signal()
	return m, true, nil
}

// Message is a message that was received. Its bytes lie where the adapter put
// them, and are the caller's until Release; they outlive the connection. A
// Message is a value; it may be copied, and released once by any copy.
type Message struct {
	c     *Conn
	bytes []byte
	slot  int
	turn  uint32
}

// Bytes returns the message. It must not be used after Release.
func (m Message) Bytes() []byte { return m.bytes }

// Len returns the message's length in bytes.
func (m Message) Len() int { return len(m.bytes) }

// Release gives the memory back to the connection: until then, the peer can send
// one message less. Releasing again does nothing.
func (m Message) Release() {
	if m.c == nil {
		return
	}
	r := &m.c.recv
	r.mu.Lock()
	s := &r.slots[m.slot]
	if !s.held || s.turn != m.turn {
		r.mu.Unlock()
		return
	}
	s.held = false
	r.leases--
	large := s.large
	if large != nil {
		r.large.put(large)
		s.large = nil
	}
	if r.gone {
		last := r.over && r.leases == 0
		r.mu.Unlock()
		if last {
			// There is nobody to tell of an error: what cannot be freed
			// keeps the hub's PD from closing.
			_ = r.free()
			m.c.hub.kept(-1)
		}
		return
	}
	r.reuseLocked(m.slot, true)
	var err error
	kick := large != nil
	if r.idleCredits >= r.batch {
		err = r.post()
		kick = true
	}
	r.mu.Unlock()
	if err != nil && m.c.over() == nil {
		m.c.fail(err)
	}
	if kick && (large != nil || m.c.send.owes()) {
		m.c.send.kick()
	}
}

// Recv returns the next message, waiting for it if need be. It returns io.EOF
// when the peer has closed its side and everything that it had sent was received,
// and otherwise the context's error when that ends. What came before a connection
// failed can still be received.
func (c *Conn) Recv(ctx context.Context) (Message, error) {
	for {
		// Whether it is over is asked first: what came before was in the queue.
		over := c.over()
		m, ok, err := c.recv.next()
		switch {
		case ok:
			return m, nil
		case errors.Is(err, io.EOF):
			return m, io.EOF
		case over != nil:
			return m, c.fault("receive", over)
		}
		select {
		case <-c.recv.wake:
		case <-c.dead:
		case <-ctx.Done():
			return m, c.fault("receive", ctx.Err())
		}
	}
}

// RecvInto copies the next message to dst and returns its length. It answers
// ErrMessageTooLong, and drops the message, if dst is too short.
func (c *Conn) RecvInto(ctx context.Context, dst []byte) (int, error) {
	m, err := c.Recv(ctx)
	if err != nil {
		return 0, err
	}
	defer m.Release()
	if m.Len() > len(dst) {
		return m.Len(), c.fault("receive", fmt.Errorf("%d bytes for a buffer of %d: %w", m.Len(), len(dst), ErrMessageTooLong))
	}
	return copy(dst, m.Bytes()), nil
}
