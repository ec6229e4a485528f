package cuda

import (
	"fmt"
	"os"
)

// DMABuf exports n bytes of the buffer from off as a dma-buf, which other devices
// of the host can be given. The dma-buf covers the whole pages of the host that
// the bytes lie on: offset is where they begin in it. The caller closes fd; the
// memory must not be freed before whoever uses the dma-buf has let go of it.
//
// Memory from Alloc may share its first and last page with other buffers of the
// process, and drivers may refuse to export those (ErrorInvalidValue); that from
// AllocVMM has its pages to itself.
//
// It fails with ErrNotSupported if the GPU, its kernel driver or libcuda (before
// 11.7) cannot, and with ErrOutOfRange if the bytes do not lie within the buffer.
//
// Implements: cuMemGetHandleForAddressRange.
func (b *Buffer) DMABuf(off, n uint64) (fd int, offset uint64, err error) {
	const op = "export dma-buf"
	if err := b.use(); err != nil {
		return -1, 0, b.device().err(op, err)
	}
	defer b.obj.Done()
	d := b.dev
	part, err := b.Span().At(off, n)
	if err != nil {
		return -1, 0, d.err(op, err)
	}
	if n == 0 {
		return -1, 0, d.err(op, errNoBytes)
	}
	if !d.has(AttributeDMABuf) {
		return -1, 0, d.err(op, fmt.Errorf("the GPU or its kernel driver cannot export dma-bufs: %w", ErrNotSupported))
	}
	page := uint64(os.Getpagesize())
	first := part.Addr / page * page
	last := (part.Addr + n + page - 1) / page * page
	fd, r := d.ctx.DMABuf(first, last-first)
	switch {
	case r == 0:
		return fd, part.Addr - first, nil
	case Code(r) == ErrorInvalidValue && (first < b.addr || last > b.addr+b.size):
		return -1, 0, d.code(op, ErrorInvalidValue, "the buffer does not fill the pages that the bytes lie on: take memory from AllocVMM, or whole pages of it")
	}
	return -1, 0, d.check(op, r)
}
