package nccltest

var reduce = collective{
	reduces: true,
	rooted:  true,
	counts:  wholeCounts,
	traffic: onceTraffic,
	fill:    func(t *trial, rank int) []region { return []region{{0, t.counts.send, t.input(rank)}} },
	want: func(t *trial, rank int) []region {
		series := t.result(0)
		switch {
		case rank == t.root:
		case t.inPlace:
			series = t.input(rank)
		default:
			series = t.zeros()
		}
		return []region{{0, t.counts.recv, series}}
	},
	record: func(c *call, _ int) error {
		return c.group.Reduce(c.comm, c.send, c.recv, c.count, c.dt, c.redop, c.root, c.stream)
	},
}
