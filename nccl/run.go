package nccl

import (
	"context"
	"fmt"
	"time"

	"github.com/gofabric/gofabric/internal/cnccl"
)

// How a call that is in progress is awaited: asked inside C, where each time
// gives the processor away, so that a small operation costs one crossing; then
// from here, ever less often.
const (
	spinsInC    = 400
	shortestNap = 20 * time.Microsecond
	longestNap  = 2 * time.Millisecond
)

// settle waits until NCCL is done with a batch. Whoever calls it holds the turns
// of comms. If the context ends first, or one of them is aborted, they are
// broken: NCCL is still at work on them.
func settle(ctx context.Context, comms []*Comm, b *cnccl.Batch) error {
	if b.Code() != cnccl.InProgress {
		return nil
	}
	nap := shortestNap
	timer := comms[0].napTimer(nap)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		if b.Poll(1) != cnccl.InProgress {
			return nil
		}
		if err := interrupted(ctx, comms); err != nil {
			for _, c := range comms {
				c.breakWith(err)
			}
			return err
		}
		nap = min(2*nap, longestNap)
		timer.Reset(nap)
	}
}

// napTimer returns the communicator's timer, set: there is one, so that waiting
// allocates nothing. The turn is taken.
func (c *Comm) napTimer(d time.Duration) *time.Timer {
	if c.timer == nil {
		c.timer = time.NewTimer(d)
	} else {
		c.timer.Reset(d)
	}
	return c.timer
}

// interrupted says why waiting must end, or nothing.
func interrupted(ctx context.Context, comms []*Comm) error {
	for _, c := range comms {
		if c.state.Load() >= aborting {
			return ErrAborted
		}
	}
	return ctx.Err()
}

// outcome makes an error of a batch that has settled, or nil.
func (l *library) outcome(b *cnccl.Batch) error {
	code := b.Code()
	if code == cnccl.Success {
		return nil
	}
	return l.codeError(code, b)
}

func (l *library) codeError(code int, b *cnccl.Batch) error {
	switch code {
	case cnccl.NotCalled:
		return fmt.Errorf("the CUDA context of the device could not be made current (CUDA result %d)", b.ContextCode())
	case cnccl.Missing:
		if i := b.MissingFunction(); i >= 0 {
			f := cnccl.Functions()[i]
			return l.unsupported(f.Name, Version(f.Since))
		}
		return fmt.Errorf("the library lacks the function: %w", ErrNotSupported)
	}
	return l.failure(code, b.Last())
}

// harmless reports whether a communicator is as good as before after a result.
// A blocking one refuses a bad argument and goes on; a non-blocking one keeps
// every error for ever.
func (c *Comm) harmless(code int) bool {
	switch code {
	case cnccl.Success, cnccl.Missing, cnccl.NotCalled:
		return true
	case int(ResultInvalidArgument), int(ResultInvalidUsage):
		return c.cfg.Blocking
	}
	return false
}

// judge turns a settled batch into an error and breaks the communicator if NCCL
// did.
func (c *Comm) judge(b *cnccl.Batch) error {
	err := c.lib.outcome(b)
	if err != nil && !c.harmless(b.Code()) {
		c.breakWith(err)
	}
	return err
}

// control runs one operation that is not a transfer, with the turn taken, and
// waits for it, and for the communicators that appear in slots. If the operation
// is given up, the caller keeps its slots until the abort, since NCCL may still
// write there.
func (c *Comm) control(ctx context.Context, op cnccl.Op, slots ...cnccl.Slot) error {
	if err := c.lib.need(int(op.Function)); err != nil {
		return err
	}
	b := cnccl.NewBatch(c.lib.Library)
	defer b.Free()
	op.Comm, op.Context = c.handle, c.context
	*b.Add() = op
	b.AddMember(c.member())
	for _, s := range slots {
		b.AddMember(cnccl.Member{Slot: s.Address(), Context: c.context})
	}
	b.Run(cnccl.Alone, spinsInC)
	if err := settle(ctx, c.self, b); err != nil {
		return err
	}
	return c.judge(b)
}

// locked runs f with the turn taken and the communicator in a state that allows
// it.
func (c *Comm) locked(ctx context.Context, op string, f func() error, allowed ...int32) error {
	if err := c.lock(ctx); err != nil {
		return c.failed(op, c.late(err))
	}
	defer c.unlock()
	if err := c.usable(allowed...); err != nil {
		return c.failed(op, err)
	}
	return c.failed(op, f())
}

// late explains a turn that was not had because the communicator is gone.
func (c *Comm) late(err error) error {
	if err == ErrAborted && c.state.Load() == gone {
		return errAbortedEarlier
	}
	return err
}
