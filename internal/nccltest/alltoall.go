package nccltest

import "github.com/gofabric/gofabric/nccl"

// collectivesOfPeers is the release that has all-to-all, gather and scatter;
// before it they are sends and receives.
const collectivesOfPeers nccl.Version = 22803

var allToAll = collective{
	garbled: true,
	counts: func(_ *pattern, count, element, ranks uint64) counts {
		base := share(count, element, ranks)
		return counts{send: base * ranks, recv: base * ranks, param: base}
	},
	traffic: exchangeTraffic,
	fill: func(t *trial, rank int) []region {
		return []region{{0, t.counts.send, t.data(t.of(rank), 0)}}
	},
	want: func(t *trial, rank int) []region {
		var list []region
		for r := range t.ranks {
			list = append(list, region{uint64(r) * t.counts.param, t.counts.param, t.data(t.of(r), uint64(rank)*t.counts.param)})
		}
		return list
	},
	record: func(c *call, _ int) error {
		// In place, ranks overwrite what others still wait for. Package nccl
		// does not offer that, but the C tool times it.
		if c.release >= collectivesOfPeers && !c.inPlace {
			return c.group.AllToAll(c.comm, c.send, c.recv, c.count, c.dt, c.stream)
		}
		for r := range c.ranks {
			if err := c.sendBlock(r, uint64(r)); err != nil {
				return err
			}
			if err := c.recvBlock(r, uint64(r)); err != nil {
				return err
			}
		}
		return nil
	},
}
