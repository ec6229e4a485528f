package values

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nccl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// arithmetic is a type's own: what NCCL does with two elements on a GPU, on
// their bits.
type arithmetic struct {
	dt nccl.DataType
	// numbers are the positive numbers of a small float, at their bits: the bits
	// are in the numbers' order.
	numbers []float64
}

func arithmeticOf(dt nccl.DataType) *arithmetic {
	a := &arithmetic{dt: dt}
	infinity, small := map[nccl.DataType]uint64{
		nccl.Float16:    0x7c00,
		nccl.BFloat16:   0x7f80,
		nccl.Float8E4M3: 0x7f, // not a number: there is no infinity
		nccl.Float8E5M2: 0x7c,
	}[dt]
	for bits := uint64(0); small && bits < infinity; bits++ {
		a.numbers = append(a.numbers, decode(dt, bits))
	}
	return a
}

func (a *arithmetic) mask() uint64 { return math.MaxUint64 >> (64 - 8*a.dt.Size()) }

func (a *arithmetic) sign() uint64 { return 1 << (8*a.dt.Size() - 1) }

func (a *arithmetic) decode(bits uint64) float64 {
	if a.numbers == nil {
		return decode(a.dt, bits)
	}
	v := a.numbers[bits&^a.sign()]
	if bits&a.sign() != 0 {
		return -v
	}
	return v
}

// round encodes the nearest number of a float type, ties to even, in a way that
// owes nothing to pack.
func (a *arithmetic) round(t testing.TB, v float64) uint64 {
	switch a.dt {
	case nccl.Float32:
		return uint64(math.Float32bits(float32(v)))
	case nccl.Float64:
		return math.Float64bits(v)
	}
	size := math.Abs(v)
	bits, exact := slices.BinarySearch(a.numbers, size)
	if bits == len(a.numbers) {
		require.Fail(t, "a number overflows", "%v %v", a.dt, v)
	}
	if !exact {
		below, above := size-a.numbers[bits-1], a.numbers[bits]-size
		if below < above || below == above && bits&1 != 0 {
			bits--
		}
	}
	if math.Signbit(v) {
		return uint64(bits) | a.sign()
	}
	return uint64(bits)
}

func (a *arithmetic) combine(t testing.TB, op Op, x, y uint64) uint64 {
	switch op {
	case Max, Min:
		if (a.decode(x) > a.decode(y)) == (op == Max) {
			return x
		}
		return y
	case Prod:
		if Float(a.dt) {
			return a.round(t, a.decode(x)*a.decode(y))
		}
		return x * y & a.mask()
	}
	if Float(a.dt) {
		return a.round(t, a.decode(x)+a.decode(y))
	}
	return (x + y) & a.mask()
}

func (a *arithmetic) multiply(t testing.TB, x uint64, by float64) uint64 {
	if Float(a.dt) {
		return a.round(t, a.decode(x)*by)
	}
	return x * uint64(by) & a.mask()
}

// reciprocal is 1/ranks as a communicator has it.
func (a *arithmetic) reciprocal(t testing.TB, ranks int) float64 {
	if a.dt == nccl.Float64 {
		return 1 / float64(ranks)
	}
	return a.decode(a.round(t, float64(float32(1/float64(ranks)))))
}

// before is what is done with each input, after what with the end of the
// reduction.
type method struct {
	name   string
	before func(rank int, x uint64) uint64
	after  func(x uint64) uint64
}

func (a *arithmetic) methods(t testing.TB, op Op, ranks int) []method {
	same := func(x uint64) uint64 { return x }
	each := func(_ int, x uint64) uint64 { return x }
	switch {
	case op == MulSum:
		return []method{{"factor", func(rank int, x uint64) uint64 { return a.multiply(t, x, Factor(rank)) }, same}}
	case op == Avg && Float(a.dt):
		r := a.reciprocal(t, ranks)
		return []method{
			{"multiply first", func(_ int, x uint64) uint64 { return a.multiply(t, x, r) }, same},
			{"multiply last", each, func(x uint64) uint64 { return a.multiply(t, x, r) }},
			{"divide last", each, func(x uint64) uint64 { return a.round(t, a.decode(x)/float64(ranks)) }},
		}
	case op == Avg:
		return []method{{"divide last", each, func(x uint64) uint64 {
			if Signed(a.dt) {
				// decode is exact: no sum is beyond 2^46.
				return uint64(int64(a.decode(x))/int64(ranks)) & a.mask()
			}
			return x / uint64(ranks)
		}}}
	}
	return []method{{"plain", each, same}}
}

// order reduces a list in one of the orders that algorithms have.
type order struct {
	name   string
	reduce func(list []uint64, two func(x, y uint64) uint64) uint64
}

func orders(r *rand.Rand) []order {
	chain := func(list []uint64, two func(x, y uint64) uint64) uint64 {
		total := list[0]
		for _, x := range list[1:] {
			total = two(total, x)
		}
		return total
	}
	return []order{
		{"chain", chain},
		{"ring from a random rank", func(list []uint64, two func(x, y uint64) uint64) uint64 {
			k := r.IntN(len(list))
			return chain(append(list[k:len(list):len(list)], list[:k]...), two)
		}},
		{"halves", func(list []uint64, two func(x, y uint64) uint64) uint64 {
			list = append([]uint64(nil), list...)
			for n := len(list); n > 1; n = (n + 1) / 2 {
				for i := range n / 2 {
					list[i] = two(list[i], list[n-1-i])
				}
			}
			return list[0]
		}},
		{"random tree", func(list []uint64, two func(x, y uint64) uint64) uint64 {
			list = append([]uint64(nil), list...)
			for n := len(list); n > 1; n-- {
				r.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
				list[n-2] = two(list[n-1], list[n-2])
			}
			return list[0]
		}},
	}
}

// requireOrderDoesNotMatter reduces some elements in all orders, rounding to the
// type at each step.
func requireOrderDoesNotMatter(t *testing.T, a *arithmetic, op Op, ranks, elements int, list []order) {
	dt := a.dt
	s := Series{Type: dt, Op: op, Ranks: ranks, Seed: uint64(ranks)}
	for i := range uint64(elements) {
		s.Kind = Result
		want := s.Bits(i)
		s.Kind = Input
		inputs := make([]uint64, ranks)
		for r := range inputs {
			s.Rank = r
			inputs[r] = s.Bits(i)
		}
		s.Kind = Result
		for _, m := range a.methods(t, op, ranks) {
			given := make([]uint64, ranks)
			for r, x := range inputs {
				given[r] = m.before(r, x)
			}
			for _, o := range list {
				got := m.after(o.reduce(given, func(x, y uint64) uint64 { return a.combine(t, op, x, y) }))
				if got != want && (s.Tolerance() == 0 || distance(got, want, dt.Size()) > s.Tolerance()) {
					require.Fail(t, "the order matters", "%v %v of %d ranks, element %d, %s, %s: %#x, want %#x of %#x",
						dt, op, ranks, i, o.name, m.name, got, want, inputs)
				}
			}
		}
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	for _, dt := range nccl.DataTypes() {
		for _, op := range Ops() {
			t.Run(dt.String()+"/"+op.String(), func(t *testing.T) {
				t.Parallel()
				a := arithmeticOf(dt)
				list := orders(rand.New(rand.NewPCG(1, 2)))
				elements := 6
				if testutil.Race { // it is arithmetic
					elements = 1
				}
				for ranks := 1; ranks <= 64; ranks++ {
					requireOrderDoesNotMatter(t, a, op, ranks, elements, list)
				}
				for _, ranks := range []int{192, 193, 255, 256, 257, 512, 513, 1024, 32768} {
					requireOrderDoesNotMatter(t, a, op, ranks, (elements+1)/2, list[:2])
				}
			})
		}
	}
}

// TestNoRankIsMissed leaves out one rank's input, and adds one twice: some element
// shows either.
func TestNoRankIsMissed(t *testing.T) {
	const elements = 400
	for _, dt := range nccl.DataTypes() {
		a := arithmeticOf(dt)
		for _, op := range Ops() {
			for _, ranks := range []int{2, 3, 8, 64} {
				m := a.methods(t, op, ranks)[0]
				for _, rank := range []int{0, ranks / 2, ranks - 1} {
					missed, doubled := false, false
					for i := uint64(0); i < elements && !(missed && doubled); i++ {
						s := Series{Type: dt, Kind: Input, Op: op, Ranks: ranks, Seed: 3}
						var without, twice []float64
						for s.Rank = range ranks {
							x := a.decode(m.before(s.Rank, s.Bits(i)))
							twice = append(twice, x)
							if s.Rank != rank {
								without = append(without, x)
							} else {
								twice = append(twice, x)
							}
						}
						s.Kind = Result
						missed = missed || a.shows(without, &s, i)
						doubled = doubled || a.shows(twice, &s, i)
					}
					assert.True(t, missed, "%v %v: rank %d of %d is not missed", dt, op, rank, ranks)
					// An extreme stands however often it is there, and an average
					// of many bytes loses a share of 1 with the remainder.
					if op != Max && op != Min && (op != Avg || Float(dt) || dt.Size() > 1 || ranks < 64) {
						assert.True(t, doubled, "%v %v: rank %d of %d may count twice", dt, op, rank, ranks)
					}
				}
			}
		}
	}
}

// shows reports whether element i is not what a list reduces to, far beyond a
// tolerance.
func (a *arithmetic) shows(list []float64, s *Series, i uint64) bool {
	total := list[0]
	for _, v := range list[1:] {
		switch s.Op {
		case Prod:
			total *= v
		case Max:
			total = max(total, v)
		case Min:
			total = min(total, v)
		default:
			total += v
		}
	}
	if s.Op == Avg && !Float(a.dt) {
		total = math.Trunc(total / float64(s.Ranks))
	}
	want := a.decode(s.Bits(i))
	if s.Tolerance() == 0 {
		return total != want
	}
	return math.Abs(total-want) > 0.5*math.Abs(want)
}
