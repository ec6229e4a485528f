package nccltest

var broadcast = collective{
	rooted:  true,
	counts:  wholeCounts,
	traffic: onceTraffic,
	fill: func(t *trial, rank int) []region {
		if rank != t.root {
			return nil
		}
		return []region{{0, t.counts.send, t.data(t.rep, 0)}}
	},
	want: func(t *trial, _ int) []region { return []region{{0, t.counts.recv, t.data(t.rep, 0)}} },
	record: func(c *call, _ int) error {
		return c.group.Broadcast(c.comm, c.send, c.recv, c.count, c.dt, c.root, c.stream)
	},
}
