package cuda

import (
	"testing"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/stretchr/testify/assert"
)

func TestArgsAreAligned(t *testing.T) {
	var a Args
	a.Uint8(1).Uint32(2).Uint8(3).Uint16(4).Uint8(5).Float64(0).Float32(1).Struct([]byte{7, 8, 9}, 1).Pointer(Span{Addr: 10})
	assert.Equal(t, []ccuda.Param{
		{Offset: 0, Size: 1}, {Offset: 4, Size: 4}, {Offset: 8, Size: 1}, {Offset: 10, Size: 2}, {Offset: 12, Size: 1},
		{Offset: 16, Size: 8}, {Offset: 24, Size: 4}, {Offset: 28, Size: 3}, {Offset: 32, Size: 8},
	}, a.places)
	assert.Len(t, a.buf, 40)
	assert.Empty(t, a.Reset().buf)
}

func FuzzSpanAt(f *testing.F) {
	f.Add(uint64(0), uint64(0), uint64(0), uint64(0))
	f.Add(uint64(1<<63), uint64(1<<20), uint64(1<<20), uint64(1))
	f.Add(uint64(4096), uint64(64), ^uint64(0), uint64(2))
	f.Fuzz(func(t *testing.T, addr, length, off, n uint64) {
		s := Span{Addr: addr, Len: length}
		if !s.valid() {
			return
		}
		part, err := s.At(off, n)
		if err != nil {
			assert.ErrorIs(t, err, ErrOutOfRange)
			return
		}
		assert.True(t, off <= length && n <= length-off)
		assert.Equal(t, Span{Addr: addr + off, Len: n}, part)
	})
}
