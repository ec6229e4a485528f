//go:build linux && cgo

package gpulab

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nccl"
)

// mostGPUs is how many GPUs a test uses at most.
const mostGPUs = 2

// rig is a communicator over the first devices of this process, with a stream
// for each.
type rig struct {
	t       tester
	ctx     context.Context
	devs    []*cuda.Device
	streams []*cuda.Stream
	comms   []*nccl.Comm
}

// gpus is how many GPUs a test can have.
func gpus(t tester) int {
	t.Helper()
	n, err := cuda.DeviceCount()
	require.NoError(t, err)
	return min(n, mostGPUs)
}

// begin is the first call of every test: it bounds the test and returns how many
// GPUs it can have. A test that needs more is skipped.
func begin(t testing.TB, need int, d time.Duration) int {
	t.Helper()
	limit(t, d)
	if !realGPU {
		fakegpu.Use(t)
	}
	n := gpus(t)
	if n < need {
		testutil.Skip(t, fmt.Sprintf("needs %d GPUs, and there are %d", need, n))
	}
	return n
}

// newBench opens the devices from the first one on, without a communicator.
func newBench(t tester, n int) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx}
	for i := range n {
		r.open(i)
	}
	return r
}

func (r *rig) open(ordinal int) {
	r.t.Helper()
	dev, err := cuda.Open(ordinal)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { assert.NoError(r.t, dev.CloseAll()) })
	s, err := dev.CreateStream(cuda.StreamOptions{})
	require.NoError(r.t, err)
	r.devs = append(r.devs, dev)
	r.streams = append(r.streams, s)
}

func newRig(t tester, n int, cfg nccl.Config) *rig {
	t.Helper()
	r := newBench(t, n)
	r.init(cfg)
	return r
}

// init makes the communicator. It ends with the test, unless that ended it.
func (r *rig) init(cfg nccl.Config) {
	r.t.Helper()
	comms, err := nccl.InitAll(r.ctx, r.devs, cfg)
	require.NoError(r.t, err)
	r.adopt(comms)
	r.comms = comms
}

func (r *rig) adopt(comms []*nccl.Comm) {
	r.t.Cleanup(func() {
		for _, c := range comms {
			if c.AsyncError() != nil {
				assert.NoError(r.t, nccl.AbortAll(context.Background(), comms...))
				return
			}
		}
		assert.NoError(r.t, each(comms, func(_ int, c *nccl.Comm) error { return c.CloseAll() }))
	})
}

// each runs f for every rank, all at once, since ranks wait for each other.
func each[T any](list []T, f func(int, T) error) error {
	errs := make(chan error, len(list))
	for i, x := range list {
		go func() { errs <- f(i, x) }()
	}
	var first error
	for range list {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// wait waits for all ranks' streams.
func (r *rig) wait() error {
	for i, c := range r.comms {
		if err := c.Wait(r.ctx, r.streams[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) alloc(rank int, size uint64) cuda.Span {
	r.t.Helper()
	b, err := r.devs[rank].Alloc(size)
	require.NoError(r.t, err)
	return b.Span()
}

// part is a piece that is known to lie within the span.
func part(s cuda.Span, off, n int) cuda.Span {
	p, err := s.At(uint64(off), uint64(n))
	if err != nil {
		panic(err)
	}
	return p
}

// sumOnce checks that a communicator works: an all-reduce in place.
func (r *rig) sumOnce() {
	r.t.Helper()
	const n = 1 << 16
	g := nccl.NewGroup()
	defer g.Close()
	bufs := make([]cuda.Span, len(r.comms))
	total := 0
	for i, c := range r.comms {
		bufs[i] = r.alloc(i, 4*n)
		total += i + 1
		require.NoError(r.t, r.streams[i].CopyToDevice(r.ctx, bufs[i], repeated(nccl.Float32, i+1, n)))
		require.NoError(r.t, g.AllReduce(c, bufs[i], bufs[i], n, nccl.Float32, nccl.Sum, r.streams[i]))
	}
	require.NoError(r.t, g.Run(r.ctx))
	require.NoError(r.t, r.wait())
	for i := range r.comms {
		got := make([]byte, 4*n)
		require.NoError(r.t, r.streams[i].CopyToHost(r.ctx, got, bufs[i]))
		require.Equal(r.t, -1, difference(got, repeated(nccl.Float32, total, n)), "rank %d", i)
	}
}

// sumAlone is sumOnce for a communicator that has other ranks elsewhere: mine is
// what this rank gives, total what all give together.
func sumAlone(ctx context.Context, c *nccl.Comm, s *cuda.Stream, mine, total int) error {
	const n = 1 << 18
	b, err := c.Device().Alloc(4 * n)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := s.CopyToDevice(ctx, b.Span(), repeated(nccl.Float32, mine, n)); err != nil {
		return err
	}
	if err := c.AllReduce(ctx, b.Span(), b.Span(), n, nccl.Float32, nccl.Sum, s); err != nil {
		return err
	}
	if err := c.Wait(ctx, s); err != nil {
		return err
	}
	got := make([]byte, 4*n)
	if err := s.CopyToHost(ctx, got, b.Span()); err != nil {
		return err
	}
	if at := difference(got, repeated(nccl.Float32, total, n)); at >= 0 {
		return fmt.Errorf("the sum is wrong from byte %d on", at)
	}
	return nil
}
