package cuda

// Copy puts a copy between two pieces of memory on the stream: memory of GPUs,
// also of two, and pinned memory of the host, in any direction. Both are equally
// long, or it fails with ErrOutOfRange. They must not be freed before the copy is
// done. It allocates nothing.
//
// Implements: cuMemcpyAsync.
func (s *Stream) Copy(dst, src Span) error {
	const op = "copy"
	if err := s.use(); err != nil {
		return s.device().err(op, err)
	}
	defer s.life.Done()
	switch {
	case dst.Len != src.Len:
		return s.dev.outOfRange(op, "%d bytes to a place of %d", src.Len, dst.Len)
	case !dst.valid() || !src.valid():
		return s.dev.outOfRange(op, "%d bytes from %#x to %#x", src.Len, src.Addr, dst.Addr)
	case dst.Len == 0:
		return nil
	}
	return s.dev.check(op, s.dev.ctx.Copy(dst.Addr, src.Addr, dst.Len, s.h))
}

// Fill8 puts a fill with a byte on the stream. It allocates nothing.
//
// Implements: cuMemsetD8Async.
func (s *Stream) Fill8(dst Span, value uint8) error { return s.fill(dst, uint32(value), 1) }

// Fill16 puts a fill with a 16-bit value on the stream. Address and length must
// be multiples of 2, or it fails with ErrOutOfRange. It allocates nothing.
//
// Implements: cuMemsetD16Async.
func (s *Stream) Fill16(dst Span, value uint16) error { return s.fill(dst, uint32(value), 2) }

// Fill32 puts a fill with a 32-bit value on the stream. Address and length must
// be multiples of 4, or it fails with ErrOutOfRange. It allocates nothing.
//
// Implements: cuMemsetD32Async.
func (s *Stream) Fill32(dst Span, value uint32) error { return s.fill(dst, value, 4) }

func (s *Stream) fill(dst Span, value uint32, width uint64) error {
	const op = "fill"
	if err := s.use(); err != nil {
		return s.device().err(op, err)
	}
	defer s.life.Done()
	switch {
	case dst.Addr%width != 0 || dst.Len%width != 0 || !dst.valid():
		return s.dev.outOfRange(op, "%d bytes at %#x with values of %d bytes", dst.Len, dst.Addr, width)
	case dst.Len == 0:
		return nil
	}
	return s.dev.check(op, s.dev.ctx.Fill(dst.Addr, value, int(width), dst.Len/width, s.h))
}
