package cuda

import "fmt"

// DMABuf exports n bytes of the buffer from off as a dma-buf, which other devices
// of the host can be given. The dma-buf covers the whole pages of the host that
// the bytes lie on: offset is where they begin in it. The caller closes fd; the
// memory must not be freed before whoever uses the dma-buf has let go of it.
//
// Memory from Alloc can share its first and last page with other buffers, which
// whoever has the dma-buf would reach too: such pages are refused (ErrSharedPage).
// Memory from AllocVMM has its pages to itself. For memory from Alloc, copies and
// fills become synchronous where the driver's documentation says that they can be
// (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), as adapters need it.
//
// It fails with ErrNotSupported if the GPU, its kernel driver or libcuda (before
// 11.7) cannot, with ErrOutOfRange if the bytes do not lie within the buffer, and
// with syscall.EMFILE if the process has no file descriptor left.
//
// Implements: cuMemGetHandleForAddressRange, cuPointerSetAttribute.
func (b *Buffer) DMABuf(off, n uint64) (fd int, offset uint64, err error) {
	const op = "export dma-buf"
	if err := b.use(); err != nil {
		return -1, 0, b.device().err(op, err)
	}
	defer b.obj.Done()
	d := b.dev
	first, last, err := b.pages(op, off, n)
	if err != nil {
		return -1, 0, err
	}
	if !d.has(AttributeDMABuf) {
		return -1, 0, d.err(op, fmt.Errorf("the GPU or its kernel driver cannot export dma-bufs: %w", ErrNotSupported))
	}
	if err := b.syncMemops(op); err != nil {
		return -1, 0, err
	}
	fd, r := d.ctx.DMABuf(first, last-first)
	if r != 0 {
		return -1, 0, d.exportFailed(op, r)
	}
	return fd, b.addr + off - first, nil
}
