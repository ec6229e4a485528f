//go:build linux && cgo

package cverbs

// #include <stdint.h>
// #include "gf1_memory.h"
// #include "gf1_shim.h"
import "C"

import "unsafe"

// newMR pairs a region with the table of its domain.
func (pd PD) newMR(mr *C.struct_gf1_mr, rc C.int) (MR, error) {
	return MR{unsafe.Pointer(mr), pd.v}, errno(rc)
}

// RegMRIOVA registers memory that requests address from iova on. Optional access
// bits go by the form of the verb that knows them.
//
// Implements: ibv_reg_mr_iova, ibv_reg_mr_iova2.
func (pd PD) RegMRIOVA(addr unsafe.Pointer, length uint64, iova uint64, access uint32) (MR, error) {
	var mr *C.struct_gf1_mr
	rc := C.gf1_reg_mr_iova(table(pd.v), pd.c(), addr, C.size_t(length), C.uint64_t(iova), C.uint(access), &mr)
	return pd.newMR(mr, rc)
}

// RegEverything registers the address space of this process.
//
// Implements: ibv_reg_mr.
func (pd PD) RegEverything(access uint32) (MR, error) {
	var mr *C.struct_gf1_mr
	rc := C.gf1_reg_mr(table(pd.v), pd.c(), nil, C.SIZE_MAX, C.uint(access), &mr)
	return pd.newMR(mr, rc)
}

// RegDMABufMR registers a piece of the memory behind a dma-buf, which requests
// address from iova on.
//
// Implements: ibv_reg_dmabuf_mr.
func (pd PD) RegDMABufMR(fd int, offset, length, iova uint64, access uint32) (MR, error) {
	var mr *C.struct_gf1_mr
	rc := C.gf1_reg_dmabuf_mr(table(pd.v), pd.c(), C.uint64_t(offset), C.size_t(length), C.uint64_t(iova), C.int(fd),
		C.uint(access), &mr)
	return pd.newMR(mr, rc)
}

// Rereg changes what flags name. The region is of no more use if spoilt.
//
// Implements: ibv_rereg_mr.
func (mr MR) Rereg(flags int32, pd PD, addr unsafe.Pointer, length int, access uint32) (spoilt bool, err error) {
	var code C.int
	err = errno(C.gf1_rereg_mr(table(mr.v), mr.c(), C.int(flags), pd.c(), addr, C.size_t(length), C.uint(access), &code))
	return code <= IBV_REREG_MR_ERR_CMD, err
}

// Advise tells the device of memory that will be used.
//
// Implements: ibv_advise_mr.
func (pd PD) Advise(advice int32, flags uint32, pieces []SGE) error {
	return errno(C.gf1_advise_mr(pd.c(), C.int(advice), C.uint32_t(flags),
		(*C.struct_gf1_sge)(unsafe.Pointer(unsafe.SliceData(pieces))), C.uint32_t(len(pieces))))
}

// AllocNullMR makes a region that swallows writes and reads as zeros.
//
// Implements: ibv_alloc_null_mr.
func (pd PD) AllocNullMR() (MR, error) {
	var mr *C.struct_gf1_mr
	rc := C.gf1_alloc_null_mr(pd.c(), &mr)
	return pd.newMR(mr, rc)
}

// Handle returns the number by which another process imports the region.
func (mr MR) Handle() uint32 { return uint32(mr.c().handle) }

// Extent returns the region's address in this process, 0 if it has none, and
// its length, as the library has them.
func (mr MR) Extent() (addr unsafe.Pointer, length uint64) { return mr.c().addr, uint64(mr.c().length) }

// ImportMR makes another process's region known by its handle.
//
// Implements: ibv_import_mr.
func (pd PD) ImportMR(handle uint32) (MR, error) {
	var mr *C.struct_gf1_mr
	rc := C.gf1_import_mr(table(pd.v), pd.c(), C.uint32_t(handle), &mr)
	return pd.newMR(mr, rc)
}

// Unimport forgets an imported region; the registration stays.
//
// Implements: ibv_unimport_mr.
func (mr MR) Unimport() error { return errno(C.gf1_unimport_mr(table(mr.v), mr.c())) }

// Handle returns the number by which another process imports the domain.
func (pd PD) Handle() uint32 { return uint32(pd.c().handle) }

// ImportPD makes another process's domain known by its handle.
//
// Implements: ibv_import_pd.
func (c Context) ImportPD(handle uint32) (PD, error) {
	var pd *C.struct_gf1_pd
	rc := C.gf1_import_pd(table(c.v), c.c(), C.uint32_t(handle), &pd)
	return PD{unsafe.Pointer(pd), c.v}, errno(rc)
}

// Unimport forgets an imported domain; the domain stays.
//
// Implements: ibv_unimport_pd.
func (pd PD) Unimport() error { return errno(C.gf1_unimport_pd(table(pd.v), pd.c())) }

// MW is a memory window (struct ibv_mw).
type MW struct{ p, v unsafe.Pointer }

func (mw MW) c() *C.struct_gf1_mw { return (*C.struct_gf1_mw)(mw.p) }

// AllocMW makes a memory window of type 1 or 2.
//
// Implements: ibv_alloc_mw.
func (pd PD) AllocMW(kind int32) (MW, error) {
	var mw *C.struct_gf1_mw
	rc := C.gf1_alloc_mw(pd.c(), C.int(kind), &mw)
	return MW{unsafe.Pointer(mw), pd.v}, errno(rc)
}

// RKey returns the window's remote key.
func (mw MW) RKey() uint32 { return uint32(mw.c().rkey) }

// SetRKey notes the key that a binding of a window of type 2 gave it: providers
// find the window by it at the next one.
func (mw MW) SetRKey(rkey uint32) { mw.c().rkey = C.uint32_t(rkey) }

// Dealloc frees the window.
//
// Implements: ibv_dealloc_mw.
func (mw MW) Dealloc() error { return errno(C.gf1_dealloc_mw(mw.c())) }

// BindMW posts the binding of a window of type 1 to a piece of a region.
//
// Implements: ibv_bind_mw.
func (qp QP) BindMW(mw MW, wrID uint64, flags uint32, mr MR, addr, length uint64, access uint32) error {
	bind := C.struct_gf1_mw_bind{wr_id: C.uint64_t(wrID), send_flags: C.uint32_t(flags)}
	bind.bind_info = C.struct_gf1_mw_bind_info{
		mr: mr.c(), addr: C.uint64_t(addr), length: C.uint64_t(length), mw_access_flags: C.uint32_t(access),
	}
	return errno(C.gf1_bind_mw(qp.c(), mw.c(), &bind))
}

// bindWR is what the binding of a window of type 2 has from SendWR.Bind on.
type bindWR struct {
	mw     unsafe.Pointer
	rkey   uint32
	_      uint32
	mr     unsafe.Pointer
	addr   uint64
	length uint64
	access uint32
	_      uint32
}

// IsBind reports whether the request binds a window to this key.
func (wr *SendWR) IsBind(mw MW, rkey uint32) bool {
	b := (*bindWR)(unsafe.Pointer(&wr.Bind))
	return wr.Opcode == IBV_WR_BIND_MW && b.mw == mw.p && b.rkey == rkey
}

// SetBind makes what a window of type 2 is bound to, and its new key.
func (wr *SendWR) SetBind(mw MW, rkey uint32, mr MR, addr, length uint64, access uint32) {
	b := (*bindWR)(unsafe.Pointer(&wr.Bind))
	b.mw, b.rkey, b.mr, b.addr, b.length, b.access = mw.p, rkey, mr.p, addr, length, access
}

// DM is memory of a device (struct ibv_dm).
type DM struct{ p, v unsafe.Pointer }

func (dm DM) c() *C.struct_gf1_dm { return (*C.struct_gf1_dm)(dm.p) }

// AllocDM allocates memory of the device at a multiple of 2^logAlign.
//
// Implements: ibv_alloc_dm.
func (c Context) AllocDM(length uint64, logAlign uint32) (DM, error) {
	var dm *C.struct_gf1_dm
	rc := C.gf1_alloc_dm(c.c(), C.size_t(length), C.uint32_t(logAlign), &dm)
	return DM{unsafe.Pointer(dm), c.v}, errno(rc)
}

// ImportDM makes another process's device memory known by its handle.
//
// Implements: ibv_import_dm.
func (c Context) ImportDM(handle uint32) (DM, error) {
	var dm *C.struct_gf1_dm
	rc := C.gf1_import_dm(table(c.v), c.c(), C.uint32_t(handle), &dm)
	return DM{unsafe.Pointer(dm), c.v}, errno(rc)
}

// Unimport forgets imported memory, which stays.
//
// Implements: ibv_unimport_dm.
func (dm DM) Unimport() error { return errno(C.gf1_unimport_dm(table(dm.v), dm.c())) }

// Handle returns the number by which another process imports the memory.
func (dm DM) Handle() uint32 { return uint32(dm.c().handle) }

// Free frees the memory.
//
// Implements: ibv_free_dm.
func (dm DM) Free() error { return errno(C.gf1_free_dm(dm.c())) }

// Write copies host memory to the device's, from offset on.
//
// Implements: ibv_memcpy_to_dm.
func (dm DM) Write(offset uint64, data []byte) error {
	return errno(C.gf1_memcpy_to_dm(dm.c(), C.uint64_t(offset), unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data))))
}

// Read copies the device's memory, from offset on, to the host's.
//
// Implements: ibv_memcpy_from_dm.
func (dm DM) Read(offset uint64, data []byte) error {
	return errno(C.gf1_memcpy_from_dm(unsafe.Pointer(unsafe.SliceData(data)), dm.c(), C.uint64_t(offset), C.size_t(len(data))))
}

// ExportDMABuf returns a new descriptor of a dma-buf over the memory.
//
// Implements: ibv_dm_export_dmabuf_fd.
func (dm DM) ExportDMABuf() (int, error) {
	var fd C.int
	rc := C.gf1_dm_export(table(dm.v), dm.c(), &fd)
	return int(fd), errno(rc)
}

// RegDMMR registers a piece of a device's memory.
//
// Implements: ibv_reg_dm_mr.
func (pd PD) RegDMMR(dm DM, offset, length uint64, access uint32) (MR, error) {
	var mr *C.struct_gf1_mr
	rc := C.gf1_reg_dm_mr(pd.c(), dm.c(), C.uint64_t(offset), C.size_t(length), C.uint(access), &mr)
	return pd.newMR(mr, rc)
}
