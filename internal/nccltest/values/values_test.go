package values

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nccl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is how many elements are looked at.
var sample = 200

func init() {
	if testutil.Race { // it is arithmetic
		sample = 25
	}
}

// decode is the number that bits of a type stand for.
func decode(dt nccl.DataType, bits uint64) float64 {
	float := func(exponentBits, mantissaBits int) float64 {
		mantissa := bits & (1<<mantissaBits - 1)
		exponent := int(bits >> mantissaBits & (1<<exponentBits - 1))
		bias := 1<<(exponentBits-1) - 1
		v := math.Ldexp(float64(mantissa), 1-bias-mantissaBits)
		if exponent != 0 {
			v = math.Ldexp(float64(mantissa|1<<mantissaBits), exponent-bias-mantissaBits)
		}
		if bits>>(exponentBits+mantissaBits)&1 != 0 {
			return -v
		}
		return v
	}
	switch dt {
	case nccl.Int8:
		return float64(int8(bits))
	case nccl.Int32:
		return float64(int32(bits))
	case nccl.Int64:
		return float64(int64(bits))
	case nccl.Float16:
		return float(5, 10)
	case nccl.BFloat16:
		return float(8, 7)
	case nccl.Float8E4M3:
		return float(4, 3)
	case nccl.Float8E5M2:
		return float(5, 2)
	case nccl.Float32:
		return float64(math.Float32frombits(uint32(bits)))
	case nccl.Float64:
		return math.Float64frombits(bits)
	}
	return float64(bits)
}

// reduce is the exact reduction of inputs.
func reduce(op Op, dt nccl.DataType, inputs []float64) *big.Rat {
	rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	total := rat(inputs[0])
	if op == MulSum {
		total.Mul(total, rat(Factor(0)))
	}
	for rank, v := range inputs[1:] {
		x := rat(v)
		switch op {
		case Prod:
			total.Mul(total, x)
		case Max:
			if x.Cmp(total) > 0 {
				total = x
			}
		case Min:
			if x.Cmp(total) < 0 {
				total = x
			}
		case MulSum:
			total.Add(total, x.Mul(x, rat(Factor(rank+1))))
		default:
			total.Add(total, x)
		}
	}
	if op == Avg {
		total.Quo(total, rat(float64(len(inputs))))
	}
	return total
}

// TestResultIsTheReductionOfTheInputs compares with exact arithmetic.
func TestResultIsTheReductionOfTheInputs(t *testing.T) {
	for _, dt := range nccl.DataTypes() {
		for _, op := range Ops() {
			for _, ranks := range []int{1, 2, 3, 4, 7, 8, 64} {
				t.Run(fmt.Sprintf("%v/%v/%d", dt, op, ranks), func(t *testing.T) {
					s := Series{Type: dt, Op: op, Ranks: ranks, Seed: 5, First: 1 << 33}
					distinct := map[uint64]bool{}
					for i := range uint64(sample) {
						inputs := make([]float64, ranks)
						s.Kind = Input
						for r := range inputs {
							s.Rank = r
							inputs[r] = decode(dt, s.Bits(i))
						}
						s.Kind = Result
						bits := s.Bits(i)
						distinct[bits] = true
						got := new(big.Rat).SetFloat64(decode(dt, bits))
						want := reduce(op, dt, inputs)
						if s.Tolerance() == 0 {
							require.Zero(t, want.Cmp(got), "element %d of %v: %v, want %v", i, inputs, got, want)
							continue
						}
						w, _ := want.Float64()
						require.InEpsilon(t, 1+math.Abs(w), 1+math.Abs(decode(dt, bits)), 0.13)
					}
					assert.Greater(t, len(distinct), 1)
				})
			}
		}
	}
}

// TestOneAlteredElementIsOneMismatch changes one bit, in each type.
func TestOneAlteredElementIsOneMismatch(t *testing.T) {
	for _, dt := range nccl.DataTypes() {
		for _, op := range Ops() {
			for _, ranks := range []int{2, 3} {
				s := Series{Type: dt, Kind: Result, Op: op, Ranks: ranks, Seed: 1}
				memory := make([]byte, sample*dt.Size())
				s.Fill(memory)
				require.Zero(t, s.Mismatches(memory), "%v %v", dt, op)
				memory[17*dt.Size()+dt.Size()-1] ^= 0x40
				require.EqualValues(t, 1, s.Mismatches(memory), "%v %v", dt, op)
			}
		}
	}
}

// TestToleranceIsTwoUnits alters by units in the last place.
func TestToleranceIsTwoUnits(t *testing.T) {
	s := Series{Type: nccl.Float32, Kind: Result, Op: Avg, Ranks: 3}
	memory := make([]byte, 4*sample)
	s.Fill(memory)
	at := memory[40:]
	store(at, 4, load(at, 4)+2)
	assert.Zero(t, s.Mismatches(memory))
	store(at, 4, load(at, 4)+1)
	assert.EqualValues(t, 1, s.Mismatches(memory))
	assert.EqualValues(t, 3, distance(1, 1<<31|2, 4), "across zero")
}

// TestVectors pins the series: a kernel computes the same.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		series Series
		want   []uint64
	}{
		{Series{Type: nccl.Uint64, Kind: Input, Op: Sum, Ranks: 4, Rank: 1, Seed: 3}, []uint64{0xe24e8bbbecb, 0x61eef2ff75f, 0x73afa29b413}},
		{Series{Type: nccl.Float32, Kind: Result, Op: Prod, Ranks: 4, Seed: 3}, []uint64{0x40c00000, 0x45000000, 0xc6400000}},
		{Series{Type: nccl.Float8E5M2, Kind: Result, Op: Avg, Ranks: 4, Seed: 3}, []uint64{0x3c, 0xbd, 0x0}},
	} {
		var got []uint64
		for i := range uint64(3) {
			got = append(got, c.series.Bits(i))
		}
		assert.Equal(t, c.want, got)
	}
	var zero Series
	memory := []byte{1, 2}
	assert.EqualValues(t, 2, zero.Mismatches(memory))
	zero.Fill(memory)
	assert.Equal(t, []byte{0, 0}, memory)
}

func TestOps(t *testing.T) {
	for _, op := range Ops() {
		parsed, err := ParseOp(op.String())
		require.NoError(t, err)
		assert.Equal(t, op, parsed)
	}
	_, err := ParseOp("xor")
	require.Error(t, err)
	_, own := MulSum.RedOp()
	assert.False(t, own)
	assert.Equal(t, "Op(9)", Op(9).String())
}
