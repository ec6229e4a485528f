package rdmacm

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/verbs"
)

// Buffer is registered memory that messages are sent from without being copied,
// and that reads and writes of regions use. A Buffer belongs to one goroutine at
// a time.
//
// SendBuffer takes the buffer over: it goes back to its pool once the adapter
// has done with it. ReadBuffer and WriteBuffer give it back when they return,
// except when their context ended first: then the buffer is the adapter's until
// the operation has ended, calls on it answer ErrBufferInUse, and a Release is
// carried out afterwards.
type Buffer struct {
	pool  *pool
	class int // of the pool; -1: the memory is the caller's
	mr    *verbs.MR
	off   int
	room  int
	n     int
	state atomic.Uint32
	freed func() // of a caller's memory
}

const (
	bufferFree     = iota // in the pool
	bufferHeld            // the caller's
	bufferSent            // the connection's
	bufferBusy            // the caller's, when an operation has ended
	bufferReleased        // the pool's, when an operation has ended
)

// Bytes returns the memory. It must not be used after the buffer was sent or
// released.
func (b *Buffer) Bytes() []byte {
	if b.mr == nil {
		return nil
	}
	return b.mr.Bytes()[b.off : b.off+b.n : b.off+b.room]
}

// Len returns how many bytes are sent.
func (b *Buffer) Len() int { return b.n }

// Resize changes how many bytes are sent, up to Cap. It keeps what is there.
func (b *Buffer) Resize(n int) error {
	if n < 0 || n > b.room {
		return fmt.Errorf("rdmacm: resize buffer to %d bytes: it has room for %d: %w", n, b.room, ErrMessageTooLong)
	}
	b.n = n
	return nil
}

// Cap returns how many bytes the buffer has room for.
func (b *Buffer) Cap() int { return b.room }

// Release gives the buffer back. It does nothing to nil, and to one that was sent
// or released before.
func (b *Buffer) Release() {
	if b == nil {
		return
	}
	if b.state.CompareAndSwap(bufferHeld, bufferFree) {
		b.give()
		return
	}
	if b.state.CompareAndSwap(bufferBusy, bufferReleased) {
		return
	}
	// The operation may have ended in between.
	if b.state.CompareAndSwap(bufferHeld, bufferFree) {
		b.give()
	}
}

// take moves the buffer from the caller to the connection.
func (b *Buffer) take(to uint32) error {
	if b == nil || !b.state.CompareAndSwap(bufferHeld, to) {
		return ErrBufferInUse
	}
	return nil
}

// done ends the connection's use of the buffer.
func (b *Buffer) done() {
	if b.state.CompareAndSwap(bufferBusy, bufferHeld) {
		return
	}
	b.state.Store(bufferFree)
	b.give()
}

func (b *Buffer) give() {
	if b.class < 0 {
		if b.freed != nil {
			b.freed()
		}
		return
	}
	b.pool.put(b)
}

func (b *Buffer) sge() verbs.SGE { return b.mr.SGE(b.off, b.n) }

// pool keeps registered memory in classes of powers of two. It grows to what was
// once in use and shrinks at close.
type pool struct {
	pd *verbs.PD

	mu     sync.Mutex
	free   [maxClass + 1][]*Buffer
	slabs  []*verbs.MR
	huge   bool // huge pages were there so far
	closed bool

	bytes, held, hugeBytes atomic.Int64
}

const (
	minClass = 8  // 256 bytes
	maxClass = 40 // a TiB
	slabSize = 2 << 20
	minSlab  = 64 << 10
)

func classOf(n int) int { return max(minClass, bits.Len64(uint64(max(n, 1)-1))) }

// get returns a buffer of n bytes, whose contents are left from before.
func (p *pool) get(n int) (*Buffer, error) {
	if n < 0 || n > 1<<maxClass {
		return nil, fmt.Errorf("a buffer of %d bytes: %w", n, ErrMessageTooLong)
	}
	class := classOf(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, verbs.ErrClosed
	}
	if len(p.free[class]) == 0 {
		if err := p.grow(class); err != nil {
			return nil, err
		}
	}
	list := p.free[class]
	b := list[len(list)-1]
	p.free[class] = list[:len(list)-1]
	b.n = n
	b.state.Store(bufferHeld)
	p.held.Add(1)
	return b, nil
}

func (p *pool) put(b *Buffer) {
	p.mu.Lock()
	p.free[b.class] = append(p.free[b.class], b)
	p.mu.Unlock()
	p.held.Add(-1)
}

// grow registers one more slab and cuts it up; the lock is held.
func (p *pool) grow(class int) error {
	size := 1 << class
	slab := max(size, min(slabSize, max(minSlab, 64*size)))
	mr, err := p.allocate(slab)
	if err != nil {
		return err
	}
	p.slabs = append(p.slabs, mr)
	p.bytes.Add(int64(slab))
	buffers := make([]Buffer, slab/size)
	for i := range buffers {
		buffers[i] = Buffer{pool: p, class: class, mr: mr, off: i * size, room: size}
		p.free[class] = append(p.free[class], &buffers[i])
	}
	return nil
}

// allocate takes huge pages for as long as the system has any.
func (p *pool) allocate(size int) (*verbs.MR, error) {
	if p.huge && size%slabSize == 0 {
		mr, err := p.pd.AllocMR(size, verbs.MROptions{HugePages: true})
		if err == nil {
			p.hugeBytes.Add(int64(size))
			return mr, nil
		}
		p.huge = false
	}
	return p.pd.AllocMR(size, verbs.MROptions{})
}

// open undoes close.
func (p *pool) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
}

// close gives the memory back, unless buffers are out.
func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.held.Load(); n > 0 {
		return fmt.Errorf("%d buffers are not released: %w", n, verbs.ErrBusy)
	}
	p.closed = true
	var errs []error
	for _, mr := range p.slabs {
		errs = append(errs, mr.Close())
	}
	p.slabs, p.free = nil, [maxClass + 1][]*Buffer{}
	p.bytes.Store(0)
	p.hugeBytes.Store(0)
	return errors.Join(errs...)
}
