package rdmacm

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/gofabric/gofabric/verbs"
)

// CloseWrite ends this side's messages: the peer's Recv answers io.EOF after the
// last one. It returns when the peer's adapter has all of them, so that none can be
// lost. This side can still receive, and Send answers verbs.ErrClosed. It fails with
// ErrPeerAborted if the peer gave up, which may have been after it had everything.
func (c *Conn) CloseWrite(ctx context.Context) error {
	s := &c.send
	s.mu.Lock()
	s.shut = true
	s.unlock()
	select {
	case s.wake <- struct{}{}: // whoever waits for room waits in vain
	default:
	}
	return c.fault("close for writing", s.settled(ctx, func() bool { return s.ended }))
}

// settled waits until the last message was posted and its completion came. A wait
// is in steps, for want of anybody to wake it: it happens once in a connection. They
// become longer, since a thousand connections may be waiting at once.
func (s *sendSide) settled(ctx context.Context, posted func() bool) error {
	const shortest, longest = 200 * time.Microsecond, 20 * time.Millisecond
	step := shortest
	tick := time.NewTimer(step)
	defer tick.Stop()
	for {
		// Whether it is over is asked first: the completion came before.
		over := s.c.over()
		s.mu.Lock()
		done := posted() && int32(s.sentOK.Load()-s.endSeq) > 0
		s.unlock()
		switch {
		case done:
			return nil
		case over != nil:
			return over
		}
		select {
		case <-tick.C:
			step = min(2*step, longest)
			tick.Reset(step)
		case <-s.c.dead:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends the connection in good order: it sends what is under way, waits until
// the peer has closed its side too, and drops what the peer sends until then. It
// waits for ConnOptions.Linger at most; Shutdown takes a context instead. Closing
// again does nothing.
func (c *Conn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), c.opts.Linger)
	defer cancel()
	return c.Shutdown(ctx)
}

// Shutdown is Close within a context. When that ends, the connection is closed
// all the same, and the peer gets an error in place of io.EOF unless it had closed
// its side. Of several calls at once, the first whose context ends decides.
func (c *Conn) Shutdown(ctx context.Context) error {
	c.beginClose(ctx)
	defer func() { <-c.closing }()
	if c.closed {
		return nil
	}
	err := c.drain(ctx)
	return errors.Join(err, c.fault("close", c.teardown(verbs.ErrClosed)))
}

// beginClose takes the token. Whoever has it may be waiting for the peer, in a
// context of its own: it is not waited for longer than ctx lasts.
func (c *Conn) beginClose(ctx context.Context) {
	select {
	case c.closing <- struct{}{}:
		return
	default:
	}
	select {
	case c.closing <- struct{}{}:
	case <-ctx.Done():
		c.fail(verbs.ErrClosed)
		c.closing <- struct{}{}
	}
}

// drain sends this side's end and waits for the peer's.
func (c *Conn) drain(ctx context.Context) error {
	if c.over() != nil {
		return nil // there is nothing to wait for, and the user knows
	}
	if err := c.CloseWrite(ctx); err != nil {
		if c.recv.atEnd() && c.over() != nil && c.send.onlyEndLost() {
			c.left.Store(true)
			return nil // the peer had closed too, and left before it acknowledged the end
		}
		return err
	}
	for {
		m, err := c.Recv(ctx)
		switch {
		case errors.Is(err, io.EOF):
			c.left.Store(true)
			return nil
		case err != nil:
			return err
		}
		m.Release()
	}
}

// Abort ends the connection at once: what is under way may be lost, and the peer
// gets ErrPeerAborted, or ErrPeerGone if that cannot be told any more. A Close or
// Shutdown that waits for the peer waits no longer, and answers verbs.ErrClosed.
func (c *Conn) Abort() error {
	if c.over() == nil && c.peerHeard() {
		c.tellAbort()
	}
	c.fail(verbs.ErrClosed)
	c.closing <- struct{}{}
	defer func() { <-c.closing }()
	if c.closed {
		return nil
	}
	return c.fault("abort", c.teardown(verbs.ErrClosed))
}

func (c *Conn) peerHeard() bool {
	select {
	case <-c.greeted:
		return true
	default:
		return false
	}
}

func (c *Conn) tellAbort() {
	const patience = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s := &c.send
	s.mu.Lock()
	s.aborting = true
	s.unlock()
	// Whether the peer could be told makes no difference to this side.
	_ = s.settled(ctx, func() bool { return s.aborted })
}

// teardown frees everything. Messages that were not released keep their memory
// until they are.
func (c *Conn) teardown(reason error) error {
	c.fail(reason)
	c.recv.mu.Lock()
	c.recv.gone = true
	c.recv.mu.Unlock()
	c.recv.large.makers.Wait()
	// Afterwards the adapter touches none of the memory.
	if err := c.qp.Close(); err != nil {
		return err
	}
	c.shard.remove(c)
	s := &c.send
	s.mu.Lock()
	// What was flushed, or never posted, has ended too; nobody else counts now.
	s.sent.Store(s.tail)
	s.reap(s.tail)
	for _, buf := range s.outbox {
		buf.done()
	}
	s.outbox = nil
	s.mu.Unlock()
	var errs []error
	if c.link != nil {
		errs = append(errs, c.link.Leave())
	}
	kept, err := c.recv.drop()
	if errs = append(errs, err); kept {
		c.hub.kept(1)
	}
	c.hub.leave(c)
	c.hub.unreserve(c.shard, c.requests())
	c.closed = true
	if c.link != nil {
		errs = append(errs, c.link.Left())
	}
	return errors.Join(errs...)
}

// drop frees the receive side's memory, unless messages are out (kept): then the
// last of those does it.
func (r *recvSide) drop() (kept bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for i := range r.slots {
		if s := &r.slots[i]; s.large != nil && !s.held {
			r.large.put(s.large)
			s.large = nil
		}
	}
	if r.leases > 0 {
		return true, nil
	}
	return false, r.free()
}

// probeIfIdle asks the adapter to find out whether the peer is there.
func (c *Conn) probeIfIdle(now time.Time) {
	if c.opts.KeepAlive < 0 || c.over() != nil || !c.peerHeard() {
		return
	}
	if c.active.Swap(false) || c.lastUse.IsZero() {
		c.lastUse = now
		return
	}
	if now.Sub(c.lastUse) < c.opts.KeepAlive {
		return
	}
	c.lastUse = now
	c.send.probing.Store(true)
	c.send.kick()
}
