package nccl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofabric/gofabric/internal/cnccl"
)

// Finalize waits until everything issued is done on all ranks, and frees what
// the ranks share. It is the first half of Close, for programs that do something
// between the two. Every rank must call it. It answers ErrBusy, naming them,
// while graphs that captured the communicator's work, registrations, windows or
// custom reductions are open: they go first, in that order.
//
// Implements: ncclCommFinalize.
func (c *Comm) Finalize(ctx context.Context) error {
	return c.locked(ctx, "Finalize", func() error {
		err := c.closeOwn(func() error {
			if err := c.finalize(ctx); err != nil {
				return err
			}
			return errKeep
		})
		if err == errKeep {
			return nil
		}
		return err
	})
}

// finalize is called with the turn taken, in the state ready.
func (c *Comm) finalize(ctx context.Context) error {
	if err := c.control(ctx, cnccl.Op{Function: cnccl.FnCommFinalize}); err != nil {
		return err
	}
	c.state.CompareAndSwap(ready, finalized)
	return nil
}

// Close ends the communicator in good order: Finalize if that was not done,
// which waits for all ranks, and then the rest. It answers ErrBusy while others
// use it, as Finalize does, and ErrBroken after an operation that was cancelled
// or failed: then only Abort helps. If ctx ends while NCCL is inside a call that
// nothing ends, the answer is ErrStuck and NCCL goes on behind. A second Close
// does nothing, nor does one after Abort.
//
// Implements: ncclCommFinalize, ncclCommDestroy.
func (c *Comm) Close(ctx context.Context) error {
	if !c.made() || c.state.Load() == gone {
		return nil
	}
	if err := c.lock(ctx); err != nil {
		if c.state.Load() == gone {
			return nil
		}
		return c.failed("Close", err)
	}
	if c.state.Load() == gone {
		c.unlock()
		return nil
	}
	if err := c.usable(finalized, revoked); err != nil {
		c.unlock()
		return c.failed("Close", err)
	}
	done := make(chan error, 1)
	go func() {
		err := c.closeOwn(func() error { return c.destroy(ctx) })
		c.unlock()
		done <- err
	}()
	select {
	case err := <-done:
		return c.failed("Close", err)
	case <-ctx.Done():
	}
	// Where the context is heeded, as in waiting for others, the end is near.
	select {
	case err := <-done:
		return c.failed("Close", err)
	case <-time.After(closeGrace):
		return c.failed("Close", fmt.Errorf("%w: NCCL is still ending the communicator, and goes on behind: %w", ErrStuck, ctx.Err()))
	}
}

// closeGrace is how long Close goes on waiting when its context has ended.
const closeGrace = time.Second

// destroy is called with the turn taken and no children left.
func (c *Comm) destroy(ctx context.Context) error {
	// An abort that has begun since takes over as soon as the turn is given back.
	if err := c.usable(finalized, revoked); err != nil {
		return err
	}
	// A revoked communicator counts as finalized, and before 2.14.3 ending was
	// one step.
	if c.state.Load() == ready && c.lib.supported[cnccl.FnCommFinalize] {
		if err := c.finalize(ctx); err != nil {
			return err
		}
		if err := c.usable(finalized); err != nil {
			return err
		}
	}
	b := cnccl.NewBatch(c.lib.Library)
	defer b.Free()
	*b.Add() = cnccl.Op{Function: cnccl.FnCommDestroy, Comm: c.handle, Context: c.context}
	b.Run(cnccl.Alone, 0)
	if err := c.judge(b); err != nil {
		return err
	}
	c.state.Store(gone)
	c.free()
	return nil
}

// free gives back the memory that NCCL has done with.
func (c *Comm) free() {
	c.batch.Free()
	c.slot.Free()
	for _, s := range append(c.orphans, c.grown...) {
		s.Free()
	}
	c.orphans, c.grown = nil, nil
}

// CloseAll closes what uses the communicator, the newest first, and then the
// communicator, waiting for the other ranks as long as Config.AbortTimeout
// allows. If that fails it aborts.
func (c *Comm) CloseAll() error {
	if !c.made() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.abortTimeout())
	defer cancel()
	if state := c.state.Load(); state == broken || state == starting || state == suspended {
		return c.Abort(context.Background())
	}
	// A call that does not end, a Close without a deadline too, is told to stop.
	if c.lock(ctx) != nil {
		return c.Abort(context.Background())
	}
	c.unlock()
	err := errors.Join(c.closeChildren(), c.Close(ctx))
	if err == nil {
		return nil
	}
	aborted := c.Abort(context.Background())
	if errors.Is(err, ErrAborted) {
		// Another goroutine aborts it, and that is an end too.
		return aborted
	}
	return errors.Join(err, aborted)
}

// closeChildren closes what uses the communicator, graphs first.
func (c *Comm) closeChildren() error {
	return errors.Join(c.closeGraphs(), c.obj.CloseChildren())
}

// closeGraphs closes the graphs that captured the communicator's work, and those
// that other goroutines make of captures and graphs meanwhile: each of these ends
// by that, so that there is an end.
func (c *Comm) closeGraphs() error {
	for {
		if err := c.graphs.CloseChildren(); err != nil {
			return err
		}
		if err := c.withoutGraphs(func() error { return nil }); !errors.Is(err, ErrBusy) {
			return err
		}
	}
}

// Revoke stops everything that is under way on this rank, so that the
// communicator can be split, shrunk or closed after a failure. A second Revoke
// is an error.
//
// Implements: ncclCommRevoke.
func (c *Comm) Revoke(ctx context.Context) error {
	return c.locked(ctx, "Revoke", func() error {
		return c.halting(ErrRevoked, func() error {
			if err := c.control(ctx, cnccl.Op{Function: cnccl.FnCommRevoke}); err != nil {
				return err
			}
			c.state.CompareAndSwap(ready, revoked)
			return nil
		})
	})
}
