package cuda

import (
	"encoding/binary"
	"math"

	"github.com/gofabric/gofabric/internal/ccuda"
)

// Args are the arguments of a kernel, in order. The zero Args has none. Filled
// again after Reset it allocates nothing. It belongs to one goroutine at a time.
type Args struct {
	buf    []byte
	places []ccuda.Param
}

// Reset empties the list and keeps its memory.
func (a *Args) Reset() *Args {
	a.buf, a.places = a.buf[:0], a.places[:0]
	return a
}

// place begins an argument at the next multiple of its alignment.
func (a *Args) place(size, align int) {
	for len(a.buf)%align != 0 {
		a.buf = append(a.buf, 0)
	}
	a.places = append(a.places, ccuda.Param{Offset: uint64(len(a.buf)), Size: uint64(size)})
}

// Uint8 appends an argument of 1 byte: bool, char.
func (a *Args) Uint8(v uint8) *Args {
	a.place(1, 1)
	a.buf = append(a.buf, v)
	return a
}

// Uint16 appends an argument of 2 bytes: short, or the bits of a half.
func (a *Args) Uint16(v uint16) *Args {
	a.place(2, 2)
	a.buf = binary.NativeEndian.AppendUint16(a.buf, v)
	return a
}

// Uint32 appends an argument of 4 bytes: int, unsigned.
func (a *Args) Uint32(v uint32) *Args {
	a.place(4, 4)
	a.buf = binary.NativeEndian.AppendUint32(a.buf, v)
	return a
}

// Uint64 appends an argument of 8 bytes: size_t, long long, a pointer.
func (a *Args) Uint64(v uint64) *Args {
	a.place(8, 8)
	a.buf = binary.NativeEndian.AppendUint64(a.buf, v)
	return a
}

// Pointer appends the address of the span's first byte.
func (a *Args) Pointer(s Span) *Args { return a.Uint64(s.Addr) }

// Float32 appends a float.
func (a *Args) Float32(v float32) *Args { return a.Uint32(math.Float32bits(v)) }

// Float64 appends a double.
func (a *Args) Float64(v float64) *Args { return a.Uint64(math.Float64bits(v)) }

// Struct appends an argument passed by value: its bytes, and its alignment, a
// power of two. An alignment below 1 counts as 1.
func (a *Args) Struct(v []byte, align int) *Args {
	a.place(len(v), max(align, 1))
	a.buf = append(a.buf, v...)
	return a
}

func (a *Args) bytes() []byte {
	if a == nil {
		return nil
	}
	return a.buf
}

func (a *Args) list() []ccuda.Param {
	if a == nil {
		return nil
	}
	return a.places
}
