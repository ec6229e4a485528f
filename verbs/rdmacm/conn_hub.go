package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/internal/spin"
	"github.com/gofabric/gofabric/verbs"
)

// HubOptions are the options of a hub.
type HubOptions struct {
	// CQDepth is how many completions each of the hub's queues holds; zero is
	// 8192, or what the device allows. Connections take as much of it as their
	// queues are deep, and the hub makes another queue when one is used up.
	CQDepth int
	// Spin is how long a queue is polled without pause after its last
	// completion, before the goroutine sleeps until the adapter's event. It does
	// so only while completions come so fast: traffic that is slower costs no
	// spinning. Zero is 100 µs, a negative value is none.
	Spin time.Duration
}

// Hub is what connections on a device share: a protection domain, registered
// memory, completion queues and a goroutine for each of those. Ten thousand
// connections need no thread of their own and no goroutine that waits. It is safe
// for concurrent use.
//
// Peers of one hub are in one protection domain: one that guesses keys could
// reach what others were given. Peers that must not trust each other belong in
// hubs of their own.
type Hub struct {
	dev   *verbs.Device
	pd    *verbs.PD
	pool  pool
	depth int
	spin  time.Duration
	// shared is the device's name if the hub belongs to connections that named
	// none.
	shared string

	mu     sync.Mutex
	polls  []*shard
	conns  map[*Conn]struct{}
	making int // connections that take room on a completion queue
	leases int // connections that are closed and have messages which are not released
	closed bool

	probing bool // the goroutine that probes idle peers is there
	stop    chan struct{}
	wg      sync.WaitGroup
}

// NewHub makes a hub on a device. The device must stay open until Close.
func NewHub(dev *verbs.Device, opts HubOptions) (*Hub, error) {
	const depth = 8192
	if dev == nil {
		return nil, &ConnError{Op: "make hub", Err: errors.New("the device is nil")}
	}
	most := dev.Attributes().MaxCQE
	if opts.CQDepth == 0 {
		opts.CQDepth = min(depth, most)
	}
	if opts.Spin == 0 {
		opts.Spin = 100 * time.Microsecond
	}
	if opts.CQDepth < 1 || opts.CQDepth > most {
		return nil, &ConnError{Op: "make hub", Device: dev.Name(), Err: fmt.Errorf("CQDepth %d: the device allows 1 to %d", opts.CQDepth, most)}
	}
	pd, err := dev.AllocPD()
	if err != nil {
		return nil, &ConnError{Op: "make hub", Device: dev.Name(), Err: err}
	}
	return &Hub{
		dev: dev, pd: pd, pool: pool{pd: pd, huge: true}, depth: opts.CQDepth, spin: opts.Spin,
		conns: map[*Conn]struct{}{}, stop: make(chan struct{}),
	}, nil
}

// Device returns the device that the hub is on.
func (h *Hub) Device() *verbs.Device { return h.dev }

// PD returns the protection domain of the hub's connections: memory that is to
// be advertised or wrapped has to be registered in it.
func (h *Hub) PD() *verbs.PD { return h.pd }

// Buffer returns a buffer of n bytes from the hub's registered memory. What it
// holds is left from earlier use.
func (h *Hub) Buffer(n int) (*Buffer, error) {
	b, err := h.pool.get(n)
	if err != nil {
		return nil, h.err("get buffer", err)
	}
	return b, nil
}

// Wrap makes a buffer of n bytes of the caller's own registered memory, from off.
// The region must be of the hub's PD. The function, if there is one, is called
// when the buffer was released, or sent and the adapter has done with it; it must
// not block.
func (h *Hub) Wrap(mr *verbs.MR, off, n int, released func()) (*Buffer, error) {
	if mr == nil {
		return nil, h.err("wrap memory", errNoMemory)
	}
	if !mr.In(h.pd) {
		return nil, h.err("wrap memory", errForeignMemory)
	}
	if off < 0 || n < 0 || off > mr.Len()-n {
		return nil, h.err("wrap memory", fmt.Errorf("%d bytes from %d: the region has %d", n, off, mr.Len()))
	}
	b := &Buffer{class: -1, mr: mr, off: off, room: n, n: n, freed: released}
	b.state.Store(bufferHeld)
	return b, nil
}

func (h *Hub) err(op string, err error) error {
	return &ConnError{Op: op, Device: h.dev.Name(), Err: err}
}

// Close frees what the connections shared. It fails with verbs.ErrBusy while a
// connection is open, a buffer or message is not released, or memory is registered
// in the hub's PD; the hub can be used as before then.
func (h *Hub) Close() error {
	const op = "close hub"
	list, freed := h.shut()
	errs := []error{freed}
	for _, s := range list {
		errs = append(errs, s.cq.Close())
	}
	if list != nil {
		h.wg.Wait()
	}
	if err := errors.Join(errs...); err != nil {
		return h.err(op, err)
	}
	return nil
}

// shut lets no more connections in, frees the memory and returns the queues to be
// closed; nil if that was done before, or the hub is in use.
func (h *Hub) shut() ([]*shard, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil
	}
	if h.making > 0 {
		return nil, fmt.Errorf("%d connections are open: %w", h.making, verbs.ErrBusy)
	}
	if h.leases > 0 {
		return nil, fmt.Errorf("messages of %d connections are not released: %w", h.leases, verbs.ErrBusy)
	}
	if err := h.pool.close(); err != nil {
		return nil, err
	}
	freed := h.pd.Close()
	if errors.Is(freed, verbs.ErrBusy) {
		h.pool.open()
		return nil, freed
	}
	h.closed = true
	close(h.stop)
	return append([]*shard{}, h.polls...), freed
}

// CloseAll aborts the hub's connections and closes it.
func (h *Hub) CloseAll() error {
	var errs []error
	for _, c := range h.open() {
		errs = append(errs, c.Abort())
	}
	return errors.Join(append(errs, h.Close())...)
}

func (h *Hub) open() []*Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Conn, 0, len(h.conns))
	for c := range h.conns {
		list = append(list, c)
	}
	return list
}

// reserve finds a completion queue with room for n requests, and keeps it.
func (h *Hub) reserve(n int) (*shard, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, verbs.ErrClosed
	}
	for _, s := range h.polls {
		if s.room >= n {
			s.room -= n
			h.making++
			return s, nil
		}
	}
	depth := max(h.depth, n)
	cq, err := h.dev.CreateCQ(verbs.CQOptions{Depth: depth, Events: true})
	if err != nil {
		return nil, err
	}
	s := &shard{hub: h, cq: cq, room: depth - n}
	h.polls = append(h.polls, s)
	h.making++
	h.wg.Add(1)
	go func() {
		defer h.wg.Done()
		s.run()
	}()
	return s, nil
}

// unreserve gives the room back.
func (h *Hub) unreserve(s *shard, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.room += n
	h.making--
}

func (h *Hub) enter(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns[c] = struct{}{}
	if c.opts.KeepAlive > 0 && !h.probing {
		h.probing = true
		h.wg.Add(1)
		go func() {
			defer h.wg.Done()
			h.probe()
		}()
	}
}

// kept counts connections whose memory outlives them.
func (h *Hub) kept(n int) {
	h.mu.Lock()
	h.leases += n
	done := n < 0 && h.leases == 0 && h.shared != ""
	h.mu.Unlock()
	if done {
		// What cannot be closed is for the next one who uses it.
		_ = changeUses(h.shared, 0)
	}
}

func (h *Hub) leave(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
}

// probe looks after idle connections until the hub is closed.
func (h *Hub) probe() {
	const period = 250 * time.Millisecond
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-h.stop:
			return
		case now := <-tick.C:
			h.mu.Lock()
			for c := range h.conns {
				c.probeIfIdle(now)
			}
			h.mu.Unlock()
		}
	}
}

// shard is a completion queue with the goroutine that polls it.
type shard struct {
	hub  *Hub
	cq   *verbs.CQ
	room int // of the queue; guarded by hub.mu
	// The goroutine's own: whether completions come fast, and when it last let
	// others run while it looked for more.
	busy bool
	rest spin.Rest

	polls, completions atomic.Uint64

	// mu keeps a connection from being taken down while its completions are
	// being looked at.
	mu    sync.RWMutex
	conns []*Conn
	used  uint32 // turns of places, so that late completions find nobody
}

// What a request's id consists of. A connection's number is its place in the
// shard and the turn of that place.
const (
	seqBits   = 23
	placeBits = 18
	turnBits  = 64 - 1 - seqBits - placeBits
)

// idOf makes the ids of a connection's requests; the sequence number is added.
func (s *shard) idOf(place, turn uint32) uint64 {
	return uint64(turn)<<(64-turnBits) | uint64(place)<<(seqBits+1)
}

// sendBit tells the ids of sends from those of receives.
const sendBit = 1 << seqBits

// add gives a connection its place.
func (s *shard) add(c *Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := slices.Index(s.conns, nil)
	if place < 0 {
		if len(s.conns) >= 1<<placeBits {
			return errors.New("too many connections on one completion queue")
		}
		place = len(s.conns)
		s.conns = append(s.conns, nil)
	}
	s.used = (s.used + 1) & (1<<turnBits - 1)
	s.conns[place] = c
	c.place, c.id = place, s.idOf(uint32(place), s.used)
	return nil
}

// remove makes the goroutine forget a connection, whose queue pair is gone.
func (s *shard) remove(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c.place] = nil
}

// find returns the connection that a completion is of.
func (s *shard) find(id uint64) *Conn {
	place := id >> (seqBits + 1) & (1<<placeBits - 1)
	if place >= uint64(len(s.conns)) {
		return nil
	}
	c := s.conns[place]
	if c == nil || c.id != id&^(1<<(seqBits+1)-1) {
		return nil
	}
	return c
}

// run hands completions to their connections until the queue is closed or the
// device goes away.
func (s *shard) run() {
	const batch = 64
	list := make([]verbs.Completion, batch)
	touched := make([]*Conn, 0, batch)
	for {
		n, err := s.next(list)
		switch {
		case err == nil:
		case errors.Is(err, verbs.ErrClosed):
			return
		default:
			s.failAll(err)
			return
		}
		s.polls.Add(1)
		s.completions.Add(uint64(n))
		s.mu.RLock()
		for i := range list[:n] {
			wc := &list[i]
			c := s.find(wc.ID())
			if c == nil {
				continue
			}
			c.completed(wc)
			if !c.touched {
				c.touched = true
				touched = append(touched, c)
			}
		}
		for _, c := range touched {
			c.touched = false
			c.afterBatch()
		}
		s.mu.RUnlock()
		clear(touched)
		touched = touched[:0]
	}
}

// next waits for completions. When those before came soon after each other, it is
// worth while to look for more before the goroutine goes to sleep: an event costs
// several system calls.
func (s *shard) next(list []verbs.Completion) (int, error) {
	start := time.Now()
	if s.busy {
		for {
			if n, err := s.cq.Poll(list); n > 0 || err != nil {
				return n, err
			}
			now := time.Now()
			if now.Sub(start) > s.hub.spin {
				break
			}
			s.rest.Take(now)
		}
	}
	n, err := s.cq.Wait(context.Background(), list)
	s.busy = time.Since(start) < s.hub.spin
	return n, err
}

func (s *shard) failAll(err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.conns {
		if c != nil {
			c.fail(err)
		}
	}
}
