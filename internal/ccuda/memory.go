//go:build linux && cgo

package ccuda

// #cgo noescape gf1_cuda_copy
// #cgo nocallback gf1_cuda_copy
// #cgo noescape gf1_cuda_fill
// #cgo nocallback gf1_cuda_fill
// #include "gf1_cuda_shim.h"
import "C"

import "unsafe"

// Alloc allocates memory of the device.
//
// Implements: cuMemAlloc.
func (c Context) Alloc(size uint64) (uint64, Result) {
	var addr C.uint64_t
	rc := C.gf1_cuda_alloc(c.c(), C.size_t(size), &addr)
	return uint64(addr), Result(rc)
}

// Free frees what Alloc returned; the driver waits for work that may use it.
//
// Implements: cuMemFree.
func (c Context) Free(addr uint64) Result { return Result(C.gf1_cuda_free(c.c(), C.uint64_t(addr))) }

// AllocHost allocates pinned memory of the host.
//
// Implements: cuMemHostAlloc.
func (c Context) AllocHost(size uint64, flags uint32) (unsafe.Pointer, Result) {
	var p unsafe.Pointer
	rc := C.gf1_cuda_host_alloc(c.c(), C.size_t(size), C.uint(flags), &p)
	return p, Result(rc)
}

// FreeHost frees what AllocHost returned.
//
// Implements: cuMemFreeHost.
func (c Context) FreeHost(p unsafe.Pointer) Result { return Result(C.gf1_cuda_host_free(c.c(), p)) }

// Copy puts a copy on a stream. The driver sees from the addresses where they
// lie.
//
// Implements: cuMemcpyAsync.
func (c Context) Copy(to, from, size uint64, stream uintptr) Result {
	return Result(C.gf1_cuda_copy(c.c(), C.uint64_t(to), C.uint64_t(from), C.size_t(size), C.gf1_cuda_handle(stream)))
}

// Fill puts a fill with count elements of width bytes (1, 2 or 4) on a stream.
//
// Implements: cuMemsetD8Async, cuMemsetD16Async, cuMemsetD32Async.
func (c Context) Fill(to uint64, value uint32, width int, count uint64, stream uintptr) Result {
	return Result(C.gf1_cuda_fill(c.c(), C.uint64_t(to), C.uint32_t(value), C.int(width), C.size_t(count),
		C.gf1_cuda_handle(stream)))
}

// Pointer returns what the driver knows of an address.
//
// Implements: cuPointerGetAttributes.
func (c Context) Pointer(addr uint64) (Pointer, Result) {
	var p Pointer
	rc := C.gf1_cuda_pointer(c.c(), C.uint64_t(addr), (*C.struct_gf1_cuda_pointer)(unsafe.Pointer(&p)))
	return p, Result(rc)
}

// Both lines compile only if the Go mirrors and the C declarations agree.
var (
	_ [unsafe.Sizeof(Pointer{})]byte = [C.sizeof_struct_gf1_cuda_pointer]byte{}
	_ [unsafe.Sizeof(Grid{})]byte    = [C.sizeof_struct_gf1_cuda_grid]byte{}
)

// Range returns the allocation that an address lies in.
//
// Implements: cuMemGetAddressRange.
func (c Context) Range(addr uint64) (base, size uint64, r Result) {
	var b C.uint64_t
	var n C.size_t
	rc := C.gf1_cuda_range(c.c(), C.uint64_t(addr), &b, &n)
	return uint64(b), uint64(n), Result(rc)
}

// DMABuf exports a range of whole pages as a file descriptor of the caller's.
//
// Implements: cuMemGetHandleForAddressRange.
func (c Context) DMABuf(addr, size uint64) (int, Result) {
	fd := C.int(-1)
	rc := C.gf1_cuda_dma_buf(c.c(), C.uint64_t(addr), C.size_t(size), &fd)
	return int(fd), Result(rc)
}

// Map makes memory on the first of the devices and maps it for all of them. It
// returns how many bytes it mapped.
//
// Implements: cuMemCreate, cuMemAddressReserve, cuMemMap, cuMemSetAccess,
// cuMemRelease, cuMemGetAllocationGranularity.
func (c Context) Map(size uint64, gpuDirectRDMA, shareable bool, devices []Device) (addr, mapped uint64, r Result) {
	var a C.uint64_t
	var n C.size_t
	rc := C.gf1_cuda_map(c.c(), C.size_t(size), flag(gpuDirectRDMA), flag(shareable),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(devices))), C.int(len(devices)), &a, &n)
	return uint64(a), uint64(n), Result(rc)
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// Unmap ends a mapping and frees its memory. Nothing may use it any more.
//
// Implements: cuMemUnmap, cuMemAddressFree.
func (c Context) Unmap(addr, mapped uint64) Result {
	return Result(C.gf1_cuda_unmap(c.c(), C.uint64_t(addr), C.size_t(mapped)))
}

func (h *IPCHandle) c() *C.struct_gf1_cuda_ipc { return (*C.struct_gf1_cuda_ipc)(unsafe.Pointer(h)) }

// IPCMemory names memory to other processes.
//
// Implements: cuIpcGetMemHandle.
func (c Context) IPCMemory(addr uint64) (h IPCHandle, r Result) {
	rc := C.gf1_cuda_ipc_memory(c.c(), C.uint64_t(addr), h.c())
	return h, Result(rc)
}

// OpenIPCMemory maps memory of another process.
//
// Implements: cuIpcOpenMemHandle.
func (c Context) OpenIPCMemory(h IPCHandle) (uint64, Result) {
	var addr C.uint64_t
	rc := C.gf1_cuda_ipc_open_memory(c.c(), h.c(), &addr)
	return uint64(addr), Result(rc)
}

// CloseIPCMemory ends what OpenIPCMemory began.
//
// Implements: cuIpcCloseMemHandle.
func (c Context) CloseIPCMemory(addr uint64) Result {
	return Result(C.gf1_cuda_ipc_close_memory(c.c(), C.uint64_t(addr)))
}

// IPCEvent names an event to other processes.
//
// Implements: cuIpcGetEventHandle.
func (c Context) IPCEvent(e uintptr) (h IPCHandle, r Result) {
	rc := C.gf1_cuda_ipc_event(c.c(), C.gf1_cuda_handle(e), h.c())
	return h, Result(rc)
}

// OpenIPCEvent returns an event of another process.
//
// Implements: cuIpcOpenEventHandle.
func (c Context) OpenIPCEvent(h IPCHandle) (uintptr, Result) {
	var e C.gf1_cuda_handle
	rc := C.gf1_cuda_ipc_open_event(c.c(), h.c(), &e)
	return uintptr(e), Result(rc)
}
