package rdmacm

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/gofabric/gofabric/verbs"
)

// opTable holds the reads and writes of the peer's regions that are under way.
type opTable struct {
	list []operation
	idle chan int // places of list
}

// operation is a read or write. Its caller may leave before it ends; then
// whoever ends it gives its place back.
type operation struct {
	state  atomic.Uint32
	done   chan struct{} // holds one token
	ok     bool          // valid once done has the token
	buf    *Buffer
	region *RemoteRegion
}

const (
	opIdle = iota
	opWaitedFor
	opLeft
)

func (t *opTable) init(n int) {
	t.list, t.idle = make([]operation, n), make(chan int, n)
	for i := range t.list {
		t.list[i].done = make(chan struct{}, 1)
		t.idle <- i
	}
}

// end ends an operation. The send side's lock is held.
func (t *opTable) end(c *Conn, i int, ok bool) {
	o := &t.list[i]
	o.ok = ok
	o.buf.done()
	c.regions.unuse(o.region)
	o.buf, o.region = nil, nil
	if o.state.CompareAndSwap(opWaitedFor, opIdle) {
		o.done <- struct{}{}
		return
	}
	o.state.Store(opIdle)
	t.idle <- i
}

// Read copies from the peer's region, from an offset in bytes, to p; the peer
// does not notice. If the context ends first, p is not touched any more.
func (c *Conn) Read(ctx context.Context, r *RemoteRegion, off uint64, p []byte) error {
	const op = "read"
	if len(p) == 0 {
		return c.fault(op, r.check(c, off, 0, RegionRead))
	}
	buf, err := c.hub.pool.get(len(p))
	if err != nil {
		return c.fault(op, err)
	}
	defer buf.Release()
	if err := c.ReadBuffer(ctx, r, off, buf); err != nil {
		return err
	}
	copy(p, buf.Bytes())
	return nil
}

// Write copies p to the peer's region, from an offset in bytes; the peer does not
// notice. A message that is sent afterwards arrives after it. If the context ends
// first, the write may be carried out or not.
func (c *Conn) Write(ctx context.Context, r *RemoteRegion, off uint64, p []byte) error {
	const op = "write"
	if len(p) == 0 {
		return c.fault(op, r.check(c, off, 0, RegionWrite))
	}
	buf, err := c.hub.pool.get(len(p))
	if err != nil {
		return c.fault(op, err)
	}
	defer buf.Release()
	copy(buf.Bytes(), p)
	return c.WriteBuffer(ctx, r, off, buf)
}

// ReadBuffer fills a buffer, up to its length, from the peer's region.
func (c *Conn) ReadBuffer(ctx context.Context, r *RemoteRegion, off uint64, buf *Buffer) error {
	return c.fault("read", c.oneSided(ctx, r, off, buf, RegionRead))
}

// WriteBuffer writes a buffer, up to its length, to the peer's region.
func (c *Conn) WriteBuffer(ctx context.Context, r *RemoteRegion, off uint64, buf *Buffer) error {
	return c.fault("write", c.oneSided(ctx, r, off, buf, RegionWrite))
}

func (c *Conn) oneSided(ctx context.Context, r *RemoteRegion, off uint64, buf *Buffer, right RegionAccess) error {
	if err := buf.take(bufferBusy); err != nil {
		return err
	}
	err := r.check(c, off, uint64(buf.n), right)
	var i int
	if err == nil {
		i, err = c.takeOp(ctx)
	}
	if err != nil {
		buf.done()
		return err
	}
	if err := c.send.operate(i, r, off, buf, right); err != nil {
		c.send.ops.idle <- i
		buf.done()
		return err
	}
	if right == RegionRead {
		c.counts.reads.Add(1)
	} else {
		c.counts.writes.Add(1)
	}
	return c.awaitOp(ctx, i)
}

func (c *Conn) takeOp(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	select {
	case i := <-c.send.ops.idle:
		return i, nil
	case <-c.dead:
		return 0, c.reason()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// operate posts an operation.
func (s *sendSide) operate(i int, r *RemoteRegion, off uint64, buf *Buffer, right RegionAccess) error {
	s.mu.Lock()
	defer s.unlock()
	if err := s.taking(); err != nil {
		return err
	}
	if s.room() < 1 {
		return verbs.ErrSendQueueFull
	}
	if !s.c.regions.use(r) {
		return ErrRevoked
	}
	o := &s.ops.list[i]
	o.buf, o.region = buf, r
	o.state.Store(opWaitedFor)
	remote := r.at(off, uint64(buf.n))
	b, id := s.c.qp.SendBatch(), s.nextID()
	var q verbs.Request
	switch {
	case buf.n == 0 && right == RegionRead:
		q = b.Read(id, remote)
	case buf.n == 0:
		q = b.Write(id, remote)
	case right == RegionRead:
		q = b.Read(id, remote, buf.sge())
	default:
		q = b.Write(id, remote, buf.sge())
	}
	s.place(q, request{nil, i}, true)
	return nil
}

// awaitOp waits for an operation's end. A caller that leaves early leaves the
// buffer to the adapter.
func (c *Conn) awaitOp(ctx context.Context, i int) error {
	o := &c.send.ops.list[i]
	var err error
	select {
	case <-o.done:
		return c.opEnded(i)
	case <-c.dead:
		err = c.reason()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if o.state.CompareAndSwap(opWaitedFor, opLeft) {
		return err
	}
	<-o.done
	return c.opEnded(i)
}

func (c *Conn) opEnded(i int) error {
	ok := c.send.ops.list[i].ok
	c.send.ops.idle <- i
	if ok {
		return nil
	}
	if err := c.over(); err != nil {
		return err
	}
	return fmt.Errorf("%w: the operation was flushed", ErrPeerGone)
}
