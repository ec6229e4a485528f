package perftest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errPeerOver ends a run whose peer has gone on to the next exchange while we
// still wait for messages of its.
var errPeerOver = errors.New("the peer has finished, but not all of its messages arrived; give both sides the same -n, -q and -s")

const (
	// overPatience is how long messages may still be on their way once the peer
	// has gone on; lossPatience is the same where the peer may wait for us, and
	// resendPatience where an acknowledgement that was lost has the device send
	// a message again, of 8 MiB at most.
	overPatience   = 500 * time.Millisecond
	lossPatience   = 5 * time.Second
	resendPatience = 5 * time.Second
	// exitGrace is how long a run goes on after the peer's connection is closed,
	// in a test where that may mean that the peer is done.
	exitGrace = 500 * time.Millisecond
	// leavePatience is how long to wait for the other side's end in that test.
	leavePatience = 5 * time.Second
)

// guarded runs f with a context that ends with ctx, when the peer goes away, and
// when nothing was done for the time limit. The error says which.
func (r *run) guarded(ctx context.Context, f func(context.Context) error) error {
	watched, stop := r.session.Watch(ctx)
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave := context.AfterFunc(watched, func() {
		if r.exitIsNoFailure() {
			time.Sleep(exitGrace)
		}
		cancel(context.Cause(watched))
	})
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.watchProgress(done, cancel)
	}()
	err := f(inner)
	close(done)
	<-ended
	leave()
	gone := stop()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && (gone == nil || r.exitIsNoFailure()):
		return nil
	case gone != nil:
		return gone
	case inner.Err() != nil:
		return fmt.Errorf("perftest: during the run: %w", context.Cause(inner))
	}
	return err
}

// exitIsNoFailure tells the test whose sides just exit when they are done.
func (r *run) exitIsNoFailure() bool {
	return r.config.Tool.Latency && r.config.Tool.Verb == VerbWrite
}

// watchProgress ends a run in which nothing completes any more.
func (r *run) watchProgress(done <-chan struct{}, cancel context.CancelCauseFunc) {
	const every = 100 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	// The peer, which waits for our answer, must not give up first.
	over := min(resendPatience, r.config.Timeout/2)
	if r.config.lossy() {
		over = overPatience
	}
	last, since := r.local.progress(), time.Now()
	for {
		select {
		case <-done:
			return
		case now := <-tick.C:
			if p := r.local.progress(); p != last {
				last, since = p, now
				continue
			}
			quiet := now.Sub(since)
			switch {
			case quiet >= r.config.Timeout:
				cancel(fmt.Errorf("%w: nothing was done for %v", ErrPeerSilent, r.config.Timeout))
				return
			case quiet >= over && r.config.receives() && r.session.peerWentOn(),
				quiet >= lossPatience && r.config.receives() && r.config.lossy() && r.config.Bidirectional && last > 0:
				cancel(errPeerOver)
				return
			}
		}
	}
}

// progress is a number that changes when something was done.
func (e *end) progress() (sum uint64) {
	for _, l := range e.lanes {
		sum += l.alive.Load()
	}
	return sum
}
