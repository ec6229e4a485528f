package cuda

import (
	"fmt"
	"math"
)

// Span is a piece of memory that a GPU can reach: its own, a peer's, or pinned
// memory of the host. It is a plain value that names the memory and does not keep
// it: whoever uses a Span keeps the buffer that it came from open.
type Span struct {
	Addr uint64
	Len  uint64 // bytes
}

// At returns n bytes of the span from off. It fails with ErrOutOfRange if they do
// not lie within it.
func (s Span) At(off, n uint64) (Span, error) {
	if off > s.Len || n > s.Len-off {
		return Span{}, fmt.Errorf("cuda: %w: %d bytes from %d of %d", ErrOutOfRange, n, off, s.Len)
	}
	return Span{Addr: s.Addr + off, Len: n}, nil
}

// valid reports whether the span can be memory at all.
func (s Span) valid() bool { return s.Len == 0 || s.Addr != 0 && s.Len-1 <= math.MaxUint64-s.Addr }
