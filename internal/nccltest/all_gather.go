package nccltest

var allGather = collective{
	counts:  gatherCounts,
	traffic: exchangeTraffic,
	fill:    gatherFill,
	want:    gatherWant,
	record: func(c *call, _ int) error {
		return c.group.AllGather(c.comm, c.send, c.recv, c.count, c.dt, c.stream)
	},
}

// gatherCounts: each rank has a share, and gets all.
func gatherCounts(_ *pattern, count, element, ranks uint64) counts {
	base := share(count, element, ranks)
	return counts{send: base, recv: base * ranks, param: base, sendInPlace: base}
}

func gatherFill(t *trial, rank int) []region {
	return []region{{t.inPlaceAt(t.counts.sendInPlace, rank), t.counts.send, t.data(t.of(rank), 0)}}
}

func gatherWant(t *trial, _ int) []region {
	var list []region
	for r := range t.ranks {
		list = append(list, region{uint64(r) * t.counts.send, t.counts.send, t.data(t.of(r), 0)})
	}
	return list
}
