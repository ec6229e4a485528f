//go:build linux && cgo

package gpulab

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// What hangs in NCCL, or dies, does so in a process of its own. Each of these
// roles shows how long a call took that had to come back, and that the process
// makes a working communicator afterwards.

// patience is what a call that must come back is given by its context.
var patience = func() time.Duration {
	if realGPU {
		return 2 * time.Second
	}
	return 300 * time.Millisecond
}()

const (
	// abortBound is what an abort has: it is the AbortTimeout here.
	abortBound = 10 * time.Second
	// slack is what a bounded call may take longer, on a busy machine.
	slack = 3 * time.Second
)

// bounded runs f, which must be over in time, and tells how long it took.
func bounded(p *process, what string, bound time.Duration, f func()) time.Duration {
	start := time.Now()
	f()
	took := time.Since(start)
	assert.Less(p, took, bound+slack, what)
	return took
}

func runRole(t *testing.T, name string, need int) {
	t.Helper()
	begin(t, need, 90*time.Second)
	require.NoError(t, launch(t, role(name, time.Minute)).wait())
}

// A rank that never comes: the start ends with its context, and leaves nothing.
func TestRankThatNeverComes(t *testing.T) { runRole(t, "absent", 1) }

func absentRole(p *process) {
	r := newBench(p, gpus(p))
	id, err := nccl.NewUniqueID()
	require.NoError(p, err)
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	took := bounded(p, "the start", patience+abortBound, func() {
		_, err = nccl.InitRank(ctx, r.devs[0], id, 0, 2, nccl.Config{AbortTimeout: abortBound})
	})
	require.ErrorIs(p, err, context.DeadlineExceeded)
	require.NotErrorIs(p, err, nccl.ErrStuck)
	r.init(nccl.Config{})
	r.sumOnce()

	// Nor does a rank come to a split.
	split := time.Duration(0)
	if len(r.devs) > 1 {
		ctx, cancel := context.WithTimeout(r.ctx, patience)
		defer cancel()
		split = bounded(p, "the split", patience, func() {
			_, err = r.comms[0].Split(ctx, 0, 0, nccl.Config{})
		})
		require.ErrorIs(p, err, context.DeadlineExceeded)
		split += bounded(p, "the abort", abortBound, func() { require.NoError(p, nccl.AbortAll(r.ctx, r.comms...)) })
		r.init(nccl.Config{})
		r.sumOnce()
	}
	figure("a rank that never comes: start with a context of %v back after %.3f s with its clean-up; split and abort %.3f s; a new communicator works",
		patience, took.Seconds(), split.Seconds())
}

// A peer's process dies during a collective.
func TestPeerKilledDuringCollective(t *testing.T) {
	begin(t, 2, 90*time.Second)
	port := freePort(t)
	survivor := launch(t, role("survivor", time.Minute, torchVariables(0, port)...))
	victim := launch(t, role("victim", time.Minute, torchVariables(1, port)...))
	err := survivor.wait()
	require.True(t, victim.killed(), "the victim was to be killed: %v\n%s", victim.err, victim.said())
	require.NoError(t, err)
}

// killBytes is the size of the collectives during which the victim dies.
func killBytes() uint64 {
	if realGPU {
		return 512 << 20
	}
	return 1 << 16
}

const killRounds = 40

func victimRole(p *process) {
	j := joinJob(p)
	c, s := j.comms[0], j.streams[0]
	b := j.alloc(0, killBytes())
	require.NoError(p, sumAlone(j.ctx, c, s, 2, 3))
	require.NoError(p, j.session.Barrier(j.ctx))
	for range killRounds / 2 {
		require.NoError(p, c.AllReduce(j.ctx, b, b, int(b.Len/4), nccl.Float32, nccl.Sum, s))
	}
	// The first of them are under way, and as many again are to come.
	require.NoError(p, syscall.Kill(os.Getpid(), syscall.SIGKILL))
	select {}
}

func survivorRole(p *process) {
	j := joinJob(p)
	c, s := j.comms[0], j.streams[0]
	b := j.alloc(0, killBytes())
	require.NoError(p, sumAlone(j.ctx, c, s, 1, 3))
	require.NoError(p, j.session.Barrier(j.ctx))
	var err error
	noticed := bounded(p, "the wait", patience, func() {
		ctx, cancel := context.WithTimeout(j.ctx, patience)
		defer cancel()
		for range killRounds {
			if err = c.AllReduce(ctx, b, b, int(b.Len/4), nccl.Float32, nccl.Sum, s); err != nil {
				return
			}
		}
		err = c.Wait(ctx, s)
	})
	require.Error(p, err, "the peer is dead, and the collectives ended well")
	how := "the context's end"
	var code *nccl.Error
	if errors.As(err, &code) {
		// nccl#795: what NCCL says is what the program sees.
		how = code.Error()
	} else {
		require.ErrorIs(p, err, context.DeadlineExceeded)
	}
	abort := bounded(p, "the abort", abortBound, func() { require.NoError(p, c.Abort(j.ctx)) })
	settle := bounded(p, "the stream", abortBound, func() {
		ctx, cancel := context.WithTimeout(context.Background(), abortBound)
		defer cancel()
		require.NoError(p, s.Synchronize(ctx), "the kernel has left the GPU")
	})
	// The dead process has left its GPU too: both make a new communicator.
	for i := 1; i < gpus(p); i++ {
		j.open(i)
	}
	j.init(nccl.Config{})
	j.sumOnce()
	figure("peer killed during %d MiB collectives: noticed after %.3f s by %s; abort %.3f s, stream idle after %.3f s more; a new communicator works",
		killBytes()>>20, noticed.Seconds(), how, abort.Seconds(), settle.Seconds())
	// The other side of the session is dead: what it says about that is no matter.
	_ = j.session.Close()
	os.Exit(exitCode(p))
}

func exitCode(p *process) int {
	if p.failed {
		return 1
	}
	return 0
}

// vllm#39846: abort spins while captured graphs live. cudarc#584: and a second one
// panics.
func TestAbortWithGraphsAlive(t *testing.T) { runRole(t, "abort-graphs", 1) }

func abortGraphsRole(p *process) {
	r := newBench(p, gpus(p))
	for _, running := range []bool{false, true} {
		r.init(nccl.Config{AbortTimeout: abortBound})
		g := nccl.NewGroup()
		for i, c := range r.comms {
			b := r.alloc(i, 1<<20)
			require.NoError(p, g.AllReduce(c, b, b, 1<<18, nccl.Float32, nccl.Sum, r.streams[i]))
		}
		execs := r.capture(func() error { return g.Run(r.ctx) })
		for range 3 {
			for i, x := range execs {
				require.NoError(p, x.Launch(r.streams[i]))
			}
		}
		require.NoError(p, r.wait())
		if running && len(execs) > 1 {
			// Only rank 0's is launched: it waits on the GPU for the other.
			require.NoError(p, execs[0].Launch(r.streams[0]))
			ctx, cancel := context.WithTimeout(r.ctx, 100*time.Millisecond)
			require.ErrorIs(p, r.comms[0].Wait(ctx, r.streams[0]), context.DeadlineExceeded)
			cancel()
		}
		err := r.comms[0].Close(r.ctx)
		require.ErrorIs(p, err, nccl.ErrBusy)
		took := bounded(p, "the abort", abortBound, func() { require.NoError(p, nccl.AbortAll(r.ctx, r.comms...)) })
		require.ErrorIs(p, execs[0].Launch(r.streams[0]), cuda.ErrClosed)
		again := bounded(p, "more aborts", time.Second, func() {
			for range 3 {
				require.NoError(p, nccl.AbortAll(r.ctx, r.comms...))
				require.NoError(p, r.comms[0].Close(r.ctx))
			}
		})
		require.NoError(p, g.Close())
		for _, s := range r.streams {
			require.NoError(p, s.Synchronize(r.ctx))
		}
		r.init(nccl.Config{})
		r.sumOnce()
		figure("abort with captured graphs alive (one of them running: %v): %.3f s; three more aborts %.6f s; a new communicator works",
			running && len(execs) > 1, took.Seconds(), again.Seconds())
	}
}

// nccl#863, nccl#992, nccl#1013: work that hangs, several communicators, and
// only some abort at first.
func TestAbortOfWorkThatHangs(t *testing.T) { runRole(t, "abort-busy", 2) }

func abortBusyRole(p *process) {
	r := newRig(p, gpus(p), nccl.Config{AbortTimeout: abortBound})
	second, err := nccl.InitAll(r.ctx, r.devs, nccl.Config{AbortTimeout: abortBound})
	require.NoError(p, err)
	r.adopt(second)
	other, err := r.devs[0].CreateStream(cuda.StreamOptions{})
	require.NoError(p, err)
	b := r.alloc(0, 64<<20)
	// The first work of a communicator connects it, which takes all ranks.
	r.sumOnce()
	r.sub(second).sumOnce()
	// Rank 1 joins neither.
	require.NoError(p, r.comms[0].AllReduce(r.ctx, b, b, 1<<20, nccl.Float32, nccl.Sum, r.streams[0]))
	require.NoError(p, second[0].AllReduce(r.ctx, b, b, 1<<20, nccl.Float32, nccl.Sum, other))
	ctx, cancel := context.WithTimeout(r.ctx, 100*time.Millisecond)
	require.ErrorIs(p, r.comms[0].Wait(ctx, r.streams[0]), context.DeadlineExceeded)
	cancel()
	// One rank of one of them, alone.
	one := bounded(p, "the abort of one rank", abortBound, func() {
		if err := r.comms[0].Abort(r.ctx); err != nil {
			require.ErrorIs(p, err, nccl.ErrStuck)
			figure("abort of one rank alone: %v", err)
		}
	})
	all := bounded(p, "the abort of all", abortBound, func() {
		require.NoError(p, nccl.AbortAll(r.ctx, append(second, r.comms...)...))
	})
	for _, s := range append(r.streams, other) {
		require.NoError(p, s.Synchronize(r.ctx))
	}
	r.init(nccl.Config{})
	r.sumOnce()
	figure("abort of a collective that hangs: one rank of one communicator alone %.3f s, the rest of two together %.3f s; a new communicator works",
		one.Seconds(), all.Seconds())
}
