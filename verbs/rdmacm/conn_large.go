package rdmacm

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gofabric/gofabric/verbs"
)

// largeSide is the memory for messages that are longer than a slot. The peer
// offers one; it is granted a buffer as soon as there is one, in the order of the
// offers, writes the message there by RDMA, and says so. All of it is guarded by
// the receive side's lock.
type largeSide struct {
	pd         *verbs.PD
	most       int    // offers at once, and buffers
	least, max uint64 // lengths of messages: more than least

	offers  []offer // a ring, the oldest first
	first   int
	count   int // offers
	granted int // those of them with a buffer
	told    int // those of them whose grant is on its way

	idle    []*largeBuffer
	buffers int
	making  bool // a goroutine is registering one
	makers  sync.WaitGroup
}

type offer struct {
	place int // in the queue of messages
	slot  int
	n     uint64
}

// largeBuffer is memory that only this connection's peer was told of.
type largeBuffer struct{ mr *verbs.MR }

func (l *largeSide) init(pd *verbs.PD, o *ConnOptions) {
	l.pd, l.most = pd, o.Large
	l.least, l.max = uint64(o.BufferSize), uint64(o.MaxMessage)
	l.offers = make([]offer, o.Large)
}

func (l *largeSide) at(i int) *offer { return &l.offers[(l.first+i)%len(l.offers)] }

func (l *largeSide) put(b *largeBuffer) { l.idle = append(l.idle, b) }

// offered takes in the announcement of a large message. Its slot is the
// message's until that is released.
func (r *recvSide) offered(slot int, n uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.large
	if n <= l.least || n > l.max {
		return fmt.Errorf("%w: it offered a message of %d bytes", ErrProtocol, n)
	}
	if l.count == l.most {
		return fmt.Errorf("%w: it offered too many messages at once", ErrProtocol)
	}
	if err := r.push(entry{slot: slot, n: int(n)}); err != nil {
		return err
	}
	*l.at(l.count) = offer{place: (r.first + r.length - 1) % len(r.queue), slot: slot, n: n}
	l.count++
	r.assign()
	return nil
}

// assign finds buffers for the offers that have none. The lock is held.
func (r *recvSide) assign() {
	l := &r.large
	for l.granted < l.count && !r.gone {
		o := l.at(l.granted)
		b := l.find(o.n)
		if b == nil {
			r.makeLarge(o.n)
			return
		}
		r.slots[o.slot].large = b
		l.granted++
	}
}

// find takes the smallest idle buffer that is large enough.
func (l *largeSide) find(n uint64) *largeBuffer {
	best := -1
	for i, b := range l.idle {
		if uint64(b.mr.Len()) >= n && (best < 0 || b.mr.Len() < l.idle[best].mr.Len()) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	b := l.idle[best]
	last := len(l.idle) - 1
	l.idle[best] = l.idle[last]
	l.idle = l.idle[:last]
	return b
}

// makeLarge has a buffer registered, which can take long, unless all that there
// may be are in use.
func (r *recvSide) makeLarge(n uint64) {
	l := &r.large
	var small *largeBuffer
	if l.buffers == l.most {
		if len(l.idle) == 0 {
			return
		}
		small = l.idle[0]
	}
	if l.making {
		return
	}
	if small != nil {
		l.idle = l.idle[1:]
	} else {
		l.buffers++
	}
	l.making = true
	l.makers.Add(1)
	go func() {
		defer l.makers.Done()
		var err error
		if small != nil {
			err = small.mr.Close()
		}
		b, made := newLarge(l.pd, n)
		r.madeLarge(b, errors.Join(err, made))
	}()
}

func newLarge(pd *verbs.PD, n uint64) (*largeBuffer, error) {
	o := verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite}
	mr, err := pd.AllocMR(1<<classOf(int(n)), o)
	if err != nil {
		return nil, err
	}
	return &largeBuffer{mr}, nil
}

func (r *recvSide) madeLarge(b *largeBuffer, err error) {
	r.mu.Lock()
	r.large.making = false
	if b != nil {
		r.large.put(b)
	}
	r.assign()
	r.mu.Unlock()
	if err != nil {
		r.c.fail(fmt.Errorf("memory for a large message: %w", err))
		return
	}
	r.c.send.kick()
}

// nextGrant returns a buffer that the peer has not been told of.
func (r *recvSide) nextGrant() (g grant, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.large
	if l.told == l.granted {
		r.assign()
	}
	if l.told == l.granted {
		return g, false
	}
	mr := r.slots[l.at(l.told).slot].large.mr
	l.told++
	return grant{addr: mr.Addr(), rkey: mr.RKey()}, true
}

// written takes note that the oldest granted message is there.
func (r *recvSide) written() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.large
	if l.told == 0 {
		return fmt.Errorf("%w: it wrote a message that it had no leave for", ErrProtocol)
	}
	r.queue[l.at(0).place].ready = true
	l.first = (l.first + 1) % len(l.offers)
	l.count--
	l.granted--
	l.told--
	r.signal()
	return nil
}

// free gives the memory back. No goroutine registers any more.
func (l *largeSide) free() error {
	var errs []error
	for _, b := range l.idle {
		errs = append(errs, b.mr.Close())
	}
	l.idle = nil
	return errors.Join(errs...)
}
