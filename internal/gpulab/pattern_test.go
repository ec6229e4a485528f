//go:build linux && cgo

package gpulab

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/gofabric/gofabric/nccl"
)

// Values are small integers that every type on the way to the result holds
// exactly, so that the order of a reduction does not matter and the check is one
// of bytes.

// encode writes v, from 0 to 255, as an element of dt.
func encode(dt nccl.DataType, v int) []byte {
	exponentBits, mantissaBits := 0, 0
	switch dt {
	case nccl.Float64:
		exponentBits, mantissaBits = 11, 52
	case nccl.Float32:
		exponentBits, mantissaBits = 8, 23
	case nccl.Float16:
		exponentBits, mantissaBits = 5, 10
	case nccl.BFloat16:
		exponentBits, mantissaBits = 8, 7
	case nccl.Float8E4M3:
		exponentBits, mantissaBits = 4, 3
	case nccl.Float8E5M2:
		exponentBits, mantissaBits = 5, 2
	}
	code := uint64(v)
	if exponentBits > 0 && v > 0 {
		exponent := bits.Len(uint(v)) - 1
		fraction := uint64(v) - 1<<exponent
		if exponent > mantissaBits {
			fraction >>= exponent - mantissaBits
		} else {
			fraction <<= mantissaBits - exponent
		}
		bias := 1<<(exponentBits-1) - 1
		code = uint64(exponent+bias)<<mantissaBits | fraction
	}
	return binary.LittleEndian.AppendUint64(nil, code)[:dt.Size()]
}

// repeated is count elements of one value.
func repeated(dt nccl.DataType, v, count int) []byte {
	data := make([]byte, count*dt.Size())
	fill(data, encode(dt, v))
	return data
}

// fill repeats a pattern through dst.
func fill(dst, pattern []byte) {
	for n := copy(dst, pattern); n > 0 && n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// difference is the first byte at which two differ, or -1.
func difference(got, want []byte) int {
	if bytes.Equal(got, want) {
		return -1
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return i
		}
	}
	return min(len(got), len(want))
}

// period is after how many elements values repeat: a prime, so that no block
// begins like another.
const period = 1009

// kind is a choice of values, for operations that have the same limits.
type kind int

const (
	forSums kind = iota // sum, max, min, copies
	forProducts
	forAverages
	forDoubles // sums of what is doubled before
)

func kindOf(op nccl.RedOp) kind {
	switch op {
	case nccl.Prod:
		return forProducts
	case nccl.Avg:
		return forAverages
	}
	return forSums
}

// value is element i of a rank of n.
func (k kind) value(dt nccl.DataType, n, rank, i int) int {
	i %= period
	noise := int(uint32(i*40503+rank*9973) >> 3)
	small := dt == nccl.Float8E4M3 || dt == nccl.Float8E5M2
	switch k {
	case forProducts:
		return 1 + noise%2
	case forAverages:
		if small {
			return n * (noise % (max(8/n/n, 1) + 1))
		}
		return n * (noise % 8)
	case forDoubles:
		if small {
			return noise % (max(4/n, 1) + 1)
		}
		return noise % 8
	}
	if small {
		return noise % (8/n + 1)
	}
	return noise % 16
}

// input is a period of what a rank gives.
func (k kind) input(dt nccl.DataType, n, rank int) []byte {
	var data []byte
	for i := range period {
		data = append(data, encode(dt, k.value(dt, n, rank, i))...)
	}
	return data
}

// reduced is a period of the result of a reduction.
func (k kind) reduced(dt nccl.DataType, op nccl.RedOp, n int) []byte {
	var data []byte
	for i := range period {
		acc := k.value(dt, n, 0, i)
		for rank := 1; rank < n; rank++ {
			v := k.value(dt, n, rank, i)
			switch op {
			case nccl.Prod:
				acc *= v
			case nccl.Max:
				acc = max(acc, v)
			case nccl.Min:
				acc = min(acc, v)
			default:
				acc += v
			}
		}
		switch {
		case op == nccl.Avg:
			acc /= n
		case k == forDoubles:
			acc *= 2
		}
		data = append(data, encode(dt, acc)...)
	}
	return data
}
