//go:build linux && cgo

package cverbs

// #include "gf1_memory.h"
import "C"

import "unsafe"

// RegDMABufMR registers a piece of the memory behind a dma-buf, which requests
// address from iova on.
//
// Implements: ibv_reg_dmabuf_mr.
func (pd PD) RegDMABufMR(fd int, offset, length, iova uint64, access uint32) (MR, error) {
	var mr *C.struct_gf1_mr
	rc := C.gf1_reg_dmabuf_mr(table(pd.v), pd.c(), C.uint64_t(offset), C.size_t(length), C.uint64_t(iova), C.int(fd),
		C.uint(access), &mr)
	return MR{unsafe.Pointer(mr), pd.v}, errno(rc)
}
