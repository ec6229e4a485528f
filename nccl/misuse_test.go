//go:build linux && cgo

package nccl

import (
	"context"
	"math"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var noContext context.Context

func TestArgumentsAreCheckedBeforeNCCL(t *testing.T) {
	r := newRig(t, 2, Config{})
	c, s, ctx := r.comms[0], r.streams[0], r.ctx
	span := func(b *cuda.Buffer, off, n uint64) cuda.Span {
		return cuda.Span{Addr: b.Span().Addr + off, Len: n}
	}
	b := r.alloc(0, make([]byte, 4096))
	whole := b.Span()
	other := r.alloc(0, make([]byte, 4096)).Span()
	for name, call := range map[string]func() error{
		"short send": func() error { return c.AllReduce(ctx, span(b, 0, 63), other, 16, Float32, Sum, s) },
		"short receive": func() error {
			return c.AllReduce(ctx, whole, cuda.Span{Addr: other.Addr, Len: 63}, 16, Float32, Sum, s)
		},
		"short gathered": func() error { return c.AllGather(ctx, span(b, 0, 4096), other, 1024, Float32, s) },
		"short to scatter": func() error {
			return c.ReduceScatter(ctx, whole, other, 1024, Float32, Sum, s)
		},
		"negative count":  func() error { return c.AllReduce(ctx, whole, other, -1, Float32, Sum, s) },
		"count overflows": func() error { return c.AllGather(ctx, whole, other, math.MaxInt, Float64, s) },
		"span wraps": func() error {
			return c.AllReduce(ctx, cuda.Span{Addr: math.MaxUint64 - 10, Len: 64}, other, 16, Float32, Sum, s)
		},
		"no address":    func() error { return c.AllReduce(ctx, cuda.Span{Len: 64}, other, 16, Float32, Sum, s) },
		"bad type":      func() error { return c.AllReduce(ctx, whole, other, 1, DataType(55), Sum, s) },
		"bad reduction": func() error { return c.AllReduce(ctx, whole, other, 1, Float32, RedOp(7), s) },
		"no such custom reduction": func() error {
			return c.AllReduce(ctx, whole, other, 1, Float32, firstCustomOp+1<<20, s)
		},
		"root too great":   func() error { return c.Broadcast(ctx, whole, other, 1, Float32, 2, s) },
		"root negative":    func() error { return c.Reduce(ctx, whole, other, 1, Float32, Sum, -1, s) },
		"peer too great":   func() error { return c.Send(ctx, whole, 1, Float32, 2, s) },
		"no stream":        func() error { return c.AllReduce(ctx, whole, other, 1, Float32, Sum, nil) },
		"foreign stream":   func() error { return c.AllReduce(ctx, whole, other, 1, Float32, Sum, r.streams[1]) },
		"overlap":          func() error { return c.AllReduce(ctx, whole, span(b, 4, 64), 16, Float32, Sum, s) },
		"gather elsewhere": func() error { return c.AllGather(ctx, span(b, 8, 64), span(b, 0, 128), 16, Float32, s) },
		"nil context":      func() error { return c.AllReduce(noContext, whole, other, 1, Float32, Sum, s) },
		"wait without stream": func() error {
			return c.Wait(ctx, nil)
		},
		"empty region":      func() error { _, err := c.Register(ctx, cuda.Span{}); return err },
		"shrink of nobody":  func() error { _, err := c.Shrink(ctx, nil, ShrinkDefault, Config{}); return err },
		"shrink of oneself": func() error { _, err := c.Shrink(ctx, []int{0}, ShrinkDefault, Config{}); return err },
		"shrink of 7":       func() error { _, err := c.Shrink(ctx, []int{7}, ShrinkDefault, Config{}); return err },
		"shrink twice":      func() error { _, err := c.Shrink(ctx, []int{1, 1}, ShrinkDefault, Config{}); return err },
		"shrink mode":       func() error { _, err := c.Shrink(ctx, []int{1}, 5, Config{}); return err },
		"grow to less":      func() error { _, err := c.Grow(ctx, 2, nil, Config{}); return err },
		"bad color":         func() error { _, err := c.Split(ctx, -2, 0, Config{}); return err },
		"blocking child":    func() error { _, err := c.Split(ctx, 0, 0, Config{Blocking: true}); return err },
		"factor":            func() error { _, err := c.CreatePreMulSum(ctx, Int32, 0.5); return err },
		"factor's span":     func() error { _, err := c.CreatePreMulSumAt(ctx, Float64, cuda.Span{Addr: 8, Len: 4}); return err },
		"not suspended": func() error {
			if c.lib.info.Version < MakeVersion(2, 29, 7) {
				return badArgument("the library is too old for it")
			}
			return c.Resume(ctx)
		},
	} {
		assert.ErrorIs(t, call(), ResultInvalidArgument, name)
	}
	// None of them reached NCCL, so nothing is broken.
	r.sumOnce()
}

func TestStartArguments(t *testing.T) {
	r := newBench(t, 1)
	id, err := NewUniqueID()
	require.NoError(t, err)
	dev, ctx := r.devs[0], r.ctx
	for name, call := range map[string]func() (*Comm, error){
		"no device":      func() (*Comm, error) { return InitRank(ctx, nil, id, 0, 1, Config{}) },
		"no size":        func() (*Comm, error) { return InitRank(ctx, dev, id, 0, 0, Config{}) },
		"rank too great": func() (*Comm, error) { return InitRank(ctx, dev, id, 1, 1, Config{}) },
		"rank negative":  func() (*Comm, error) { return InitRank(ctx, dev, id, -1, 1, Config{}) },
		"no id":          func() (*Comm, error) { return InitRankScalable(ctx, dev, nil, 0, 1, Config{}) },
		"too many ids":   func() (*Comm, error) { return InitRankScalable(ctx, dev, []UniqueID{id, id}, 0, 1, Config{}) },
		"blocks":         func() (*Comm, error) { return InitRank(ctx, dev, id, 0, 1, Config{MinCTAs: 8, MaxCTAs: 4}) },
		"time":           func() (*Comm, error) { return InitRank(ctx, dev, id, 0, 1, Config{AbortTimeout: -1}) },
		"no context":     func() (*Comm, error) { return InitRank(noContext, dev, id, 0, 1, Config{}) },
	} {
		c, err := call()
		assert.Error(t, err, name)
		if name != "blocks" {
			assert.ErrorIs(t, err, ResultInvalidArgument, name)
		}
		assert.Nil(t, c, name)
	}
	_, err = InitAll(ctx, nil, Config{})
	assert.ErrorIs(t, err, ResultInvalidArgument)
	_, err = InitAll(ctx, []*cuda.Device{dev, dev}, Config{})
	assert.ErrorIs(t, err, ResultInvalidArgument)
	_, err = MemAlloc(nil, 1)
	assert.Error(t, err)
	_, err = MemAlloc(dev, 0)
	assert.Error(t, err)
	require.Error(t, AbortAll(ctx, nil))

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = InitRank(cancelled, dev, id, 0, 1, Config{})
	require.ErrorIs(t, err, context.Canceled)
	// None of them used the id.
	c, err := InitRank(ctx, dev, id, 0, 1, Config{})
	require.NoError(t, err)
	_, err = InitRank(ctx, dev, id, 0, 1, Config{})
	require.ErrorIs(t, err, ErrIDUsed)
	require.NoError(t, c.Close(ctx))
}

func TestClosedDeviceIsRefused(t *testing.T) {
	r := newBench(t, 1)
	dev, err := cuda.Open(0)
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	id, err := NewUniqueID()
	require.NoError(t, err)
	_, err = InitRank(r.ctx, dev, id, 0, 1, Config{})
	require.ErrorIs(t, err, ErrClosed)
	needs(t, 2, 19, 1)
	_, err = MemAlloc(dev, 1)
	require.ErrorIs(t, err, ErrClosed)
}

func TestClosedStreamIsRefused(t *testing.T) {
	r := newRig(t, 2, Config{})
	s, err := r.devs[0].CreateStream(cuda.StreamOptions{})
	require.NoError(t, err)
	b := r.alloc(0, make([]byte, 64))
	g := NewGroup()
	require.NoError(t, g.AllReduce(r.comms[0], b.Span(), b.Span(), 16, Float32, Sum, s))
	require.NoError(t, s.Close())
	require.ErrorIs(t, g.Run(r.ctx), ErrClosed)
	require.ErrorIs(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, s), ErrClosed)
	require.NoError(t, g.Close())
	r.sumOnce()
}

func TestNothingIsCalledTwiceOrOutOfOrder(t *testing.T) {
	r := newRig(t, 2, Config{})
	b := r.alloc(0, make([]byte, 64))
	use := func() error { return r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]) }
	require.NoError(t, each(r.comms, func(c *Comm) error { return c.Finalize(r.ctx) }))
	require.ErrorIs(t, use(), ErrFinalized)
	require.ErrorIs(t, r.comms[0].Finalize(r.ctx), ErrFinalized)
	_, err := r.comms[0].Split(r.ctx, 0, 0, Config{})
	require.ErrorIs(t, err, ErrFinalized)
	_, err = r.comms[0].Register(r.ctx, b.Span())
	require.ErrorIs(t, err, ErrFinalized)
	require.NoError(t, each(r.comms, func(c *Comm) error { return c.Close(r.ctx) }))
	require.ErrorIs(t, use(), ErrClosed)
	require.ErrorIs(t, r.comms[0].Finalize(r.ctx), ErrClosed)
	require.ErrorIs(t, r.comms[0].AsyncError(), ErrClosed)
	require.ErrorIs(t, r.comms[0].Wait(r.ctx, r.streams[0]), ErrClosed, "though the stream is idle")
	for _, c := range r.comms {
		require.NoError(t, c.Close(r.ctx))
		require.NoError(t, c.Abort(r.ctx))
	}
}

// What was never made is closed, and nothing hangs or panics over it.
func TestZeroValues(t *testing.T) {
	ctx := context.Background()
	for _, c := range []*Comm{{}, nil} {
		assert.ErrorIs(t, c.AllReduce(ctx, cuda.Span{}, cuda.Span{}, 0, Int8, Sum, nil), ErrClosed)
		assert.ErrorIs(t, c.Finalize(ctx), ErrClosed)
		assert.ErrorIs(t, c.AsyncError(), ErrClosed)
		assert.NoError(t, c.Close(ctx))
		_, err := c.Register(ctx, cuda.Span{})
		assert.ErrorIs(t, err, ErrClosed)
		_, err = c.Split(ctx, 0, 0, Config{})
		assert.ErrorIs(t, err, ErrClosed)
		_, err = c.Shrink(ctx, []int{1}, 0, Config{})
		assert.Error(t, err)
	}
	assert.NoError(t, new(Comm).Abort(ctx))
	assert.NoError(t, new(Comm).CloseAll())
	assert.Error(t, NewGroup().AllReduce(new(Comm), cuda.Span{}, cuda.Span{}, 0, Int8, Sum, nil))
	assert.NoError(t, new(Registration).CloseAll())
	assert.NoError(t, new(Window).Close())
	assert.NoError(t, new(CustomOp).Close())
	assert.NoError(t, new(Memory).Close())
	_, err := new(Window).PeerPointer(ctx, 0, 0)
	assert.ErrorIs(t, err, ErrClosed)
}

func TestCloseNamesWhatIsOpen(t *testing.T) {
	r := newRig(t, 2, Config{})
	op, err := r.comms[0].CreatePreMulSum(r.ctx, Float32, 2)
	require.NoError(t, err)
	for _, end := range []func(context.Context) error{r.comms[0].Close, r.comms[0].Finalize} {
		err = end(r.ctx)
		require.ErrorIs(t, err, ErrBusy)
		var busy *life.BusyError
		require.ErrorAs(t, err, &busy)
		require.Len(t, busy.Children, 1)
		assert.Contains(t, busy.Children[0].Name, "custom reduction")
	}
	b := r.alloc(0, make([]byte, 64))
	require.ErrorIs(t, r.comms[1].AllReduce(r.ctx, b.Span(), b.Span(), 4, Float32, op.RedOp(), r.streams[1]),
		ResultInvalidArgument, "the reduction of another communicator")
	require.ErrorIs(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 4, Float64, op.RedOp(), r.streams[0]),
		ResultInvalidArgument, "and of another type")
	require.NoError(t, op.Close())
}

func TestGroupMisuse(t *testing.T) {
	r := newRig(t, 2, Config{})
	b := r.alloc(0, make([]byte, 64))
	g := NewGroup()
	require.NoError(t, g.Run(r.ctx), "an empty group does nothing")
	require.ErrorIs(t, g.AllReduce(nil, b.Span(), b.Span(), 1, Float32, Sum, r.streams[0]), ResultInvalidArgument)
	require.NoError(t, g.Reset())

	require.NoError(t, g.AllReduce(r.comms[0], b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]))
	require.ErrorIs(t, g.Send(r.comms[0], b.Span(), 99, Float32, 1, r.streams[0]), ResultInvalidArgument)
	err := g.Run(r.ctx)
	require.ErrorIs(t, err, ResultInvalidArgument)
	var ge *GroupError
	require.ErrorAs(t, err, &ge)
	require.Len(t, ge.Failures, 1)
	assert.Equal(t, 1, ge.Failures[0].Index)
	assert.Equal(t, "Send", ge.Failures[0].Op)
	require.NoError(t, g.Reset())

	// Blocking and non-blocking do not mix.
	blocking, err := InitAll(r.ctx, r.devs, Config{Blocking: true})
	require.NoError(t, err)
	require.NoError(t, g.AllReduce(r.comms[0], b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]))
	err = g.AllReduce(blocking[0], b.Span(), b.Span(), 16, Float32, Sum, r.streams[0])
	require.ErrorIs(t, err, ResultInvalidArgument)
	assert.Contains(t, err.Error(), "non-blocking")
	require.NoError(t, AbortAll(r.ctx, blocking...))

	require.NoError(t, g.take())
	require.ErrorIs(t, g.Run(r.ctx), ErrConcurrentUse)
	g.busy.Store(false)
	require.NoError(t, g.Close())
	require.NoError(t, g.Close())
	require.ErrorIs(t, g.Run(r.ctx), ErrClosed)
	r.sumOnce()
}

// What NCCL refuses in a group is told for each operation, with the group's own
// answer.
func TestGroupReportsOperationsAndEnd(t *testing.T) {
	gpu := fakes(t)
	for _, blocking := range []bool{true, false} {
		r := newRig(t, 2, Config{Blocking: blocking})
		g := NewGroup()
		for i, c := range r.comms {
			b := r.alloc(i, make([]byte, 64))
			require.NoError(t, g.AllReduce(c, b.Span(), b.Span(), 16, Float32, Sum, r.streams[i]))
		}
		require.NoError(t, gpu.Fail("ncclAllReduce", int(ResultInternalError), 1, 1))
		err := g.Run(r.ctx)
		require.ErrorIs(t, err, ResultInternalError)
		var ge *GroupError
		require.ErrorAs(t, err, &ge)
		require.Len(t, ge.Failures, 1)
		assert.Equal(t, 1, ge.Failures[0].Index)
		assert.Equal(t, "AllReduce", ge.Failures[0].Op)
		require.NoError(t, g.Close())
		require.NoError(t, AbortAll(r.ctx, r.comms...))
	}
}

// A blocking communicator survives an argument that NCCL refuses.
func TestBlockingCommunicatorSurvivesARefusal(t *testing.T) {
	gpu := fakes(t)
	r := newRig(t, 2, Config{Blocking: true})
	b := r.alloc(0, make([]byte, 64))
	require.NoError(t, gpu.Fail("ncclAllReduce", int(ResultInvalidArgument), 0, 1))
	err := r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0])
	require.ErrorIs(t, err, ResultInvalidArgument)
	r.sumOnce()
}
