//go:build linux && cgo

package gpulab

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// nccl#1976: the stream of the calling thread, with communicators that launch
// from threads of their own.
func TestPerThreadStreamIsRefused(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newRig(t, n, nccl.Config{})
	s, err := r.devs[0].WrapStream(2)
	require.NoError(t, err)
	b := r.alloc(0, 64)
	require.ErrorIs(t, r.comms[0].AllReduce(r.ctx, b, b, 16, nccl.Float32, nccl.Sum, s), nccl.ResultInvalidArgument)
	r.sumOnce()
	// CUDA's default stream is allowed.
	for i := range r.streams {
		r.streams[i] = r.devs[i].NullStream()
	}
	r.sumOnce()
}

// vllm#4508: the collector destroys a communicator, which hangs. pytorch#141510:
// abort as the way to end. Ours is left alone by the collector, and Close ends
// what was issued.
func TestCollectorAndAbortAreNoExit(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newBench(t, n)
	func() {
		lost, err := nccl.InitAll(r.ctx, r.devs, nccl.Config{})
		require.NoError(t, err)
		clear(lost)
	}()
	for range 5 {
		runtime.GC()
	}
	// The devices still know them.
	require.ErrorIs(t, r.devs[0].Close(), cuda.ErrBusy)

	r.init(nccl.Config{})
	const count = 4 << 20
	tab := newTable(r, 4*count)
	require.NoError(t, tab.load(nccl.Float32, forSums))
	g := nccl.NewGroup()
	for i, c := range r.comms {
		require.NoError(t, tab.clear(i, 4*count))
		require.NoError(t, g.AllReduce(c, tab.orig[i], part(tab.work[i], 0, 4*count), count, nccl.Float32, nccl.Sum, r.streams[i]))
	}
	require.NoError(t, g.Run(r.ctx))
	require.NoError(t, g.Close())
	require.NoError(t, closeAll(r, r.comms))
	require.NoError(t, tab.verify(4*count, func(int) []segment { return []segment{{0, tab.reduced(nccl.Sum)}} }))
	// The lost ones end with their devices, all at once.
	require.NoError(t, each(r.devs, func(_ int, dev *cuda.Device) error { return dev.CloseAll() }))
}

// nccl#744, nccl#787: memory allocated and freed while the ranks of one process
// are at work. Groups issue all ranks before anything else can happen.
func TestAllocationBesideGroups(t *testing.T) {
	n := begin(t, 1, testLimit)
	for _, blocking := range []bool{false, true} {
		r := newRig(t, n, nccl.Config{Blocking: blocking})
		g := nccl.NewGroup()
		for i, c := range r.comms {
			b := r.alloc(i, 1<<20)
			require.NoError(t, g.AllReduce(c, b, b, 1<<18, nccl.Float32, nccl.Sum, r.streams[i]))
		}
		rounds := 0
		for range 200 {
			require.NoError(t, g.Run(r.ctx))
			for _, dev := range r.devs {
				m, err := nccl.MemAlloc(dev, 1<<20)
				require.NoError(t, err)
				require.NoError(t, m.Close())
				b, err := dev.Alloc(1 << 20)
				require.NoError(t, err)
				require.NoError(t, b.Close())
			}
			rounds++
		}
		require.NoError(t, r.wait())
		require.NoError(t, g.Close())
		r.sumOnce()
		figure("allocations beside groups on %d GPUs, blocking %v: %d rounds without a hang", n, blocking, rounds)
	}
}
