package nccl

import (
	"encoding/binary"
	"math"
)

// encodeScalar writes v as one element of dt. An integer must be exact; a float
// is rounded to the nearest, to even when there are two.
func encodeScalar(dt DataType, v float64) ([]byte, error) {
	switch dt {
	case Float64:
		return binary.NativeEndian.AppendUint64(nil, math.Float64bits(v)), nil
	case Float32:
		return binary.NativeEndian.AppendUint32(nil, math.Float32bits(float32(v))), nil
	case Float16:
		return binary.NativeEndian.AppendUint16(nil, uint16(encodeFloat(v, 5, 10, true))), nil
	case BFloat16:
		return binary.NativeEndian.AppendUint16(nil, uint16(encodeFloat(v, 8, 7, true))), nil
	case Float8E4M3:
		return []byte{byte(encodeFloat(v, 4, 3, false))}, nil
	case Float8E5M2:
		return []byte{byte(encodeFloat(v, 5, 2, true))}, nil
	}
	return encodeInteger(dt, v)
}

func encodeInteger(dt DataType, v float64) ([]byte, error) {
	type bounds struct{ low, high float64 } // high is not included
	limits := map[DataType]bounds{
		Int8: {-1 << 7, 1 << 7}, Uint8: {0, 1 << 8}, Int32: {-1 << 31, 1 << 31}, Uint32: {0, 1 << 32},
		Int64: {-1 << 63, 1 << 63}, Uint64: {0, 1 << 64},
	}
	limit, ok := limits[dt]
	if !ok {
		return nil, badArgument("no data type has the number %d", int(dt))
	}
	if v != math.Trunc(v) || !(v >= limit.low && v < limit.high) {
		return nil, badArgument("%v is no %v", v, dt)
	}
	bits := uint64(int64(v))
	if dt == Uint64 {
		bits = uint64(v)
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:dt.Size()], nil
}

// encodeFloat rounds v to a float with the given bits of exponent and mantissa.
// Without infinity (e4m3) the top exponent holds numbers too, all ones is not a
// number, and what is too large becomes that.
func encodeFloat(v float64, exponentBits, mantissaBits int, infinity bool) uint32 {
	bias := 1<<(exponentBits-1) - 1
	top := uint32(1)<<exponentBits - 1
	sign := uint32(math.Float64bits(v)>>63) << (exponentBits + mantissaBits)
	if v == 0 {
		return sign
	}
	mantissaMask := uint32(1)<<mantissaBits - 1
	if math.IsNaN(v) {
		return sign | top<<mantissaBits | mantissaMask
	}
	tooLarge := top << mantissaBits
	most := tooLarge - 1
	if !infinity {
		tooLarge |= mantissaMask
		most = tooLarge - 1
	}
	if math.IsInf(v, 0) {
		return sign | tooLarge
	}
	_, exponent := math.Frexp(v)
	exponent = max(exponent-1, 1-bias) // below that, the numbers are subnormal
	steps := math.RoundToEven(math.Ldexp(math.Abs(v), mantissaBits-exponent))
	// A mantissa that rounds up to two carries into the exponent by itself.
	bits := steps + math.Ldexp(float64(exponent+bias-1), mantissaBits)
	if bits > float64(most) {
		return sign | tooLarge
	}
	return sign | uint32(bits)
}
