//go:build linux && cgo

package gpulab

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// capture records what f issues on all streams, and makes it ready to be launched.
func (r *rig) capture(f func() error) []*cuda.GraphExec {
	r.t.Helper()
	for _, s := range r.streams {
		require.NoError(r.t, s.BeginCapture(cuda.CaptureRelaxed))
	}
	require.NoError(r.t, f())
	var execs []*cuda.GraphExec
	for _, s := range r.streams {
		graph, err := s.EndCapture()
		require.NoError(r.t, err)
		nodes, err := graph.Nodes()
		require.NoError(r.t, err)
		require.Positive(r.t, nodes)
		x, err := graph.Instantiate()
		require.NoError(r.t, err)
		require.NoError(r.t, graph.Close())
		execs = append(execs, x)
	}
	return execs
}

// Every collective is captured, as a group and one by one, and replayed.
func TestGraphsCaptureCollectives(t *testing.T) {
	n := begin(t, 1, testLimit)
	for _, blocking := range []bool{false, true} {
		r := newRig(t, n, nccl.Config{Blocking: blocking})
		tab := newTable(r, 4*3000*n)
		require.NoError(t, tab.load(nccl.Float32, forSums))
		for i := range collectives {
			tab.replayed(&collectives[i], i%2 == 0)
		}
		require.NoError(t, tab.intact())
	}
	figure("graphs on %d GPUs: %d collectives captured and replayed 20 times: right", n, len(collectives))
}

func (t *table) replayed(o *collective, grouped bool) {
	const count = 3000
	t.t.Helper()
	b := 4 * count
	size := b * o.blocks(len(t.devs))
	calls := make([]*call, len(t.devs))
	for rank := range t.devs {
		c := &call{count: count, dt: t.dt, op: nccl.Sum, stream: t.streams[rank]}
		c.send, c.recv = part(t.orig[rank], 0, b), part(t.work[rank], 0, b)
		if o.sendAll {
			c.send = part(t.orig[rank], 0, size)
		}
		if o.recvAll {
			c.recv = part(t.work[rank], 0, size)
		}
		calls[rank] = c
	}
	execs := t.capture(func() error {
		if !grouped {
			return each(t.comms, func(i int, m *nccl.Comm) error { return o.issue(t.ctx, m, calls[i]) })
		}
		g := nccl.NewGroup()
		defer g.Close()
		for i, m := range t.comms {
			if err := o.record(g, m, calls[i]); err != nil {
				return err
			}
		}
		return g.Run(t.ctx)
	})
	// A communicator stays open as long as a graph may use it.
	require.ErrorIs(t.t, t.comms[0].Close(t.ctx), nccl.ErrBusy)
	for range 20 {
		for i, x := range execs {
			require.NoError(t.t, t.clear(i, size))
			require.NoError(t.t, x.Launch(t.streams[i]))
		}
	}
	require.NoError(t.t, t.rig.wait())
	require.NoError(t.t, t.verify(size, func(rank int) []segment { return o.expect(t, calls[rank], rank, b) }), o.name)
	for _, x := range execs {
		require.NoError(t.t, x.Close())
	}
}

// Twenty iterations in one graph, as benchmarks do, and a ring of sends beside
// them.
func TestGraphOfManyIterations(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newRig(t, n, nccl.Config{})
	const count = 10000
	tab := newTable(r, 4*count)
	require.NoError(t, tab.load(nccl.Float32, forSums))
	g := nccl.NewGroup()
	ring := nccl.NewGroup()
	for i, c := range r.comms {
		b := 4 * count
		require.NoError(t, g.AllReduce(c, tab.orig[i], part(tab.work[i], 0, b), count, nccl.Float32, nccl.Max, r.streams[i]))
		require.NoError(t, ring.Send(c, tab.orig[i], count, nccl.Float32, (i+1)%n, r.streams[i]))
		require.NoError(t, ring.Recv(c, part(tab.work[i], 0, b), count, nccl.Float32, (i+n-1)%n, r.streams[i]))
	}
	for _, last := range []*nccl.Group{g, ring} {
		first := ring
		if last == ring {
			first = g
		}
		execs := r.capture(func() error {
			for range 20 {
				if err := first.Run(r.ctx); err != nil {
					return err
				}
				if err := last.Run(r.ctx); err != nil {
					return err
				}
			}
			return nil
		})
		for range 5 {
			for i, x := range execs {
				require.NoError(t, tab.clear(i, 4*count))
				require.NoError(t, x.Launch(r.streams[i]))
			}
		}
		require.NoError(t, r.wait())
		require.NoError(t, tab.verify(4*count, func(rank int) []segment {
			if last == ring {
				return []segment{{0, tab.input((rank + n - 1) % n)}}
			}
			return []segment{{0, tab.reduced(nccl.Max)}}
		}))
		for _, x := range execs {
			require.NoError(t, x.Close())
		}
	}
	require.NoError(t, g.Close())
	require.NoError(t, ring.Close())
}
