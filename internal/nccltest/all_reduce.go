package nccltest

var allReduce = collective{
	reduces: true,
	counts:  wholeCounts,
	traffic: func(t *trial) (float64, float64) {
		n := float64(t.ranks)
		return t.paramBytes(), 2 * (n - 1) / n
	},
	fill: func(t *trial, rank int) []region { return []region{{0, t.counts.send, t.input(rank)}} },
	want: func(t *trial, _ int) []region { return []region{{0, t.counts.recv, t.result(0)}} },
	record: func(c *call, _ int) error {
		return c.group.AllReduce(c.comm, c.send, c.recv, c.count, c.dt, c.redop, c.stream)
	},
}
