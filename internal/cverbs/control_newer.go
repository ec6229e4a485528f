//go:build linux && cgo

package cverbs

// #include "gf1_memory.h"
import "C"

import "unsafe"

// MRInit is what RegMREx registers: host memory at Addr, or a piece of a dma-buf
// or of a buffer of the library. Mask says which fields count.
type MRInit struct {
	Length   uint64
	Access   uint32
	Mask     uint64
	IOVA     uint64
	Addr     unsafe.Pointer
	FD       int
	FDOffset uint64
	DMAH     DMAH
}

// RegMREx registers memory of any kind.
//
// Implements: ibv_reg_mr_ex.
func (pd PD) RegMREx(init MRInit) (MR, error) {
	attr := C.struct_gf1_mr_init_attr{
		length: C.size_t(init.Length), access: C.int32_t(init.Access), comp_mask: C.uint64_t(init.Mask),
		iova: C.uint64_t(init.IOVA), addr: init.Addr, fd: C.int32_t(init.FD), fd_offset: C.uint64_t(init.FDOffset),
		dmah: init.DMAH.c(),
	}
	var mr *C.struct_gf1_mr
	rc := C.gf1_reg_mr_ex(table(pd.v), pd.c(), &attr, &mr)
	return pd.newMR(mr, rc)
}

// DMAH is a DMA handle (struct ibv_dmah).
type DMAH struct{ p, v unsafe.Pointer }

func (h DMAH) c() *C.struct_gf1_dmah { return (*C.struct_gf1_dmah)(h.p) }

// AllocDMAH makes a DMA handle; mask says which of the hints count.
//
// Implements: ibv_alloc_dmah.
func (c Context) AllocDMAH(mask, cpu uint32, hint, memoryType uint8) (DMAH, error) {
	attr := C.struct_gf1_dmah_init_attr{
		comp_mask: C.uint32_t(mask), cpu_id: C.uint32_t(cpu), ph: C.uint8_t(hint), tph_mem_type: C.uint8_t(memoryType),
	}
	var h *C.struct_gf1_dmah
	rc := C.gf1_alloc_dmah(table(c.v), c.c(), &attr, &h)
	return DMAH{unsafe.Pointer(h), c.v}, errno(rc)
}

// Dealloc frees the handle.
//
// Implements: ibv_dealloc_dmah.
func (h DMAH) Dealloc() error { return errno(C.gf1_dealloc_dmah(table(h.v), h.c())) }

// Buf is memory that the library allocated (struct ibv_buf).
type Buf struct{ p, v unsafe.Pointer }

func (b Buf) c() *C.struct_gf1_buf { return (*C.struct_gf1_buf)(b.p) }

// AllocBuf allocates memory the way the device wants it.
//
// Implements: ibv_alloc_buf.
func (pd PD) AllocBuf(size int) (unsafe.Pointer, Buf, error) {
	var addr unsafe.Pointer
	var buf *C.struct_gf1_buf
	rc := C.gf1_alloc_buf(table(pd.v), pd.c(), C.size_t(size), &addr, &buf)
	return addr, Buf{unsafe.Pointer(buf), pd.v}, errno(rc)
}

// Free frees the memory.
//
// Implements: ibv_free_buf.
func (b Buf) Free() error { return errno(C.gf1_free_buf(table(b.v), b.c())) }

// RegBufMR registers a piece of memory that the library allocated.
//
// Implements: ibv_reg_buf_mr.
func (pd PD) RegBufMR(buf Buf, addr unsafe.Pointer, length int, access uint32) (MR, error) {
	var mr *C.struct_gf1_mr
	rc := C.gf1_reg_buf_mr(table(pd.v), pd.c(), buf.c(), addr, C.size_t(length), C.uint(access), &mr)
	return pd.newMR(mr, rc)
}
