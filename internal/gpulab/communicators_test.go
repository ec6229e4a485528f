//go:build linux && cgo

package gpulab

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// sub is a rig over other communicators of the same devices.
func (r *rig) sub(comms []*nccl.Comm) *rig {
	other := *r
	other.comms = comms
	return &other
}

func closeAll(r *rig, comms []*nccl.Comm) error {
	return each(comms, func(_ int, c *nccl.Comm) error { return c.Close(r.ctx) })
}

// Split by colour and key, with a rank that wants no communicator, from
// communicators that block and that do not.
func TestSplit(t *testing.T) {
	n := begin(t, 2, testLimit)
	for _, blocking := range []bool{false, true} {
		r := newRig(t, n, nccl.Config{Blocking: blocking})
		split := func(color, key func(rank int) int) []*nccl.Comm {
			t.Helper()
			children := make([]*nccl.Comm, n)
			require.NoError(t, each(r.comms, func(i int, c *nccl.Comm) (err error) {
				children[i], err = c.Split(r.ctx, color(i), key(i), nccl.Config{})
				return err
			}))
			return children
		}
		same := func(int) int { return 0 }
		own := func(rank int) int { return rank }

		// All together, in the reverse order.
		reversed := split(same, func(rank int) int { return -rank })
		for i, c := range reversed {
			require.Equal(t, n, c.Size())
			require.Equal(t, n-1-i, c.Rank())
			require.Equal(t, blocking, c.Blocking())
		}
		r.sub(reversed).sumOnce()

		// Each alone.
		for _, c := range split(own, same) {
			require.Equal(t, 1, c.Size())
			require.NoError(t, sumAlone(r.ctx, c, r.streams[c.Device().Ordinal()], 5, 5))
			require.NoError(t, c.Close(r.ctx))
		}

		// Rank 0 wants none.
		some := split(func(rank int) int {
			if rank == 0 {
				return nccl.NoColor
			}
			return 1
		}, same)
		require.Nil(t, some[0])
		require.Equal(t, n-1, some[1].Size())
		require.NoError(t, closeAll(r, some[1:]))

		// A child of a child, while the parents live.
		grand := make([]*nccl.Comm, n)
		require.NoError(t, each(reversed, func(i int, c *nccl.Comm) (err error) {
			grand[i], err = c.Split(r.ctx, 0, 0, nccl.Config{})
			return err
		}))
		r.sub(grand).sumOnce()
		require.NoError(t, closeAll(r, grand))
		require.NoError(t, closeAll(r, reversed))
		r.sumOnce()
	}
	figure("split on %d GPUs: reversed keys, one rank each, no colour, a child's child: right", n)
}

// Without a rank, after work that was in good order and after an abort of work
// that was not.
func TestShrink(t *testing.T) {
	n := begin(t, 2, testLimit)
	r := newRig(t, n, nccl.Config{})
	small, err := r.comms[0].Shrink(r.ctx, []int{1}, nccl.ShrinkDefault, nccl.Config{})
	require.NoError(t, err)
	require.Equal(t, n-1, small.Size())
	require.NoError(t, sumAlone(r.ctx, small, r.streams[0], 3, 3))
	require.NoError(t, small.Close(r.ctx))

	// Rank 1 never joins this one. The first work of a communicator connects it,
	// which takes all ranks.
	r.sumOnce()
	b := r.alloc(0, 4<<10)
	require.NoError(t, r.comms[0].AllReduce(r.ctx, b, b, 1<<10, nccl.Float32, nccl.Sum, r.streams[0]))
	small, err = r.comms[0].Shrink(r.ctx, []int{1}, nccl.ShrinkAbort, nccl.Config{})
	require.NoError(t, err)
	require.NoError(t, sumAlone(r.ctx, small, r.streams[0], 3, 3))
	require.NoError(t, nccl.AbortAll(r.ctx, append(r.comms, small)...))
	r.init(nccl.Config{})
	r.sumOnce()
	figure("shrink on %d GPUs: after good work and with a collective that hung: right", n)
}

// Several ids share the start.
func TestStartWithSeveralIDs(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newBench(t, n)
	ids := make([]nccl.UniqueID, n)
	for i := range ids {
		var err error
		ids[i], err = nccl.NewUniqueID()
		require.NoError(t, err)
	}
	r.comms = make([]*nccl.Comm, n)
	require.NoError(t, each(r.devs, func(i int, dev *cuda.Device) (err error) {
		r.comms[i], err = nccl.InitRankScalable(r.ctx, dev, ids, i, n, nccl.Config{})
		return err
	}))
	r.adopt(r.comms)
	r.sumOnce()
	// And with one id, by rank.
	id, err := nccl.NewUniqueID()
	require.NoError(t, err)
	second := make([]*nccl.Comm, n)
	require.NoError(t, each(r.devs, func(i int, dev *cuda.Device) (err error) {
		second[i], err = nccl.InitRank(r.ctx, dev, id, i, n, nccl.Config{})
		return err
	}))
	_, err = nccl.InitRank(r.ctx, r.devs[0], id, 0, n, nccl.Config{})
	require.ErrorIs(t, err, nccl.ErrIDUsed)
	r.sub(second).sumOnce()
	require.NoError(t, closeAll(r, second))
	figure("start on %d GPUs by rank, with one id and with %d: right", n, n)
}

// One group holds operations of two communicators on each GPU, of different
// kinds.
func TestGroupOverSeveralCommunicators(t *testing.T) {
	n := begin(t, 1, testLimit)
	for _, blocking := range []bool{false, true} {
		r := newRig(t, n, nccl.Config{Blocking: blocking})
		second, err := nccl.InitAll(r.ctx, r.devs, nccl.Config{Blocking: blocking})
		require.NoError(t, err)
		const count = 3000
		tab := newTable(r, 4*count*n)
		other := tab.over(nil)
		for i := range n {
			other.work = append(other.work, r.alloc(i, 4*count*uint64(n)+guard))
		}
		require.NoError(t, tab.load(nccl.Float32, forSums))
		require.NoError(t, other.load(nccl.Float32, forSums))
		g := nccl.NewGroup()
		for i := range n {
			send := part(tab.orig[i], 0, 4*count)
			require.NoError(t, g.AllReduce(r.comms[i], send, part(tab.work[i], 0, 4*count), count, nccl.Float32, nccl.Sum, r.streams[i]))
			require.NoError(t, g.AllGather(second[i], send, part(other.work[i], 0, 4*count*n), count, nccl.Float32, r.streams[i]))
		}
		for range 50 { // recorded once, run again and again
			for i := range n {
				require.NoError(t, tab.clear(i, 4*count))
				require.NoError(t, other.clear(i, 4*count*n))
			}
			require.NoError(t, g.Run(r.ctx))
		}
		require.NoError(t, r.wait())
		require.NoError(t, tab.verify(4*count, func(int) []segment { return []segment{{0, tab.reduced(nccl.Sum)[:4*count]}} }))
		require.NoError(t, other.verify(4*count*n, func(int) []segment { return other.gathered(4 * count) }))
		require.NoError(t, g.Close())
		require.NoError(t, closeAll(r, second))
	}
	figure("groups over 2 communicators on each of %d GPUs: right", n)
}

// What a group must not hold is refused and leaves the communicator whole.
func TestRefusedGroupChangesNothing(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newRig(t, n, nccl.Config{})
	b := r.alloc(0, 64)
	g := nccl.NewGroup()
	require.NoError(t, g.AllReduce(r.comms[0], b, b, 16, nccl.Float32, nccl.Sum, r.streams[0]))
	err := g.AllReduce(r.comms[0], b, b, 17, nccl.Float32, nccl.Sum, r.streams[0])
	require.ErrorIs(t, err, nccl.ResultInvalidArgument)
	var group *nccl.GroupError
	require.True(t, errors.As(g.Run(r.ctx), &group))
	require.Equal(t, 1, group.Failures[0].Index)
	require.NoError(t, g.Close())
	r.sumOnce()
}

// Settings: all that the loaded release knows are taken, and those of later ones
// are refused by name. nccl#2347: a configuration copied past its size.
func TestEveryConfigSetting(t *testing.T) {
	n := begin(t, 1, testLimit)
	lib, err := nccl.Library()
	require.NoError(t, err)
	r := newBench(t, n)
	cfg := nccl.Config{
		CGAClusterSize: nccl.Int(2), MinCTAs: 1, MaxCTAs: 8, SplitShare: true,
	}
	if lib.Version >= nccl.MakeVersion(2, 27, 3) {
		cfg.Name, cfg.CTAPolicy, cfg.ShrinkShare = "gpulab", nccl.CTAPolicyEfficiency, true
	}
	if lib.Version >= nccl.MakeVersion(2, 28, 3) {
		cfg.ChannelsPerNetPeer, cfg.NVLinkCentric = 2, true
	}
	r.init(cfg)
	r.sumOnce()
	for name, late := range map[string]struct {
		cfg   nccl.Config
		since nccl.Version
	}{
		"GraphUsage":          {nccl.Config{GraphUsage: nccl.Int(1)}, nccl.MakeVersion(2, 29, 2)},
		"RMAContexts":         {nccl.Config{RMAContexts: 2}, nccl.MakeVersion(2, 29, 2)},
		"MaxP2PPeers":         {nccl.Config{MaxP2PPeers: 2}, nccl.MakeVersion(2, 30, 3)},
		"GraphStreamOrdering": {nccl.Config{GraphStreamOrdering: nccl.Int(1)}, nccl.MakeVersion(2, 30, 7)},
	} {
		if lib.Version >= late.since {
			continue
		}
		_, err := nccl.InitAll(context.Background(), r.devs, late.cfg)
		var unsupported *nccl.UnsupportedError
		require.ErrorAs(t, err, &unsupported, name)
		require.Equal(t, late.since, unsupported.Since, name)
		require.Equal(t, lib.Path, unsupported.Path)
	}
	figure("configuration: every setting of NCCL %v taken, later ones refused by name", lib.Version)
}

// The estimate of a group, from blocking communicators only.
func TestSimulate(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newRig(t, n, nccl.Config{Blocking: true})
	g := nccl.NewGroup()
	for i, c := range r.comms {
		b := r.alloc(i, 1<<20)
		require.NoError(t, g.AllReduce(c, b, b, 1<<18, nccl.Float32, nccl.Sum, r.streams[i]))
	}
	us, err := g.Simulate(r.ctx)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	figure("simulate: an all-reduce of 1 MiB on %d GPUs would take %.1f us", n, us)
	r.sumOnce()
}
