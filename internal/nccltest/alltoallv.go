package nccltest

import "github.com/gofabric/gofabric/internal/nccltest/values"

// allToAllV is an all-to-all in which each pair of ranks has a size of its own,
// by the pattern.
var allToAllV = collective{
	garbled: true,
	counts: func(p *pattern, count, element, ranks uint64) counts {
		var c counts
		if p.matrix == nil {
			c.param = share(count, element, ranks)
		}
		total := c.param * ranks * element
		c.send, c.recv = p.most(int(ranks), element, total)
		return c
	},
	traffic: func(t *trial) (float64, float64) {
		n := float64(t.ranks)
		most := max(t.counts.send, t.counts.recv)
		return float64(most) * float64(t.dt.Size()), (n - 1) / n
	},
	fill: func(t *trial, rank int) []region {
		var total uint64
		for r := range t.ranks {
			total += t.between(rank, r)
		}
		return []region{{0, total, t.data(t.of(rank), 0)}}
	},
	want: func(t *trial, rank int) []region {
		var (
			list []region
			at   uint64
		)
		for from := range t.ranks {
			var first uint64
			for to := range rank {
				first += t.between(from, to)
			}
			n := t.between(from, rank)
			list = append(list, region{at, n, t.data(t.of(from), first)})
			at += n
		}
		return append(list, region{at, t.counts.recv - at, values.Series{Type: t.dt}})
	},
	record: func(c *call, _ int) error {
		var sent, received uint64
		for r := range c.ranks {
			if n := c.trial.between(c.rank, r); n > 0 {
				if err := c.sendPart(r, sent, n); err != nil {
					return err
				}
				sent += n
			}
			if n := c.trial.between(r, c.rank); n > 0 {
				if err := c.recvPart(r, received, n); err != nil {
					return err
				}
				received += n
			}
		}
		return nil
	},
}

// between is how many elements one rank sends to another.
func (t *trial) between(from, to int) uint64 {
	element := uint64(t.dt.Size())
	return t.pattern.bytes(from, to, t.ranks, t.counts.param*uint64(t.ranks)*element) / element
}
