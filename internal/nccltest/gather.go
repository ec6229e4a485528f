package nccltest

var gather = collective{
	rooted:  true,
	counts:  gatherCounts,
	traffic: exchangeTraffic,
	fill: func(t *trial, rank int) []region {
		return []region{{t.inPlaceAt(t.counts.sendInPlace, rank), t.counts.send, t.data(t.rep, uint64(rank)*t.counts.send)}}
	},
	want: func(t *trial, rank int) []region {
		if rank == t.root {
			return []region{{0, t.counts.recv, t.data(t.rep, 0)}}
		}
		if !t.inPlace {
			return []region{{0, t.counts.recv, t.zeros()}}
		}
		own := uint64(rank) * t.counts.send
		after := own + t.counts.send
		return []region{
			{0, own, t.zeros()},
			{own, t.counts.send, t.data(t.rep, own)},
			{after, t.counts.recv - after, t.zeros()},
		}
	},
	record: func(c *call, _ int) error {
		if c.count == 0 {
			return nil
		}
		if c.release >= collectivesOfPeers {
			return c.group.Gather(c.comm, c.send, c.recv, c.count, c.dt, c.root, c.stream)
		}
		if err := c.sendBlock(c.root, 0); err != nil || c.rank != c.root {
			return err
		}
		for r := range c.ranks {
			if err := c.recvBlock(r, uint64(r)); err != nil {
				return err
			}
		}
		return nil
	},
}
