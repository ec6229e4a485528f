package nccltest

import (
	"github.com/gofabric/gofabric/internal/nccltest/values"
)

// collective is what one program times.
type collective struct {
	// reduces: -o counts. labelled: -o only changes the label of the rows.
	reduces, labelled bool
	// rooted: -r counts.
	rooted bool
	// unlabelled rows have an empty operation instead of "none".
	unlabelled bool
	// garbled: in place, the result is undefined and not checked.
	garbled bool
	// powerOfTwo: only that many ranks can take part.
	powerOfTwo bool

	// counts divides count elements of the size among the ranks.
	counts func(p *pattern, count, element, ranks uint64) counts
	// traffic is the bytes that the algorithm bandwidth counts, and the bus
	// bandwidth's share of them.
	traffic func(t *trial) (bytes, factor float64)
	// fill is what a rank's input buffer holds before the operation: of the
	// send buffer, or in place of the receive buffer.
	fill func(t *trial, rank int) []region
	// want is what a rank's receive buffer holds after it.
	want func(t *trial, rank int) []region
	// stages is how many groups one operation takes; nil is one.
	stages func(ranks int) int
	// record puts one rank's part of one stage into a group.
	record func(c *call, stage int) error
}

// counts are in elements. The in-place offsets count once for each lower rank.
type counts struct {
	send, recv, param        uint64
	sendInPlace, recvInPlace uint64
}

// region is a piece of a buffer and what it holds; offset and count are in
// elements.
type region struct {
	offset, count uint64
	series        values.Series
}

// wholeCounts: every rank sends and receives all of the size.
func wholeCounts(_ *pattern, count, _, _ uint64) counts {
	return counts{send: count, recv: count, param: count}
}

// share is one rank's part of count elements, rounded down to 16 bytes.
func share(count, element, ranks uint64) uint64 { return count / ranks &^ (16/element - 1) }

// Bandwidths.

func onceTraffic(t *trial) (float64, float64) { return t.paramBytes(), 1 }

func exchangeTraffic(t *trial) (float64, float64) {
	n := float64(t.ranks)
	return t.paramBytes() * n, (n - 1) / n
}

// Series.

// input is a rank's input of a reduction.
func (t *trial) input(rank int) values.Series {
	return values.Series{Type: t.dt, Kind: values.Input, Op: t.op, Ranks: t.ranks, Rank: rank, Seed: t.rep}
}

// result is what the inputs reduce to, from element first on.
func (t *trial) result(first uint64) values.Series {
	return values.Series{Type: t.dt, Kind: values.Result, Op: t.op, Ranks: t.ranks, Seed: t.rep, First: first}
}

// data is what an operation only moves.
func (t *trial) data(seed, first uint64) values.Series {
	return values.Series{Type: t.dt, Kind: values.Input, Op: values.Sum, Ranks: 1, Seed: seed, First: first}
}

// of is the seed of data that each rank has of its own.
func (t *trial) of(rank int) uint64 { return 33*t.rep + uint64(rank) }

// zeros are memory that an operation leaves alone.
func (t *trial) zeros() values.Series { return values.Series{Type: t.dt} }
