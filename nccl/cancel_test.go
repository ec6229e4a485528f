//go:build linux && cgo

package nccl

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// soon is a context that ends while the call under test is waiting.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// A rank that never comes: the start ends with its context, is aborted inside,
// and leaves nothing; a new communicator works.
func TestCancelledInitLeavesNothing(t *testing.T) {
	r := newBench(t, 2)
	live := liveComms(t)
	id, err := NewUniqueID()
	require.NoError(t, err)
	c, err := InitRank(soon(t), r.devs[0], id, 0, 2, Config{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Nil(t, c)
	var op *OpError
	require.ErrorAs(t, err, &op)
	assert.Equal(t, "InitRank", op.Op)
	assert.Equal(t, live, liveComms(t))
	r.init(Config{})
	r.sumOnce()
}

func TestCancelledInitAll(t *testing.T) {
	gpu := fakes(t)
	r := newBench(t, 2)
	live := liveComms(t)
	gpu.Set(fakegpu.InitHold, 1)
	_, err := InitAll(soon(t), r.devs, Config{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	gpu.Set(fakegpu.InitHold, 0)
	assert.Equal(t, live, liveComms(t))
	r.init(Config{})
	r.sumOnce()
}

// An operation that NCCL does not finish: its context ends, the communicator is
// broken and says why, only Abort is allowed, and a new one works.
func TestCancelledOperationBreaksTheCommunicator(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{})
	b := r.alloc(0, make([]byte, 64))
	gpu.Set(fakegpu.JobHold, 1)
	err := r.comms[0].AllReduce(soon(t), b.Span(), b.Span(), 16, Float32, Sum, r.streams[0])
	require.ErrorIs(t, err, context.DeadlineExceeded)
	gpu.Set(fakegpu.JobHold, 0)

	c := r.comms[0]
	for name, call := range map[string]func() error{
		"AllReduce":  func() error { return c.AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]) },
		"Close":      func() error { return c.Close(r.ctx) },
		"Finalize":   func() error { return c.Finalize(r.ctx) },
		"AsyncError": func() error { return c.AsyncError() },
		"Split":      func() error { _, err := c.Split(r.ctx, 0, 0, Config{}); return err },
		"group": func() error {
			g := NewGroup()
			defer g.Close()
			return g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0])
		},
	} {
		err := call()
		assert.ErrorIs(t, err, ErrBroken, name)
		assert.ErrorIs(t, err, context.DeadlineExceeded, "%s tells the cause", name)
	}
	require.NoError(t, AbortAll(r.ctx, r.comms...))
	require.NoError(t, b.Close())
	r.init(Config{})
	r.sumOnce()
}

func TestCancelledGroupBreaksAllOfItsCommunicators(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{})
	g := NewGroup()
	for i, c := range r.comms {
		b := r.alloc(i, make([]byte, 64))
		require.NoError(t, g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[i]))
	}
	gpu.Set(fakegpu.JobHold, 1)
	require.ErrorIs(t, g.Run(soon(t)), context.DeadlineExceeded)
	gpu.Set(fakegpu.JobHold, 0)
	for _, c := range r.comms {
		require.ErrorIs(t, c.AsyncError(), ErrBroken)
	}
	require.ErrorIs(t, g.Run(r.ctx), ErrBroken)
	require.NoError(t, g.Close())
	require.NoError(t, AbortAll(r.ctx, r.comms...))
}

// Waiting for the turn is not being inside NCCL: giving up changes nothing.
func TestCancelledWhileWaitingForTheTurnChangesNothing(t *testing.T) {
	r := newRig(t, 2, Config{})
	c := r.comms[0]
	require.NoError(t, c.lock(r.ctx))
	b := r.alloc(0, make([]byte, 64))
	require.ErrorIs(t, c.AllReduce(soon(t), b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]), context.DeadlineExceeded)
	require.ErrorIs(t, c.Close(soon(t)), context.DeadlineExceeded)
	require.NoError(t, c.AsyncError(), "it does not wait for the turn")
	c.unlock()
	r.sumOnce()
}

// The stream is not done when the context ends: the communicator is as it was.
func TestCancelledWaitLeavesTheCommunicatorUsable(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{})
	gpu.Set(fakegpu.CollectiveHold, 1)
	g := NewGroup()
	for i, c := range r.comms {
		b := r.alloc(i, make([]byte, 64))
		require.NoError(t, g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[i]))
	}
	require.NoError(t, g.Run(r.ctx))
	require.ErrorIs(t, r.comms[0].Wait(soon(t), r.streams[0]), context.DeadlineExceeded)
	gpu.Set(fakegpu.CollectiveHold, 0)
	r.wait()
	r.sumOnce()
	require.NoError(t, g.Close())
}

func TestCancelledFinalize(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{})
	gpu.Set(fakegpu.JobHold, 1)
	err := r.comms[0].Close(soon(t))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	gpu.Set(fakegpu.JobHold, 0)
	require.ErrorIs(t, r.comms[0].Close(r.ctx), ErrBroken)
	require.NoError(t, AbortAll(r.ctx, r.comms...))
	require.NoError(t, r.comms[0].Close(r.ctx), "after an abort it does nothing")
}

func TestCancelledSplitBreaksTheParent(t *testing.T) {
	live := liveComms(t)
	r := newRig(t, 2, Config{})
	needs(t, 2, 18, 1)
	// Rank 1 does not come.
	_, err := r.comms[0].Split(soon(t), 0, 0, Config{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, r.comms[0].AsyncError(), ErrBroken)
	require.NoError(t, AbortAll(r.ctx, r.comms...))
	assert.Equal(t, live, liveComms(t))
	r.init(Config{})
	r.sumOnce()
}

// A Close without a deadline that does not end does not hold up the device.
func TestCloseAllEndsAHangingClose(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{AbortTimeout: 200 * time.Millisecond})
	gpu.Set(fakegpu.JobHold, 1)
	closed := make(chan error)
	go func() { closed <- r.comms[0].Close(context.Background()) }()
	require.Eventually(t, func() bool { return len(r.comms[0].turn) == 1 }, patience, time.Millisecond)
	time.AfterFunc(400*time.Millisecond, func() { gpu.Set(fakegpu.JobHold, 0) })
	err := r.comms[0].CloseAll()
	if err != nil {
		require.ErrorIs(t, err, ErrStuck, "the fakes hold NCCL's thread, which an abort joins")
	}
	require.ErrorIs(t, <-closed, ErrAborted)
	require.NoError(t, AbortAll(context.Background(), r.comms...))
}

// Seen with NCCL 2.28.3 whose threads are sent a thousand signals a second:
// ncclCommDestroy does not return.
func TestDestroyThatHangsIsBounded(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 1, Config{AbortTimeout: 100 * time.Millisecond})
	c := r.comms[0]
	require.NoError(t, c.Finalize(r.ctx))
	gpu.Set(fakegpu.AbortHold, 1)
	err := c.Close(soon(t))
	require.ErrorIs(t, err, ErrStuck)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, c.CloseAll(), ErrStuck)
	gpu.Set(fakegpu.AbortHold, 0)
	require.NoError(t, c.Abort(r.ctx))
	require.NoError(t, c.Close(r.ctx))
}

// New ranks that do not come.
func TestCancelledGrowLeavesNothing(t *testing.T) {
	live := liveComms(t)
	r := newRig(t, 1, Config{})
	needs(t, 2, 29, 2)
	id, err := r.comms[0].UniqueID(r.ctx)
	require.NoError(t, err)
	_, err = r.comms[0].Grow(soon(t), 2, &id, Config{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, r.comms[0].AsyncError(), ErrBroken)
	require.NoError(t, r.comms[0].Abort(r.ctx))
	assert.Equal(t, live, liveComms(t))
}

// A blocking call cannot be stopped: Abort says so, within its bound, and does
// not enter NCCL beside it.
func TestAbortBesideABlockingCallIsBoundedAndSaysSo(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{Blocking: true, AbortTimeout: 100 * time.Millisecond})
	gpu.Set(fakegpu.JobHold, 1)
	b := r.alloc(0, make([]byte, 64))
	require.NoError(t, r.comms[0].lock(r.ctx)) // stands for a call inside NCCL
	err := r.comms[0].Abort(r.ctx)
	require.ErrorIs(t, err, ErrStuck)
	require.ErrorIs(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]), ErrAborted)
	r.comms[0].unlock()
	gpu.Set(fakegpu.JobHold, 0)
	require.NoError(t, AbortAll(r.ctx, r.comms...))
}

// NCCL's abort itself does not end: the caller is released, and a later Abort
// sees the end.
func TestAbortThatHangsInsideNCCLIsBounded(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{AbortTimeout: 100 * time.Millisecond})
	gpu.Set(fakegpu.AbortHold, 1)
	err := AbortAll(r.ctx, r.comms...)
	require.ErrorIs(t, err, ErrStuck)
	gpu.Set(fakegpu.AbortHold, 0)
	require.Eventually(t, func() bool { return AbortAll(r.ctx, r.comms...) == nil }, patience, time.Millisecond)
}

// What waits when an abort comes is told to stop.
func TestAbortReleasesWaitingCalls(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{})
	b := r.alloc(0, make([]byte, 64))
	gpu.Set(fakegpu.JobHold, 1)
	errs := make(chan error, 3)
	for range 3 {
		go func() {
			errs <- r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0])
		}()
	}
	require.Eventually(t, func() bool { return len(r.comms[0].turn) == 1 }, patience, time.Millisecond)
	go func() {
		// The abort joins NCCL's thread, which the fakes hold.
		time.Sleep(50 * time.Millisecond)
		gpu.Set(fakegpu.JobHold, 0)
	}()
	require.NoError(t, AbortAll(r.ctx, r.comms...))
	for range 3 {
		if err := <-errs; err != nil {
			assert.True(t, errors.Is(err, ErrAborted) || errors.Is(err, ErrBroken), "%v", err)
		}
	}
}

// The peer's process died during a collective.
func TestAbortWithCollectivesUnderWay(t *testing.T) {
	r := newRig(t, 2, Config{})
	r.connect(1 << 18)
	// Rank 1 never calls.
	b := r.alloc(0, make([]byte, 1<<20))
	require.NoError(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 1<<18, Float32, Sum, r.streams[0]))
	require.ErrorIs(t, r.comms[0].Wait(soon(t), r.streams[0]), context.DeadlineExceeded)
	require.NoError(t, AbortAll(r.ctx, r.comms...))
	require.NoError(t, r.streams[0].Synchronize(r.ctx), "the kernel has left the GPU")
	require.NoError(t, b.Close())
	r.init(Config{})
	r.sumOnce()
}
