package values

import (
	"github.com/gofabric/gofabric/nccl"
)

// Kind is what a series stands for.
type Kind int32

const (
	// Zero is zeros, the same in every type.
	Zero Kind = iota
	// Input is what one rank gives to the operation. An operation that only
	// moves data has the input of the one rank of a sum over one rank.
	Input
	// Result is the reduction of all ranks' inputs.
	Result
)

// Series is a sequence of elements. The zero value is zeros of int8.
type Series struct {
	Type nccl.DataType
	Kind Kind
	Op   Op
	// Ranks is how many ranks take part, 1 to 32768; Rank is whose input it is.
	Ranks, Rank int
	// Seed tells one series from another.
	Seed uint64
	// First is the index of the first element of the memory that the series
	// fills.
	First uint64
}

// limits are the greatest absolute values: all integers up to it are exact in the
// type. Products are bounded by the exponent of two.
var limits = [...]struct{ integer, exponent uint64 }{
	nccl.Int8:       {1<<7 - 1, 5},
	nccl.Uint8:      {1<<7 - 1, 5},
	nccl.Int32:      {1 << 30, 14},
	nccl.Uint32:     {1 << 30, 14},
	nccl.Int64:      {1 << 46, 14},
	nccl.Uint64:     {1 << 46, 14},
	nccl.Float16:    {1 << 11, 14},
	nccl.Float32:    {1 << 24, 14},
	nccl.Float64:    {1 << 46, 14},
	nccl.BFloat16:   {1 << 8, 14},
	nccl.Float8E4M3: {1 << 4, 7},
	nccl.Float8E5M2: {1 << 3, 14},
}

// Signed reports whether the type has negative numbers.
func Signed(t nccl.DataType) bool {
	return t != nccl.Uint8 && t != nccl.Uint32 && t != nccl.Uint64
}

// Float reports whether the type is a floating-point one.
func Float(t nccl.DataType) bool { return t >= nccl.Float16 }

// Tolerance is how far an element may be from the series' in units in the last
// place: 2 for the average of floats over a number of ranks that is no power of
// two, else 0.
func (s *Series) Tolerance() uint64 {
	if s.Kind == Result && s.Op == Avg && Float(s.Type) && s.Ranks&(s.Ranks-1) != 0 {
		return 2
	}
	return 0
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// value returns element i as a quotient; the denominator is 1 but for averages.
func (s *Series) value(i uint64) (numerator int64, denominator uint64) {
	if s.Kind == Zero {
		return 0, 1
	}
	ranks := uint64(s.Ranks)
	h := mix(s.Seed*0x9e3779b97f4a7c15 + s.First + i + 1)
	h2 := mix(h)
	// The 48 high bits choose the size of the result, the 16 low ones turn the
	// ranks' shares of it around.
	size, turn := h>>16, h&0xffff%ranks
	place := (uint64(s.Rank) + turn) % ranks
	limit := limits[s.Type].integer
	switch s.Op {
	case Prod:
		return s.product(size%(limits[s.Type].exponent+1), place, h2), 1
	case Max, Min:
		return s.extreme(size, place, h, limit), 1
	case MulSum:
		return s.sign(h2, s.weighted(size%(limit/3+1), h2>>16%(limit/3+1), turn)), 1
	case Avg:
		return s.average(size, place, h2, limit)
	}
	return s.sign(h2, s.part(size%(limit+1), ranks, place)), 1
}

// part is the whole for a result, and for an input the share of the rank at
// place: the shares of all places add up to the whole.
func (s *Series) part(whole, places, place uint64) uint64 {
	if s.Kind == Result {
		return whole
	}
	share := whole / places
	if place < whole%places {
		share++
	}
	return share
}

// sign makes all ranks' inputs of an element negative, or none.
func (s *Series) sign(h2, v uint64) int64 {
	if h2&1 != 0 && Signed(s.Type) {
		return -int64(v)
	}
	return int64(v)
}

// average: the sum of an integer type is a multiple of the ranks, since NCCL
// drops the remainder.
//
// Of a float type, NCCL multiplies with 1/ranks, rounded: each input before it
// adds up, or the sum. Over a power of two that is exact. Over another number each
// addition of rounded inputs would round again, by more than the tolerance in the
// end, so one rank alone gives the whole.
func (s *Series) average(size, place, h2, limit uint64) (int64, uint64) {
	ranks := uint64(s.Ranks)
	if !Float(s.Type) {
		whole := size % (limit/ranks + 1) * ranks
		v := s.sign(h2, s.part(whole, ranks, place))
		if s.Kind == Result {
			v /= int64(ranks)
		}
		return v, 1
	}
	if s.Type == nccl.Float8E4M3 {
		limit = shortened(limit, ranks)
	}
	whole := size % (limit + 1)
	switch {
	case s.Kind == Result:
		return s.sign(h2, whole), ranks
	case ranks&(ranks-1) == 0:
		return s.sign(h2, s.part(whole, ranks, place)), 1
	case place != 0:
		return 0, 1
	}
	return s.sign(h2, whole), 1
}

// shortened is the limit of an average of e4m3: its least number is 2^-9, so that
// the reciprocal of many ranks has few bits left, and beyond 512 ranks none.
func shortened(limit, ranks uint64) uint64 {
	switch {
	case ranks > 512:
		return 0
	case ranks > 192:
		return 4
	}
	return limit
}

// product is 2^exponent, or three times that: the ranks share the exponent, one
// has the three, and some are negative.
func (s *Series) product(exponent, place, h2 uint64) int64 {
	ranks := uint64(s.Ranks)
	v := int64(1) << s.part(exponent, ranks, place)
	if h2>>32&1 != 0 && (s.Kind == Result || place == ranks-1) {
		v *= 3
	}
	negative := h2 >> 1 % (ranks + 1)
	if !Signed(s.Type) {
		return v
	}
	if s.Kind == Result && negative%2 != 0 || s.Kind == Input && place < negative {
		v = -v
	}
	return v
}

// extreme is the maximum at one place and less at all others. A minimum is the
// same upside down.
func (s *Series) extreme(size, place, h, limit uint64) int64 {
	depth := limit / 2
	low := int64(depth)
	if Signed(s.Type) {
		low = -low
	}
	span := limit + 1
	if !Signed(s.Type) {
		span -= depth
	}
	v := low + int64(size%span)
	if s.Kind == Input && place != 0 {
		v -= 1 + int64(mix(h+place)%depth)
	}
	switch {
	case s.Op == Max:
		return v
	case Signed(s.Type):
		return -v
	}
	return int64(limit) - v
}

// weighted is a sum in which the inputs of odd ranks count twice.
func (s *Series) weighted(even, odd, turn uint64) uint64 {
	evens, odds := uint64(s.Ranks+1)/2, uint64(s.Ranks)/2
	if odds == 0 {
		odd = 0
	}
	if s.Kind == Result {
		return even + 2*odd
	}
	place := uint64(s.Rank)/2 + turn
	if s.Rank%2 == 0 {
		return s.part(even, evens, place%evens)
	}
	return s.part(odd, odds, place%odds)
}
