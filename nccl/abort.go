package nccl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
)

// abortion is the one abort of a communicator.
type abortion struct {
	begun chan struct{} // closed when NCCL has been called
	done  chan struct{} // closed when it has returned
	err   error         // NCCL's answer, once done is closed
	// happened says that the communicator ended by an abort.
	happened atomic.Bool
}

// Abort ends the communicator at once, whatever is under way, and frees what it
// holds on this rank. It needs no other rank, but the others must abort too, or
// they wait. A call that is waiting inside another goroutine is told to stop
// first, and Abort never enters NCCL beside it. Graphs that captured the
// communicator's work, its registrations, windows and custom reductions are
// closed along, graphs first.
//
// It waits for NCCL as long as Config.AbortTimeout and ctx allow and then
// answers ErrStuck: the memory is left to NCCL, and a further Abort goes on
// waiting. That is also the answer while a call of a blocking communicator does
// not leave NCCL, which nothing can make it do.
//
// A second Abort does nothing, nor does one after Close. To end a program in
// good order use Close.
//
// Implements: ncclCommAbort.
func (c *Comm) Abort(ctx context.Context) error { return AbortAll(ctx, c) }

// AbortAll aborts communicators together, each on a thread of its own: several
// of one process wait for each other, and one after the other would hang. After
// a failure, abort all the communicators of the process that reach the same
// ranks.
//
// Implements: ncclCommAbort.
func AbortAll(ctx context.Context, comms ...*Comm) error {
	if ctx == nil {
		return startError("Abort", nil, badArgument("the context is nil: use context.Background()"))
	}
	for _, c := range comms {
		if c == nil {
			return startError("Abort", nil, badArgument("a communicator is nil"))
		}
	}
	// All are told before any is waited for.
	comms = slices.DeleteFunc(slices.Clone(comms), func(c *Comm) bool { return !c.made() })
	for _, c := range comms {
		c.tell()
	}
	errs := make([]error, len(comms))
	var all sync.WaitGroup
	for i, c := range comms {
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = c.failed("Abort", c.abortOne(ctx))
		}()
	}
	all.Wait()
	return errors.Join(errs...)
}

// tell stops the calls that wait, and refuses new ones.
func (c *Comm) tell() {
	for {
		state := c.state.Load()
		if state >= aborting {
			return
		}
		if c.state.CompareAndSwap(state, aborting) {
			close(c.stop)
			return
		}
	}
}

func (c *Comm) abortOne(ctx context.Context) error {
	if c.state.Load() == gone {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.abortTimeout())
	defer cancel()
	done, err := c.launchAbort(ctx)
	if err != nil || done == nil {
		return err
	}
	select {
	case <-done:
		return c.abort.err
	case <-ctx.Done():
		return fmt.Errorf("%w: ncclCommAbort is still running; it goes on behind", ErrStuck)
	}
}

// launchAbort takes the turn for good and starts NCCL's abort behind, once. It
// returns what closes at its end, or nil if the communicator is gone already.
func (c *Comm) launchAbort(ctx context.Context) (<-chan struct{}, error) {
	select {
	case c.turn <- struct{}{}: // even if ctx has ended: the abort goes on behind
	default:
		select {
		case c.turn <- struct{}{}:
		case <-c.abort.begun:
			return c.abort.done, nil
		case <-ctx.Done():
			return nil, c.occupied()
		}
	}
	if c.state.Load() == gone {
		c.unlock()
		return nil, nil
	}
	close(c.abort.begun)
	go func() {
		defer close(c.abort.done)
		c.abort.err = c.abortInside()
		// Whoever waits for the turn sees what became of the communicator.
		c.unlock()
	}()
	return c.abort.done, nil
}

func (c *Comm) occupied() error {
	if c.cfg.Blocking {
		return fmt.Errorf("%w: a call of this blocking communicator is still inside NCCL, and aborting beside it would free what it uses; end the process",
			ErrStuck)
	}
	return fmt.Errorf("%w: a call on this communicator is still inside NCCL", ErrStuck)
}

// abortInside is called with the turn taken.
func (c *Comm) abortInside() error {
	// While graphs live, NCCL's abort spins.
	closed := c.closeChildren()
	var errs []error
	for _, s := range c.grown {
		errs = append(errs, c.abortHandle(s.Comm()))
	}
	errs = append(errs, c.abortHandle(c.handle))
	// What was being made when its call was given up exists by now, or never
	// will: the abort has joined the thread that worked on it.
	for _, s := range c.orphans {
		errs = append(errs, c.abortHandle(s.Comm()))
	}
	c.free()
	c.leaveStreams()
	c.abort.happened.Store(true)
	c.state.Store(gone)
	left := c.closeOwn(func() error { return nil })
	return errors.Join(append(errs, closed, left)...)
}

func (c *Comm) abortHandle(handle uint64) error {
	if handle == 0 {
		return nil
	}
	b := cnccl.NewBatch(c.lib.Library)
	defer b.Free()
	*b.Add() = cnccl.Op{Function: cnccl.FnCommAbort, Comm: handle, Context: c.context}
	b.Run(cnccl.Alone, 0)
	return c.lib.outcome(b)
}

// Wait waits until stream has done everything issued to it, or the communicator
// has failed, or ctx ends. It polls: for 200 µs without pause, so that a small
// operation costs microseconds, then ever less often, at least every
// millisecond. After an error of the communicator only Abort is left; the end of
// ctx leaves it as it is, with the work still in the stream. Work that Abort,
// Revoke or Shrink with ShrinkAbort ends is not done: ErrAborted or ErrRevoked.
func (c *Comm) Wait(ctx context.Context, stream *cuda.Stream) error {
	if !c.made() {
		return c.failed("Wait", ErrClosed)
	}
	if ctx == nil {
		return c.failed("Wait", badArgument("the context is nil: use context.Background()"))
	}
	if stream == nil {
		return c.failed("Wait", badArgument("the stream is nil"))
	}
	before := c.halted.Load()
	if state := c.state.Load(); state >= broken || state == revoked {
		return c.failed("Wait", c.refusal(state))
	}
	begun, nap := time.Now(), firstNap
	for i := 1; ; i++ {
		done, err := stream.Query()
		if done && err == nil {
			err = c.cutShort(before)
		}
		if err != nil || done {
			return c.failed("Wait", err)
		}
		if i%askEvery != 0 && nap == firstNap {
			continue
		}
		if err := c.AsyncError(); err != nil {
			return c.failed("Wait", err)
		}
		if err := ctx.Err(); err != nil {
			return c.failed("Wait", err)
		}
		if time.Since(begun) >= eagerly {
			sleep(ctx, nap)
			nap = min(2*nap, longNap)
		}
	}
}

// halt is a reason why what was under way ended without being done.
type halt struct{ err error }

// cutShort says why a stream is done though its work may not be: an abort, and
// what else ends the kernels. before is the last reason that does not count.
func (c *Comm) cutShort(before *halt) error {
	state := c.state.Load()
	if state == aborting || state == gone && c.abort.happened.Load() {
		return c.refusal(state)
	}
	if h := c.halted.Load(); h != before {
		return h.err
	}
	return nil
}

// halting runs f, which ends what is under way; err is what Wait then says.
func (c *Comm) halting(err error, f func() error) error {
	before := c.halted.Swap(&halt{err})
	failed := f()
	if failed != nil && c.state.Load() < broken {
		c.halted.Store(before) // nothing was ended
	}
	return failed
}

// How Wait polls.
const (
	eagerly  = 200 * time.Microsecond // without a pause
	askEvery = 64                     // eager polls for one of the communicator's state
	firstNap = 20 * time.Microsecond
	longNap  = time.Millisecond
)

// sleep waits, not longer than ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// AsyncError returns what the communicator has met since the last call: a peer
// that died, a network that failed. Then only Abort is left. It does not wait:
// while another goroutine is inside, that one will report.
//
// Implements: ncclCommGetAsyncError.
func (c *Comm) AsyncError() error {
	if !c.made() {
		return c.failed("AsyncError", ErrClosed)
	}
	select {
	case c.turn <- struct{}{}:
	default:
		if c.state.Load() >= aborting {
			return c.failed("AsyncError", c.refusal(c.state.Load()))
		}
		return nil
	}
	defer c.unlock()
	switch state := c.state.Load(); state {
	case ready, revoked, finalized:
	case suspended:
		return nil
	default:
		return c.failed("AsyncError", c.refusal(state))
	}
	c.batch.Poll(1)
	if c.batch.Code() == cnccl.InProgress {
		return nil
	}
	err := c.lib.outcome(c.batch)
	if err != nil {
		c.breakWith(err)
	}
	return c.failed("AsyncError", err)
}
