package nccltest

// sendRecv sends to the next rank and receives from the one before.
var sendRecv = collective{
	labelled: true,
	garbled:  true,
	counts:   wholeCounts,
	traffic:  onceTraffic,
	fill: func(t *trial, rank int) []region {
		return []region{{0, t.counts.send, t.data(t.rep, uint64(rank)*t.counts.send)}}
	},
	want: func(t *trial, rank int) []region {
		before := (rank - 1 + t.ranks) % t.ranks
		return []region{{0, t.counts.recv, t.data(t.rep, uint64(before)*t.counts.recv)}}
	},
	record: func(c *call, _ int) error {
		if err := c.group.Send(c.comm, c.send, c.count, c.dt, (c.rank+1)%c.ranks, c.stream); err != nil {
			return err
		}
		return c.group.Recv(c.comm, c.recv, c.count, c.dt, (c.rank-1+c.ranks)%c.ranks, c.stream)
	},
}
