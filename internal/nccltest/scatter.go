package nccltest

var scatter = collective{
	rooted:  true,
	counts:  scatterCounts,
	traffic: exchangeTraffic,
	fill: func(t *trial, rank int) []region {
		if rank != t.root {
			return nil
		}
		return []region{{0, t.counts.send, t.data(t.rep, 0)}}
	},
	want: func(t *trial, rank int) []region {
		return []region{{t.inPlaceAt(t.counts.recvInPlace, rank), t.counts.recv, t.data(t.rep, uint64(rank)*t.counts.recv)}}
	},
	record: func(c *call, _ int) error {
		if c.count == 0 {
			return nil
		}
		if c.release >= collectivesOfPeers {
			return c.group.Scatter(c.comm, c.send, c.recv, c.count, c.dt, c.root, c.stream)
		}
		if c.rank == c.root {
			for r := range c.ranks {
				if err := c.sendBlock(r, uint64(r)); err != nil {
					return err
				}
			}
		}
		return c.recvBlock(c.root, 0)
	},
}
