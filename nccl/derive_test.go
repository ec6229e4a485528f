//go:build linux && cgo

package nccl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// derived makes a rig of communicators that come out of another.
func (r *rig) derived(make func(*Comm) (*Comm, error)) *rig {
	r.t.Helper()
	child := &rig{t: r.t, ctx: r.ctx}
	made := map[int]*Comm{}
	type result struct {
		from int
		c    *Comm
		err  error
	}
	results := make2(len(r.comms), func(out chan result) {
		for _, c := range r.comms {
			go func() {
				d, err := make(c)
				out <- result{c.Rank(), d, err}
			}()
		}
	})
	for _, res := range results {
		require.NoError(r.t, res.err)
		if res.c != nil {
			made[res.from] = res.c
		}
	}
	for from := range r.comms {
		if c := made[from]; c != nil {
			child.devs = append(child.devs, r.devs[from])
			child.streams = append(child.streams, r.streams[from])
			child.comms = append(child.comms, c)
		}
	}
	return child
}

func make2[T any](n int, start func(chan T)) []T {
	out := make(chan T)
	start(out)
	var list []T
	for range n {
		list = append(list, <-out)
	}
	return list
}

func (r *rig) close() {
	r.t.Helper()
	require.NoError(r.t, each(r.comms, func(c *Comm) error { return c.Close(r.ctx) }))
}

func TestSplit(t *testing.T) {
	r := newRig(t, 2, Config{})
	needs(t, 2, 18, 1)
	all := r.derived(func(c *Comm) (*Comm, error) { return c.Split(r.ctx, 3, -c.Rank(), Config{}) })
	require.Len(t, all.comms, 2)
	for from, c := range all.comms {
		assert.Equal(t, 1-from, c.Rank(), "the key reverses the order")
		assert.Equal(t, 2, c.Size())
	}
	all.sumOnce()
	all.close()

	one := r.derived(func(c *Comm) (*Comm, error) {
		color := NoColor
		if c.Rank() == 1 {
			color = 0
		}
		return c.Split(r.ctx, color, 0, Config{})
	})
	require.Len(t, one.comms, 1)
	assert.Equal(t, 0, one.comms[0].Rank())
	assert.Equal(t, 1, one.comms[0].Size())
	one.sumOnce()
	one.close()
	r.sumOnce()
}

func TestShrink(t *testing.T) {
	r := newRig(t, 2, Config{})
	needs(t, 2, 27, 3)
	child, err := r.comms[0].Shrink(r.ctx, []int{1}, ShrinkDefault, Config{})
	require.NoError(t, err)
	one := &rig{t: t, ctx: r.ctx, devs: r.devs[:1], streams: r.streams[:1], comms: []*Comm{child}}
	assert.Equal(t, 1, child.Size())
	one.sumOnce()
	one.close()
	r.sumOnce()
}

func TestGrow(t *testing.T) {
	r := newBench(t, 2)
	needs(t, 2, 29, 2)
	small, err := InitAll(r.ctx, r.devs[:1], Config{})
	require.NoError(t, err)
	id, err := small[0].UniqueID(r.ctx)
	require.NoError(t, err)
	results := make2(2, func(out chan error) {
		r.comms = make([]*Comm, 2)
		go func() {
			c, err := small[0].Grow(r.ctx, 2, &id, Config{})
			r.comms[0] = c
			out <- err
		}()
		go func() {
			c, err := JoinGrown(r.ctx, r.devs[1], id, 1, 2, Config{})
			r.comms[1] = c
			out <- err
		}()
	})
	for _, err := range results {
		require.NoError(t, err)
	}
	assert.Equal(t, 1, r.comms[1].Rank())
	r.sumOnce()
	r.close()
	require.NoError(t, small[0].Close(r.ctx))
}

func TestScalableInit(t *testing.T) {
	r := newBench(t, 2)
	needs(t, 2, 23, 4)
	var ids []UniqueID
	for range 2 {
		id, err := NewUniqueID()
		require.NoError(t, err)
		ids = append(ids, id)
	}
	r.comms = make([]*Comm, 2)
	for _, err := range make2(2, func(out chan error) {
		for rank := range 2 {
			go func() {
				c, err := InitRankScalable(r.ctx, r.devs[rank], ids, rank, 2, Config{})
				r.comms[rank] = c
				out <- err
			}()
		}
	}) {
		require.NoError(t, err)
	}
	r.sumOnce()
	r.close()
}

func TestRevoke(t *testing.T) {
	r := newRig(t, 2, Config{})
	needs(t, 2, 28, 7)
	require.NoError(t, each(r.comms, func(c *Comm) error { return c.Revoke(r.ctx) }))
	b := r.alloc(0, make([]byte, 64))
	require.ErrorIs(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]), ErrRevoked)
	require.ErrorIs(t, r.comms[0].Revoke(r.ctx), ErrRevoked)
	require.ErrorIs(t, r.comms[0].Finalize(r.ctx), ErrRevoked)
	one, err := r.comms[0].Shrink(r.ctx, []int{1}, ShrinkDefault, Config{})
	require.NoError(t, err)
	require.NoError(t, one.Close(r.ctx))
	r.close()
}

func TestSuspendAndResume(t *testing.T) {
	r := newRig(t, 2, Config{})
	needs(t, 2, 29, 7)
	require.NoError(t, each(r.comms, func(c *Comm) error { return c.Suspend(r.ctx) }))
	b := r.alloc(0, make([]byte, 64))
	require.ErrorIs(t, r.comms[0].AllReduce(r.ctx, b.Span(), b.Span(), 16, Float32, Sum, r.streams[0]), ErrSuspended)
	require.ErrorIs(t, r.comms[0].Close(r.ctx), ErrSuspended)
	m, err := r.comms[0].MemStats(r.ctx)
	require.NoError(t, err)
	assert.True(t, m.Suspended)
	require.NoError(t, each(r.comms, func(c *Comm) error { return c.Resume(r.ctx) }))
	r.sumOnce()
}

func TestProperties(t *testing.T) {
	r := newRig(t, 2, Config{})
	needs(t, 2, 29, 2)
	for i, c := range r.comms {
		p, err := c.Properties(r.ctx)
		require.NoError(t, err)
		assert.Equal(t, i, p.Rank)
		assert.Equal(t, 2, p.Size)
		assert.Equal(t, c.Device().Ordinal(), p.CUDADevice)
		assert.Equal(t, c.lib.info.Version >= MakeVersion(2, 29, 7), p.Later != nil)
	}
}

func TestOneSided(t *testing.T) {
	r := newRig(t, 2, Config{})
	needs(t, 2, 29, 2)
	const count = 1024
	windows := make([]*Window, 2)
	mems := make([]*Memory, 2)
	for i, dev := range r.devs {
		m, err := MemAlloc(dev, count*4)
		require.NoError(t, err)
		mems[i] = m
	}
	require.NoError(t, each(r.comms, func(c *Comm) (err error) {
		windows[c.Rank()], err = c.RegisterWindow(r.ctx, mems[c.Rank()].Span(), WindowSymmetric)
		return err
	}))
	p, err := windows[0].UserPointer(r.ctx)
	require.NoError(t, err)
	assert.Equal(t, mems[0].Span().Addr, p)
	g := NewGroup()
	for i, c := range r.comms {
		r.write(i, mems[i].Span(), elements(t, Int32, count/2, func(j int) float64 { return float64(100*i + j) }))
		require.NoError(t, g.PutSignal(c, mems[i].Span(), count/2, Int32, 1-i, windows[i], count*2, SignalOptions{}, r.streams[i]))
	}
	require.NoError(t, g.Run(r.ctx))
	require.NoError(t, each(r.comms, func(c *Comm) error {
		s := r.streams[c.Rank()]
		if err := c.WaitSignal(r.ctx, []SignalWait{{Peer: 1 - c.Rank(), Count: 1}}, s); err != nil {
			return err
		}
		return c.Wait(r.ctx, s)
	}))
	for i := range r.comms {
		want := elements(t, Int32, count/2, func(j int) float64 { return float64(100*(1-i) + j) })
		half, err := mems[i].Span().At(count*2, count*2)
		require.NoError(t, err)
		assert.Equal(t, want, r.read(i, half))
	}
	require.ErrorIs(t, g.PutSignal(r.comms[0], mems[0].Span(), count, Int32, 1, windows[0], 4, SignalOptions{}, r.streams[0]),
		ResultInvalidArgument, "beyond the window")
	outside := r.alloc(0, make([]byte, 64))
	for name, err := range map[string]error{
		"outside a window": r.comms[0].PutSignal(r.ctx, outside.Span(), 1, Int32, 1, windows[0], 0, SignalOptions{}, r.streams[0]),
		"another's window": r.comms[0].PutSignal(r.ctx, mems[0].Span(), 1, Int32, 1, windows[1], 0, SignalOptions{}, r.streams[0]),
		"no window":        r.comms[0].PutSignal(r.ctx, mems[0].Span(), 1, Int32, 1, nil, 0, SignalOptions{}, r.streams[0]),
		"signal 1":         r.comms[0].Signal(r.ctx, 1, SignalOptions{Index: 1}, r.streams[0]),
		"signal -1":        r.comms[0].Signal(r.ctx, 1, SignalOptions{Index: -1}, r.streams[0]),
		"flags":            r.comms[0].Signal(r.ctx, 1, SignalOptions{Flags: 1}, r.streams[0]),
		"wait for context": r.comms[0].WaitSignal(r.ctx, []SignalWait{{Peer: 1, Count: 1, Context: 1}}, r.streams[0]),
		"wait for nothing": r.comms[0].WaitSignal(r.ctx, []SignalWait{{Peer: 1}}, r.streams[0]),
	} {
		assert.ErrorIs(t, err, ResultInvalidArgument, name)
	}
	require.ErrorIs(t, r.comms[0].WaitSignal(r.ctx, nil, r.streams[0]), ResultInvalidArgument)
	require.NoError(t, g.Close())
	require.NoError(t, each(r.comms, func(c *Comm) error { return windows[c.Rank()].Close() }))
}

func TestSimulate(t *testing.T) {
	r := newRig(t, 2, Config{Blocking: true})
	needs(t, 2, 22, 3)
	g := NewGroup()
	for i, c := range r.comms {
		b := r.alloc(i, make([]byte, 4096))
		require.NoError(t, g.AllReduce(c, b.Span(), b.Span(), 1024, Float32, Sum, r.streams[i]))
	}
	us, err := g.Simulate(r.ctx)
	require.NoError(t, err)
	assert.Greater(t, us, 0.0)
	require.NoError(t, g.Close())
	r.sumOnce()

	n := newRig(t, 2, Config{})
	b := n.alloc(0, make([]byte, 64))
	g = NewGroup()
	require.NoError(t, g.AllReduce(n.comms[0], b.Span(), b.Span(), 16, Float32, Sum, n.streams[0]))
	_, err = g.Simulate(n.ctx)
	require.ErrorIs(t, err, ErrNotSupported)
	us, err = NewGroup().Simulate(n.ctx)
	require.NoError(t, err)
	assert.Zero(t, us)
	require.NoError(t, g.Close())
}

func TestParameters(t *testing.T) {
	newBench(t, 1)
	needs(t, 2, 30, 4)
	keys, err := Parameters()
	require.NoError(t, err)
	require.NotEmpty(t, keys)
	_, err = Parameter(keys[0])
	require.NoError(t, err)
	_, err = Parameter("NO_SUCH\x00KEY")
	require.ErrorIs(t, err, ResultInvalidArgument)
}
