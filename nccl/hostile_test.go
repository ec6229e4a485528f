//go:build linux && cgo

package nccl

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// begin has the ranks begin a reduction that does not end.
func (r *rig) begin(gpu *fakegpu.Control) {
	r.t.Helper()
	r.connect(16)
	gpu.Set(fakegpu.CollectiveHold, 1)
	g := NewGroup()
	for i, c := range r.comms {
		b := r.alloc(i, make([]byte, 64))
		require.NoError(r.t, g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[i]))
	}
	require.NoError(r.t, g.Run(r.ctx))
	require.NoError(r.t, g.Close())
}

// An abort ends the kernels, so the stream is done; the data is not.
func TestWaitTellsOfAnAbort(t *testing.T) {
	gpu := fakes(t)
	for range 20 {
		r := newRig(t, 2, Config{})
		r.begin(gpu)
		waited := make(chan error, 2)
		for i, c := range r.comms {
			go func() { waited <- c.Wait(r.ctx, r.streams[i]) }()
		}
		time.Sleep(3 * time.Millisecond)
		require.NoError(t, AbortAll(r.ctx, r.comms...))
		for range 2 {
			require.ErrorIs(t, <-waited, ErrAborted)
		}
		gpu.Set(fakegpu.CollectiveHold, 0)
	}
}

func TestWaitTellsOfARevocation(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{})
	needs(t, 2, 28, 7)
	r.begin(gpu)
	waited := make(chan error, 2)
	for i, c := range r.comms {
		go func() { waited <- c.Wait(r.ctx, r.streams[i]) }()
	}
	time.Sleep(3 * time.Millisecond)
	require.NoError(t, each(r.comms, func(c *Comm) error { return c.Revoke(r.ctx) }))
	for range 2 {
		require.ErrorIs(t, <-waited, ErrRevoked)
	}
	gpu.Set(fakegpu.CollectiveHold, 0)
}

func TestAbortWithoutAContext(t *testing.T) {
	r := newRig(t, 1, Config{})
	require.ErrorIs(t, r.comms[0].Abort(noContext), ResultInvalidArgument)
	require.NoError(t, r.comms[0].AsyncError())
}

// The context of a program that is being stopped has ended, and it aborts.
func TestAbortWithAContextThatHasEnded(t *testing.T) {
	live := liveComms(t)
	for range rounds(20) {
		r := newRig(t, 1, Config{})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := r.comms[0].Abort(ctx)
		if err != nil {
			require.ErrorIs(t, err, ErrStuck)
		}
		require.Eventually(t, func() bool { return liveComms(t) == live }, time.Second, time.Millisecond, "the abort began: %v", err)
		require.NoError(t, r.comms[0].Abort(r.ctx))
	}
}

// Two aborts of one communicator are each bounded by their own context.
func TestEachAbortHasItsOwnBound(t *testing.T) {
	r := newRig(t, 1, Config{AbortTimeout: time.Hour})
	c := r.comms[0]
	require.NoError(t, c.lock(r.ctx)) // stands for a call inside NCCL
	first := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { first <- c.Abort(ctx) }()
	<-c.stop
	time.Sleep(10 * time.Millisecond)
	second := make(chan error, 1)
	go func() { second <- c.Abort(soon(t)) }()
	select {
	case err := <-second:
		require.ErrorIs(t, err, ErrStuck)
	case <-time.After(5 * time.Second):
		t.Error("the second abort waits as long as the first")
	}
	cancel()
	require.ErrorIs(t, <-first, ErrStuck)
	c.unlock()
	require.NoError(t, c.Abort(r.ctx))
}

// NCCL's numbers have 32 bits.
func TestNumbersBeyondNCCLsAreRefused(t *testing.T) {
	r := newRig(t, 1, Config{})
	c, ctx := r.comms[0], r.ctx
	const big = 1 << 32
	id, err := NewUniqueID()
	require.NoError(t, err)
	for name, call := range map[string]func() error{
		"color": func() error { _, err := c.Split(ctx, big, 0, Config{}); return err },
		"color that turns negative": func() error {
			_, err := c.Split(ctx, math.MaxUint32, 0, Config{})
			return err
		},
		"key":      func() error { _, err := c.Split(ctx, 0, big, Config{}); return err },
		"low key":  func() error { _, err := c.Split(ctx, 0, -big, Config{}); return err },
		"size":     func() error { _, err := InitRank(ctx, r.devs[0], id, 0, big+1, Config{}); return err },
		"growth":   func() error { _, err := c.Grow(soon(t), big+2, &id, Config{}); return err },
		"MinCTAs":  func() error { _, err := c.Split(ctx, 0, 0, Config{MinCTAs: big, MaxCTAs: big}); return err },
		"NVLSCTAs": func() error { _, err := c.Split(ctx, 0, 0, Config{NVLSCTAs: big}); return err },
		"negative": func() error { _, err := c.Split(ctx, 0, 0, Config{NVLSCTAs: -1}); return err },
		"CGAClusterSize": func() error {
			_, err := c.Split(ctx, 0, 0, Config{CGAClusterSize: Int(big)})
			return err
		},
		"unset": func() error {
			_, err := c.Split(ctx, 0, 0, Config{TrafficClass: Int(math.MinInt32)})
			return err
		},
	} {
		assert.ErrorIs(t, call(), ResultInvalidArgument, name)
	}
	r.sumOnce()
}

func TestNumbersOfWindowsAndSignalsBeyondNCCLs(t *testing.T) {
	r := newRig(t, 1, Config{})
	needs(t, 2, 29, 2)
	c, ctx := r.comms[0], r.ctx
	const big = 1 << 32
	assert.ErrorIs(t, c.WaitSignal(ctx, []SignalWait{{Peer: 0, Count: big}}, r.streams[0]), ResultInvalidArgument)
	m, err := MemAlloc(r.devs[0], 1<<21)
	require.NoError(t, err)
	w, err := c.RegisterWindow(ctx, m.Span(), WindowSymmetric)
	require.NoError(t, err)
	_, err = w.PeerPointer(ctx, 0, big)
	assert.ErrorIs(t, err, ResultInvalidArgument)
	_, err = w.LSAPointer(ctx, 0, big)
	assert.ErrorIs(t, err, ResultInvalidArgument)
	require.NoError(t, w.Close())
	require.NoError(t, m.Close())
	r.sumOnce()
}

// A graph that is instantiated while its communicator is aborted is closed too,
// or refused.
func TestInstantiateBesideAbort(t *testing.T) {
	for range rounds(40) {
		r := newRig(t, 1, Config{})
		r.connect(16)
		b := r.alloc(0, make([]byte, 64))
		s := r.streams[0]
		require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed))
		require.NoError(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, s))
		graph, err := s.EndCapture()
		require.NoError(t, err)
		done := make(chan struct{})
		started := make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				if _, err := graph.Instantiate(); err != nil {
					return
				}
				if i == 3 {
					close(started)
				}
			}
		}()
		<-started
		require.NoError(t, r.comms[0].Abort(r.ctx))
		<-done
		require.NoError(t, r.devs[0].CloseAll())
	}
}

// The capture ends in another goroutine while its communicator is aborted.
func TestEndCaptureBesideAbort(t *testing.T) {
	for range rounds(60) {
		r := newRig(t, 1, Config{})
		r.connect(16)
		b := r.alloc(0, make([]byte, 64))
		s := r.streams[0]
		require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed))
		require.NoError(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, s))
		done := make(chan struct{})
		go func() {
			defer close(done)
			if graph, err := s.EndCapture(); err == nil {
				_, _ = graph.Instantiate()
			}
		}()
		require.NoError(t, r.comms[0].Abort(r.ctx))
		<-done
		require.NoError(t, r.devs[0].CloseAll())
	}
}

// Every method of everything that was never made answers, and nothing panics.
func TestZeroValuesAnswer(t *testing.T) {
	if !realGPU() {
		useFakes(t)
	}
	type contextType = context.Context
	for _, zero := range []any{&Comm{}, &Group{}, &Window{}, &Registration{}, &CustomOp{}, &Memory{}} {
		v := reflect.ValueOf(zero)
		for i := range v.NumMethod() {
			name := v.Type().Elem().Name() + "." + v.Type().Method(i).Name
			for _, ctx := range []context.Context{context.Background(), noContext} {
				args := make([]reflect.Value, v.Method(i).Type().NumIn())
				for k := range args {
					in := v.Method(i).Type().In(k)
					args[k] = reflect.Zero(in)
					if in == reflect.TypeFor[contextType]() && ctx != nil {
						args[k] = reflect.ValueOf(ctx)
					}
				}
				assert.NotPanics(t, func() { v.Method(i).Call(args) }, name)
			}
		}
	}
	// Arguments that were never made.
	r := newRig(t, 1, Config{})
	c, ctx := r.comms[0], r.ctx
	b := r.alloc(0, make([]byte, 64)).Span()
	id := UniqueID{}
	for name, call := range map[string]func() error{
		"stream":  func() error { return c.AllReduce(ctx, b, b, 1, Float32, Sum, &cuda.Stream{}) },
		"wait":    func() error { return c.Wait(ctx, &cuda.Stream{}) },
		"device":  func() error { _, err := InitRank(ctx, &cuda.Device{}, id, 0, 1, Config{}); return err },
		"devices": func() error { _, err := InitAll(ctx, []*cuda.Device{{}}, Config{}); return err },
		"memory":  func() error { _, err := MemAlloc(&cuda.Device{}, 64); return err },
		"window": func() error {
			return c.PutSignal(ctx, b, 1, Float32, 0, &Window{}, 0, SignalOptions{}, r.streams[0])
		},
		"abort": func() error { return AbortAll(ctx, nil) },
	} {
		assert.NotPanics(t, func() { assert.Error(t, call(), name) }, name)
	}
	assert.NoError(t, AbortAll(ctx, &Comm{}))
	r.sumOnce()
}

// A capture does not begin on a stream while NCCL is still at work on what goes
// there, be it in a call or after one that was given up: the graph would hold the
// communicator's work without anybody knowing.
func TestCaptureKeepsClearOfWorkUnderWay(t *testing.T) {
	gpu := fakes(t)
	for name, issue := range map[string]func(r *rig, ctx context.Context, b cuda.Span) error{
		"operation": func(r *rig, ctx context.Context, b cuda.Span) error {
			return r.comms[0].AllReduce(ctx, b, b, 16, Float32, Sum, r.streams[0])
		},
		"group": func(r *rig, ctx context.Context, b cuda.Span) error {
			g := NewGroup()
			defer g.Close()
			if err := g.AllReduce(r.comms[0], b, b, 16, Float32, Sum, r.streams[0]); err != nil {
				return err
			}
			return g.Run(ctx)
		},
	} {
		r := newRig(t, 1, Config{})
		r.connect(16)
		b := r.alloc(0, make([]byte, 64))
		s := r.streams[0]
		gpu.Set(fakegpu.JobHold, 1)
		ctx, cancel := context.WithCancel(r.ctx)
		given := make(chan error, 1)
		go func() { given <- issue(r, ctx, b.Span()) }()
		require.Eventually(t, func() bool {
			err := s.BeginCapture(cuda.CaptureRelaxed)
			if err == nil {
				graph, err := s.EndCapture()
				require.NoError(t, err)
				require.NoError(t, graph.Close())
			}
			return errors.Is(err, cuda.ErrorIllegalState)
		}, patience, time.Millisecond, name)
		cancel()
		require.ErrorIs(t, <-given, context.Canceled, name)
		require.ErrorIs(t, s.BeginCapture(cuda.CaptureRelaxed), cuda.ErrorIllegalState, name)
		other, err := r.devs[0].CreateStream(cuda.StreamOptions{})
		require.NoError(t, err)
		require.NoError(t, other.BeginCapture(cuda.CaptureRelaxed), "another stream has nothing to do with it")
		e, err := r.devs[0].CreateEvent(cuda.EventOptions{})
		require.NoError(t, err)
		require.NoError(t, e.Record(other))
		require.ErrorIs(t, s.WaitEvent(e), cuda.ErrorIllegalState, "joining is beginning")
		graph, err := other.EndCapture()
		require.NoError(t, err)
		require.NoError(t, graph.Close())
		gpu.Set(fakegpu.JobHold, 0)
		require.NoError(t, r.comms[0].Abort(r.ctx))
		require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed), "after the abort nothing comes")
		graph, err = s.EndCapture()
		require.NoError(t, err)
		require.NoError(t, graph.Close())
	}
}

// Two groups that name two streams in opposite orders take them in one order, so
// that two closes in between cannot stop both for good.
func TestGroupsTakeStreamsInOneOrder(t *testing.T) {
	r := newRig(t, 1, Config{})
	more, err := r.devs[0].CreateStream(cuda.StreamOptions{})
	require.NoError(t, err)
	b := r.alloc(0, make([]byte, 64)).Span()
	streams := []*cuda.Stream{r.devs[0].NullStream(), r.streams[0], more}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0, 1}} {
		g := NewGroup()
		for _, i := range order {
			require.NoError(t, g.AllReduce(r.comms[0], b, b, 16, Float32, Sum, streams[i]))
		}
		assert.Equal(t, streams, g.streams)
		require.NoError(t, g.Close())
	}
}

// An abort that comes between the beginning of Close and NCCL: nothing is
// destroyed that was not finalized, which would wait for ranks that abort.
func TestAbortJustBeforeDestroy(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{AbortTimeout: 5 * time.Second})
	r.begin(gpu)
	c := r.comms[0]
	require.NoError(t, c.lock(r.ctx)) // as Close has it
	c.tell()
	err := c.destroy(r.ctx)
	require.ErrorIs(t, err, ErrAborted)
	c.unlock()
	require.NoError(t, AbortAll(r.ctx, r.comms...))
	gpu.Set(fakegpu.CollectiveHold, 0)
}

// A refusal that harms nothing leaves nothing behind until the end either.
func TestRefusedUniqueIDsTakeNoMemory(t *testing.T) {
	r := newRig(t, 1, Config{Blocking: true})
	c := r.comms[0]
	gpu := fakes(t)
	for range 10 {
		if c.lib.supported[cnccl.FnCommGetUniqueId] {
			require.NoError(t, gpu.Fail("ncclCommGetUniqueId", int(ResultInvalidArgument), 0, 1))
		}
		_, err := c.UniqueID(r.ctx)
		require.Error(t, err)
	}
	assert.Empty(t, c.orphans)
	r.sumOnce()
}

// A stream that is closed while NCCL is inside a call with it: the close says so
// at once, and stops nobody else.
func TestStreamClosedUnderACall(t *testing.T) {
	gpu := fakes(t)
	r := newBench(t, 1)
	b := r.alloc(0, make([]byte, 64)) // older than the communicator, and closed after it
	r.init(Config{AbortTimeout: 10 * time.Second})
	r.connect(16)
	s, err := r.devs[0].CreateStream(cuda.StreamOptions{})
	require.NoError(t, err)
	gpu.Set(fakegpu.JobHold, 1)
	done := make(chan error, 1)
	go func() {
		done <- r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, s)
	}()
	require.Eventually(t, func() bool {
		if len(r.comms[0].turn) == 0 {
			return false
		}
		if s.BeginCapture(cuda.CaptureRelaxed) != nil {
			return true
		}
		_, _ = s.EndCapture() // the call has not come to the stream yet
		return false
	}, patience, time.Millisecond)
	require.ErrorIs(t, s.Close(), ErrBusy)
	if err := r.comms[0].Wait(soon(t), s); err != nil {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	// The newest goes first, and the stream is newer than the communicator.
	time.AfterFunc(50*time.Millisecond, func() { gpu.Set(fakegpu.JobHold, 0) })
	require.NoError(t, r.devs[0].CloseAll())
	if err := <-done; err != nil { // it may have been issued just before
		require.ErrorIs(t, err, ErrAborted)
	}
}
