package values

import (
	"encoding/binary"
)

// Fill writes the series to memory, which is a whole number of elements.
func (s *Series) Fill(memory []byte) {
	if s.Kind == Zero {
		clear(memory)
		return
	}
	size := s.Type.Size()
	for i := range uint64(len(memory) / size) {
		store(memory[int(i)*size:], size, s.Bits(i))
	}
}

// Mismatches counts the elements of memory that differ from the series by more
// than its tolerance.
func (s *Series) Mismatches(memory []byte) (wrong uint64) {
	size, tolerance := s.Type.Size(), s.Tolerance()
	for i := range uint64(len(memory) / size) {
		got, want := load(memory[int(i)*size:], size), s.Bits(i)
		if got != want && (tolerance == 0 || distance(got, want, size) > tolerance) {
			wrong++
		}
	}
	return wrong
}

func store(to []byte, size int, bits uint64) {
	switch size {
	case 1:
		to[0] = byte(bits)
	case 2:
		binary.NativeEndian.PutUint16(to, uint16(bits))
	case 4:
		binary.NativeEndian.PutUint32(to, uint32(bits))
	default:
		binary.NativeEndian.PutUint64(to, bits)
	}
}

func load(from []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(from[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(from))
	case 4:
		return uint64(binary.NativeEndian.Uint32(from))
	}
	return binary.NativeEndian.Uint64(from)
}

// distance is how many numbers of a float type lie between two: the bits of
// numbers of one sign are in their order.
func distance(a, b uint64, size int) uint64 {
	sign := uint64(1) << (8*size - 1)
	if a&sign != b&sign {
		return a&^sign + b&^sign
	}
	return max(a, b) - min(a, b)
}
