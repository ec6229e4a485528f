//go:build linux && cgo

package nccl

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each test here stages a public report of a program that NCCL hung, corrupted
// or killed, and shows that ours is not.

func needs(t testing.TB, major, minor, patch int) {
	t.Helper()
	lib, err := Library()
	require.NoError(t, err)
	if lib.Version < MakeVersion(major, minor, patch) {
		testutil.Skip(t, "needs NCCL "+MakeVersion(major, minor, patch).String())
	}
}

// migrate issues operations from several goroutines that change threads all the
// time, each on its own order of the ranks' work: whole groups.
func (r *rig) migrate(goroutines, rounds int) {
	var all sync.WaitGroup
	var turn sync.Mutex // the ranks issue in one order
	errs := make(chan error, goroutines)
	for range goroutines {
		g := NewGroup()
		for i, c := range r.comms {
			b := r.alloc(i, make([]byte, 64))
			require.NoError(r.t, g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[i]))
		}
		all.Add(1)
		go func() {
			defer all.Done()
			defer g.Close()
			for range rounds {
				runtime.Gosched()
				turn.Lock()
				err := g.Run(r.ctx)
				turn.Unlock()
				if err != nil {
					errs <- err
					return
				}
				if rounds%16 == 0 {
					runtime.GC()
				}
			}
		}()
	}
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(r.t, err)
	}
	r.wait()
}

// nccl#421: GroupStart and GroupEnd on different threads.
// cudarc#578: a group handed to another thread.
func TestGroupIsOneCallOnOneThread(t *testing.T) {
	r := newRig(t, 2, Config{})
	r.migrate(8, 50)
	r.sumOnce()
	// Recorded by one goroutine, run by others.
	g := NewGroup()
	for i, c := range r.comms {
		b := r.alloc(i, make([]byte, 64))
		require.NoError(t, g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[i]))
	}
	for range 5 {
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // and the thread dies with the goroutine
			done <- g.Run(r.ctx)
		}()
		require.NoError(t, <-done)
	}
	r.wait()
	require.NoError(t, g.Close())
}

// openucx/ucx#9581: "invalid device context" after a goroutine moved.
// minio/warp#499: an invalid context, and slower without a word.
func TestContextIsEnteredInsideEachCall(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{})
	foreign := gpu.Count(fakegpu.ForeignStreamUses)
	r.migrate(4, 20)
	bufs := make([]cuda.Span, len(r.comms))
	for i := range bufs {
		bufs[i] = r.alloc(i, make([]byte, 64)).Span()
	}
	require.NoError(t, each(r.comms, func(c *Comm) error {
		b := bufs[c.Rank()]
		for range 100 {
			runtime.Gosched()
			if err := c.AllReduce(r.ctx, b, b, 16, Float32, Sum, r.streams[c.Rank()]); err != nil {
				return err
			}
		}
		return c.Wait(r.ctx, r.streams[c.Rank()])
	}))
	assert.Equal(t, foreign, gpu.Count(fakegpu.ForeignStreamUses))
}

// pytorch#135279: every rank takes a gigabyte on GPU 0.
// torchcomms#777: so does a thread that only watches.
func TestNoContextOnGPUsThatWereNotAskedFor(t *testing.T) {
	gpu := fakes(t)
	made := gpu.Count(fakegpu.ContextsCreated(0))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dev, err := cuda.Open(1)
	require.NoError(t, err)
	s, err := dev.CreateStream(cuda.StreamOptions{})
	require.NoError(t, err)
	comms, err := InitAll(ctx, []*cuda.Device{dev}, Config{})
	require.NoError(t, err)
	b, err := dev.Alloc(64)
	require.NoError(t, err)
	done := make(chan error)
	for range 4 {
		go func() {
			runtime.LockOSThread() // a thread that has never seen CUDA
			err := comms[0].AllReduce(ctx, b.Span(), b.Span(), 16, Float32, Sum, s)
			done <- errors.Join(err, comms[0].Wait(ctx, s), comms[0].AsyncError())
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	require.NoError(t, comms[0].Close(ctx))
	require.NoError(t, dev.CloseAll())
	assert.Equal(t, made, gpu.Count(fakegpu.ContextsCreated(0)))
}

// nccl#1736, nccl#2231: the caller's current context is another one afterwards.
func TestCallersContextIsLeftAlone(t *testing.T) {
	r := newBench(t, 2)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, mine := range []uintptr{0, r.devs[0].Context(), r.devs[1].Context()} {
		require.Zero(t, ccuda.SetCurrent(ccuda.Context(mine)))
		same := func(what string) {
			t.Helper()
			now, code := ccuda.Current()
			require.Zero(t, code)
			require.Equal(t, ccuda.Context(mine), now, what)
		}
		comms, err := InitAll(r.ctx, r.devs, Config{})
		require.NoError(t, err)
		same("InitAll")
		r.comms = comms
		g := NewGroup()
		for i, c := range comms {
			b, err := r.devs[i].Alloc(64)
			require.NoError(t, err)
			require.NoError(t, g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[i]))
		}
		require.NoError(t, g.Run(r.ctx))
		same("Group.Run")
		require.NoError(t, comms[1].Wait(r.ctx, r.streams[1]))
		same("Wait")
		bad := NewGroup()
		require.Error(t, bad.AllReduce(comms[0], cuda.Span{}, cuda.Span{}, 1, Float32, Sum, r.streams[0]))
		same("a refused operation")
		require.NoError(t, bad.Close())
		require.NoError(t, g.Close())
		require.NoError(t, AbortAll(r.ctx, comms...))
		same("Abort")
		require.Zero(t, ccuda.SetCurrent(0))
	}
}

// nccl#1013: aborting one communicator after the other deadlocks.
// nccl#863, nccl#992: abort hangs where only some abort.
func TestAbortAllAtOnceWithWorkUnderWay(t *testing.T) {
	r := newRig(t, 2, Config{})
	// A second communicator over the same devices, busy as well.
	more, err := InitAll(r.ctx, r.devs, Config{})
	require.NoError(t, err)
	for _, comms := range [][]*Comm{r.comms, more} {
		(&rig{t: t, ctx: r.ctx, devs: r.devs, streams: r.streams, comms: comms}).connect(1 << 18)
	}
	b := r.alloc(0, make([]byte, 1<<20))
	s2, err := r.devs[0].CreateStream(cuda.StreamOptions{})
	require.NoError(t, err)
	require.NoError(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 1<<18, Float32, Sum, r.streams[0]))
	require.NoError(t, more[0].AllReduce(r.ctx, b.Span(), b.Span(), 1<<18, Float32, Sum, s2))
	require.NoError(t, AbortAll(r.ctx, append(more, r.comms...)...))
	for _, c := range append(more, r.comms...) {
		assert.ErrorIs(t, c.AsyncError(), ErrAborted)
	}
	r.init(Config{})
	r.sumOnce()
}

// nccl#863: only some abort. Ours returns within its bound.
func TestAbortOfOneRankReturns(t *testing.T) {
	r := newRig(t, 2, Config{AbortTimeout: 10 * time.Second})
	r.connect(16)
	b := r.alloc(0, make([]byte, 64))
	require.NoError(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]))
	begin := time.Now()
	if err := r.comms[0].Abort(r.ctx); err != nil {
		require.ErrorIs(t, err, ErrStuck)
	}
	assert.Less(t, time.Since(begin), 30*time.Second)
	require.NoError(t, AbortAll(r.ctx, r.comms...))
}

// nccl#1797: abort racing init. The start is told, and the abort waits for it.
func TestAbortDuringInit(t *testing.T) {
	gpu := fakes(t)
	live := liveComms(t)
	r := newBench(t, 2)
	gpu.Set(fakegpu.InitHold, 1)
	got := make(chan error)
	go func() {
		_, err := InitAll(r.ctx, r.devs, Config{})
		got <- err
	}()
	require.True(t, gpu.WaitCount(fakegpu.InitsWaiting, 2))
	// Closing a device is how another goroutine reaches what is being made.
	closed := make(chan error)
	go func() { closed <- errors.Join(r.devs[0].CloseAll(), r.devs[1].CloseAll()) }()
	err := <-got
	require.ErrorIs(t, err, ErrAborted)
	require.NoError(t, <-closed)
	assert.Equal(t, live, liveComms(t))
}

// cudarc#584: a second abort panics.
func TestAbortTwiceIsHarmless(t *testing.T) {
	r := newRig(t, 2, Config{})
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			assert.NoError(t, AbortAll(r.ctx, r.comms...))
		}()
	}
	all.Wait()
	require.NoError(t, AbortAll(r.ctx, append(r.comms, r.comms...)...))
	for _, c := range r.comms {
		require.NoError(t, c.Abort(r.ctx))
		require.NoError(t, c.Close(r.ctx))
		require.NoError(t, c.CloseAll())
	}
}

// vllm#39846: abort spins while captured graphs live.
func TestAbortClosesGraphsFirst(t *testing.T) {
	r := newRig(t, 2, Config{})
	execs := r.capture()
	for i, x := range execs {
		require.NoError(t, x.Launch(r.streams[i]))
	}
	r.wait()
	err := r.comms[0].Close(r.ctx)
	require.ErrorIs(t, err, ErrBusy)
	assert.Contains(t, err.Error(), "graph")
	require.ErrorIs(t, r.comms[0].Finalize(r.ctx), ErrBusy)
	require.NoError(t, AbortAll(r.ctx, r.comms...))
	for i, x := range execs {
		require.ErrorIs(t, x.Launch(r.streams[i]), cuda.ErrClosed)
	}
	r.init(Config{})
	r.sumOnce()
}

// capture records one all-reduce of every rank and returns the executable graphs.
func (r *rig) capture() []*cuda.GraphExec {
	r.t.Helper()
	g := NewGroup()
	for i, c := range r.comms {
		b := r.alloc(i, make([]byte, 64))
		require.NoError(r.t, g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[i]))
		require.NoError(r.t, r.streams[i].BeginCapture(cuda.CaptureRelaxed))
	}
	require.NoError(r.t, g.Run(r.ctx))
	require.NoError(r.t, g.Close())
	var execs []*cuda.GraphExec
	for _, s := range r.streams {
		graph, err := s.EndCapture()
		require.NoError(r.t, err)
		x, err := graph.Instantiate()
		require.NoError(r.t, err)
		require.NoError(r.t, graph.Close())
		execs = append(execs, x)
	}
	return execs
}

func TestGraphsCloseBeforeWhatTheyUse(t *testing.T) {
	r := newRig(t, 2, Config{})
	needs(t, 2, 19, 1)
	c := r.comms[0]
	b := r.alloc(0, make([]byte, 4096))
	reg, err := c.Register(r.ctx, b.Span())
	require.NoError(t, err)
	op, err := c.CreatePreMulSum(r.ctx, Float32, 2)
	require.NoError(t, err)
	execs := r.capture()
	require.ErrorIs(t, reg.Close(), ErrBusy)
	require.ErrorIs(t, op.Close(), ErrBusy)
	for _, x := range execs {
		require.NoError(t, x.Close())
	}
	require.NoError(t, reg.Close())
	require.NoError(t, op.Close())
}

// vllm#4508: the collector destroys a communicator, which takes all ranks.
func TestCollectorDestroysNothing(t *testing.T) {
	gpu := fakes(t)
	before := gpu.Count(fakegpu.LiveComms)
	r := newBench(t, 2)
	comms, err := InitAll(r.ctx, r.devs, Config{})
	require.NoError(t, err)
	clear(comms)
	for range 3 {
		runtime.GC()
	}
	assert.Equal(t, before+2, gpu.Count(fakegpu.LiveComms))
	// Their device still knows them.
	for _, dev := range r.devs {
		require.ErrorIs(t, dev.Close(), cuda.ErrBusy)
	}
	require.NoError(t, errors.Join(closeDevices(r.devs)...))
	assert.Equal(t, before, gpu.Count(fakegpu.LiveComms))
}

// closeDevices closes devices with everything on them, all at once: the
// communicators' ranks wait for each other.
func closeDevices(devs []*cuda.Device) []error {
	errs := make([]error, len(devs))
	var all sync.WaitGroup
	for i, dev := range devs {
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = dev.CloseAll()
		}()
	}
	all.Wait()
	return errs
}

// pytorch#141510: abort used as the normal exit. Close finishes what is issued.
func TestCloseWaitsForWork(t *testing.T) {
	r := newRig(t, 2, Config{})
	const count = 1 << 16
	g := NewGroup()
	bufs := make([]*cuda.Buffer, len(r.comms))
	for i, c := range r.comms {
		bufs[i] = r.alloc(i, elements(t, Float32, count, func(j int) float64 { return sample(i, j) }))
		require.NoError(t, g.AllReduce(c, bufs[i].Span(), bufs[i].Span(), count, Float32, Sum, r.streams[i]))
	}
	require.NoError(t, g.Run(r.ctx))
	require.NoError(t, each(r.comms, func(c *Comm) error { return c.Close(r.ctx) }))
	require.NoError(t, g.Close())
	want := elements(t, Float32, count, func(i int) float64 { return reduced(Sum, len(r.comms), i) })
	for i, b := range bufs {
		assert.Equal(t, want, r.read(i, b.Span()))
	}
}

// nccl#1976: the per-thread default stream corrupts data.
func TestPerThreadStreamIsRefused(t *testing.T) {
	r := newRig(t, 2, Config{})
	s, err := r.devs[0].WrapStream(2)
	require.NoError(t, err)
	b := r.alloc(0, make([]byte, 64))
	err = r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, s)
	require.ErrorIs(t, err, ResultInvalidArgument)
	assert.Contains(t, err.Error(), "cudaStreamPerThread")
}

// cupy#8661: a result that the binding does not know raises KeyError.
func TestUnknownResultIsAnError(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{Blocking: true})
	b := r.alloc(0, make([]byte, 64))
	require.NoError(t, gpu.Fail("ncclAllReduce", 99, 0, 1))
	err := r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0])
	require.ErrorIs(t, err, Result(99))
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, Result(99), e.Code)
	assert.Contains(t, err.Error(), "ncclResult 99")
	require.ErrorIs(t, r.comms[0].AsyncError(), ErrBroken)
	require.NoError(t, AbortAll(r.ctx, r.comms...))
}

// nccl#1757: a signal during the start failed it, in 2.19 to 2.25. It cannot be
// prevented from here; it is a typed error, and leaves nothing.
func TestInterruptedInitIsAnError(t *testing.T) {
	gpu := fakes(t)
	live := liveComms(t)
	r := newBench(t, 2)
	gpu.Set(fakegpu.Interrupted, 1)
	lib, err := Library()
	require.NoError(t, err)
	comms, err := InitAll(r.ctx, r.devs, Config{})
	gpu.Set(fakegpu.Interrupted, 0)
	if lib.Version < MakeVersion(2, 19, 0) || lib.Version >= MakeVersion(2, 26, 0) {
		require.NoError(t, err)
		require.NoError(t, AbortAll(r.ctx, comms...))
		return
	}
	require.ErrorIs(t, err, ResultSystemError)
	assert.Equal(t, live, liveComms(t))
	r.init(Config{})
	r.sumOnce()
}

// nccl#744, nccl#787: allocation while the ranks of one process issue one by one
// hangs. One group for all ranks does not.
func TestGroupIssuesAllRanksBeforeAllocation(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{})
	needs(t, 2, 19, 1)
	gpu.Set(fakegpu.AllocSync, 1)
	g := NewGroup()
	for i, c := range r.comms {
		b := r.alloc(i, make([]byte, 64))
		require.NoError(t, g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[i]))
	}
	for range 20 {
		require.NoError(t, g.Run(r.ctx))
		m, err := MemAlloc(r.devs[0], 1<<16)
		require.NoError(t, err)
		require.NoError(t, m.Close())
	}
	r.wait()
	require.NoError(t, g.Close())
}

// nccl#2289: two versions of NCCL in one process.
func TestOneLibraryAndItsPathAndVersionAreKnown(t *testing.T) {
	info, err := Library()
	require.NoError(t, err)
	assert.NotEmpty(t, info.Path)
	assert.GreaterOrEqual(t, info.Version, MakeVersion(2, 14, 3))
	again, err := Load(LoadOptions{Path: info.Path})
	require.NoError(t, err)
	assert.Equal(t, info, again)
	_, err = Load(LoadOptions{Path: info.Path + ".other"})
	require.ErrorIs(t, err, ResultInvalidArgument)
	assert.Contains(t, err.Error(), info.Path)
	assert.Contains(t, err.Error(), info.Version.String())
}

// nccl#795: the death of a peer seen as an internal error. What NCCL says is what
// the program sees.
func TestRemoteErrorStaysARemoteError(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{})
	b := r.alloc(0, make([]byte, 64))
	gpu.Set(fakegpu.CollectiveHold, 1)
	require.NoError(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]))
	gpu.Set(fakegpu.DeadRanks, 1<<1)
	err := r.comms[0].Wait(r.ctx, r.streams[0])
	require.ErrorIs(t, err, ResultRemoteError)
	err = r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0])
	require.ErrorIs(t, err, ErrBroken)
	require.ErrorIs(t, err, ResultRemoteError)
	gpu.Set(fakegpu.DeadRanks, 0)
	gpu.Set(fakegpu.CollectiveHold, 0)
	require.NoError(t, AbortAll(r.ctx, r.comms...))
	r.init(Config{})
	r.sumOnce()
}
