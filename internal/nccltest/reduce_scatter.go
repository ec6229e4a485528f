package nccltest

var reduceScatter = collective{
	reduces: true,
	counts:  scatterCounts,
	traffic: exchangeTraffic,
	fill:    func(t *trial, rank int) []region { return []region{{0, t.counts.send, t.input(rank)}} },
	want: func(t *trial, rank int) []region {
		return []region{{t.inPlaceAt(t.counts.recvInPlace, rank), t.counts.recv, t.result(uint64(rank) * t.counts.recv)}}
	},
	record: func(c *call, _ int) error {
		return c.group.ReduceScatter(c.comm, c.send, c.recv, c.count, c.dt, c.redop, c.stream)
	},
}

// scatterCounts: all have all, and each gets a share.
func scatterCounts(_ *pattern, count, element, ranks uint64) counts {
	base := share(count, element, ranks)
	return counts{send: base * ranks, recv: base, param: base, recvInPlace: base}
}
