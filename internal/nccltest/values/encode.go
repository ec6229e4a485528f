package values

import (
	"math"

	"github.com/gofabric/gofabric/nccl"
)

// Bits returns element i as the bits of its type, in the low bytes.
func (s *Series) Bits(i uint64) uint64 {
	n, d := s.value(i)
	switch s.Type {
	case nccl.Float16:
		return pack(n, d, 5, 10)
	case nccl.BFloat16:
		return pack(n, d, 8, 7)
	case nccl.Float8E4M3:
		return pack(n, d, 4, 3)
	case nccl.Float8E5M2:
		return pack(n, d, 5, 2)
	case nccl.Float32:
		return uint64(math.Float32bits(float32(float64(n) / float64(d))))
	case nccl.Float64:
		return math.Float64bits(float64(n) / float64(d))
	}
	return uint64(n) & (1<<(8*s.Type.Size()) - 1)
}

// pack rounds n/d, which is in the type's range, to a float with that many bits
// of exponent and mantissa.
func pack(n int64, d uint64, exponentBits, mantissaBits int) uint64 {
	if n == 0 {
		return 0
	}
	var sign uint64
	if n < 0 {
		sign, n = 1<<(exponentBits+mantissaBits), -n
	}
	v := float64(n) / float64(d)
	bias := 1<<(exponentBits-1) - 1
	_, exponent := math.Frexp(v)
	exponent = max(exponent-1, 1-bias)
	// A normal number's leading one adds one to the exponent below it.
	steps := uint64(math.RoundToEven(math.Ldexp(v, mantissaBits-exponent)))
	return sign | uint64(exponent+bias-1)<<mantissaBits + steps
}
