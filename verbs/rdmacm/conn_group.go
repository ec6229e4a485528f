package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/verbs"
)

// GroupOptions are the options of a group.
type GroupOptions struct {
	// CQDepth is how many completions each of the group's queues holds; zero is
	// 8192, or what the device allows. Connections take as much of it as their
	// queues are deep, and the group makes another queue when one is used up.
	CQDepth int
}

// Group is what connections on a device share: a protection domain, registered
// memory, completion queues and a goroutine for each of those. Ten thousand
// connections need no thread of their own and no goroutine that waits. It is safe
// for concurrent use.
//
// Peers of one group are in one protection domain: one that guesses keys could
// reach what others were given. Peers that must not trust each other belong in
// groups of their own.
type Group struct {
	dev   *verbs.Device
	pd    *verbs.PD
	pool  pool
	depth int

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

// NewGroup makes a group on a device. The device must stay open until Close.
func NewGroup(dev *verbs.Device, opts GroupOptions) (*Group, error) {
	const depth = 8192
	most := dev.Attributes().MaxCQE
	if opts.CQDepth == 0 {
		opts.CQDepth = min(depth, most)
	}
	if opts.CQDepth < 1 || opts.CQDepth > most {
		return nil, &ConnError{Op: "make group", Device: dev.Name(), Err: fmt.Errorf("CQDepth %d: the device allows 1 to %d", opts.CQDepth, most)}
	}
	pd, err := dev.AllocPD()
	if err != nil {
		return nil, &ConnError{Op: "make group", Device: dev.Name(), Err: err}
	}
	return &Group{
		dev: dev, pd: pd, pool: pool{pd: pd, huge: true}, depth: opts.CQDepth,
		conns: map[*Conn]struct{}{}, stop: make(chan struct{}),
	}, nil
}

// Device returns the device that the group is on.
func (g *Group) Device() *verbs.Device { return g.dev }

// PD returns the protection domain of the group's connections: memory that is to
// be advertised or wrapped has to be registered in it.
func (g *Group) PD() *verbs.PD { return g.pd }

// Buffer returns a buffer of n bytes from the group's registered memory. What it
// holds is left from earlier use.
func (g *Group) Buffer(n int) (*Buffer, error) {
	b, err := g.pool.get(n)
	if err != nil {
		return nil, g.err("get buffer", err)
	}
	return b, nil
}

// Wrap makes a buffer of n bytes of the caller's own registered memory, from off.
// The region must be of the group's PD. The function, if there is one, is called
// when the buffer was released, or sent and the adapter has done with it; it must
// not block.
func (g *Group) Wrap(mr *verbs.MR, off, n int, released func()) (*Buffer, error) {
	if off < 0 || n < 0 || off > mr.Len()-n {
		return nil, g.err("wrap memory", fmt.Errorf("%d bytes from %d: the region has %d", n, off, mr.Len()))
	}
	b := &Buffer{class: -1, mr: mr, off: off, room: n, n: n, freed: released}
	b.state.Store(bufferHeld)
	return b, nil
}

func (g *Group) err(op string, err error) error {
	return &ConnError{Op: op, Device: g.dev.Name(), Err: err}
}

// Close frees what the connections shared. It fails with verbs.ErrBusy while a
// connection is open or a buffer or message is not released.
func (g *Group) Close() error {
	const op = "close group"
	list, err := g.shut()
	if err != nil {
		return g.err(op, err)
	}
	if list == nil {
		return nil
	}
	var errs []error
	for _, s := range list {
		errs = append(errs, s.cq.Close())
	}
	g.wg.Wait()
	errs = append(errs, g.pd.Close())
	if err := errors.Join(errs...); err != nil {
		return g.err(op, err)
	}
	return nil
}

// shut lets no more connections in and returns the queues to be closed; nil if
// that was done before.
func (g *Group) shut() ([]*shard, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil
	}
	if g.making > 0 {
		return nil, fmt.Errorf("%d connections are open: %w", g.making, verbs.ErrBusy)
	}
	if g.leases > 0 {
		return nil, fmt.Errorf("messages of %d connections are not released: %w", g.leases, verbs.ErrBusy)
	}
	if err := g.pool.close(); err != nil {
		return nil, err
	}
	g.closed = true
	close(g.stop)
	return append([]*shard{}, g.polls...), nil
}

// CloseAll aborts the group's connections and closes it.
func (g *Group) CloseAll() error {
	var errs []error
	for _, c := range g.open() {
		errs = append(errs, c.Abort())
	}
	return errors.Join(append(errs, g.Close())...)
}

func (g *Group) open() []*Conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*Conn, 0, len(g.conns))
	for c := range g.conns {
		list = append(list, c)
	}
	return list
}

// reserve finds a completion queue with room for n requests, and keeps it.
func (g *Group) reserve(n int) (*shard, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, verbs.ErrClosed
	}
	for _, s := range g.polls {
		if s.room >= n {
			s.room -= n
			g.making++
			return s, nil
		}
	}
	depth := max(g.depth, n)
	cq, err := g.dev.CreateCQ(verbs.CQOptions{Depth: depth, Events: true})
	if err != nil {
		return nil, err
	}
	s := &shard{group: g, cq: cq, room: depth - n}
	g.polls = append(g.polls, s)
	g.making++
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		s.run()
	}()
	return s, nil
}

// unreserve gives the room back.
func (g *Group) unreserve(s *shard, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.room += n
	g.making--
}

func (g *Group) enter(c *Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns[c] = struct{}{}
	if c.opts.KeepAlive > 0 && !g.probing {
		g.probing = true
		g.wg.Add(1)
		go func() {
			defer g.wg.Done()
			g.probe()
		}()
	}
}

// kept counts connections whose memory outlives them.
func (g *Group) kept(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leases += n
}

func (g *Group) leave(c *Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

// probe looks after idle connections until the group is closed.
func (g *Group) probe() {
	const period = 250 * time.Millisecond
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-g.stop:
			return
		case now := <-tick.C:
			g.mu.Lock()
			for c := range g.conns {
				c.probeIfIdle(now)
			}
			g.mu.Unlock()
		}
	}
}

// shard is a completion queue with the goroutine that polls it.
type shard struct {
	group *Group
	cq    *verbs.CQ
	room  int // of the queue; guarded by group.mu

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
		n, err := s.cq.Wait(context.Background(), list)
		switch {
		case err == nil:
		case errors.Is(err, verbs.ErrConcurrentUse):
			// A queue pair that is being closed drains the queue.
			time.Sleep(50 * time.Microsecond)
			continue
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

func (s *shard) failAll(err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.conns {
		if c != nil {
			c.fail(err)
		}
	}
}
