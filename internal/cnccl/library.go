//go:build linux && cgo

package cnccl

// #include <stdlib.h>
// #include "gf1_nccl_run.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/gofabric/gofabric/internal/dl"
)

// Library is libnccl as opened. It stays open for the life of the process.
type Library struct {
	p       *C.struct_gf1_nccl
	path    string
	version int
}

// Debian's package; NVIDIA's Python wheels bring the library too.
const pkg = "libnccl2 (or NVIDIA's wheel nvidia-nccl-cu12 or -cu13)"

// Open opens the first of names that the dynamic linker finds. enter and leave
// are the CUDA binding's functions that change a thread's context.
//
// Implements: ncclGetVersion.
func Open(enter, leave unsafe.Pointer, names ...string) (*Library, error) {
	so, err := dl.Open("libnccl", pkg, names...)
	if err != nil {
		return nil, err
	}
	l := &Library{path: so.Path(), p: (*C.struct_gf1_nccl)(C.calloc(1, C.sizeof_struct_gf1_nccl))}
	*(*unsafe.Pointer)(unsafe.Pointer(&l.p.enter)) = enter
	*(*unsafe.Pointer)(unsafe.Pointer(&l.p.leave)) = leave
	for i, f := range Functions() {
		// What is missing stays NULL, and whoever calls it gets an error.
		p, err := so.Symbol(f.Name, "")
		if err == nil {
			l.set(i, p)
		}
	}
	if !l.Has(FnGetVersion) {
		return nil, fmt.Errorf("%s is no NCCL library: it has no function ncclGetVersion", l.path)
	}
	var version C.int
	if rc := C.gf1_nccl_version(l.p, &version); rc != 0 {
		return nil, fmt.Errorf("%s: ncclGetVersion answers result %d", l.path, int(rc))
	}
	l.version = int(version)
	l.p.version = version
	return l, l.complete()
}

// oldest are the functions that every release we can drive has.
var oldest = []int{
	FnGetUniqueId, FnGetErrorString, FnCommDestroy, FnCommCount, FnCommCuDevice, FnCommUserRank,
	FnGroupStart, FnGroupEnd, FnCommAbort, FnCommGetAsyncError,
}

func (l *Library) complete() error {
	for _, i := range oldest {
		if !l.Has(i) {
			f := Functions()[i]
			return fmt.Errorf("%s (ncclGetVersion says %d) has no function %s: NCCL 2.4.2 and later have it",
				l.path, l.version, f.Name)
		}
	}
	return nil
}

func (l *Library) slot(i int) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(l.p), uintptr(i)*unsafe.Sizeof(uintptr(0))))
}

func (l *Library) set(i int, p unsafe.Pointer) { *l.slot(i) = p }

// Has reports whether the library has the function.
func (l *Library) Has(function int) bool { return *l.slot(function) != nil }

// Path returns the file that was loaded, with symbolic links followed.
func (l *Library) Path() string { return l.path }

// Version returns what ncclGetVersion answered.
func (l *Library) Version() int { return l.version }

// Functions lists every function of the table, in its order.
func Functions() []Function {
	list := make([]Function, FnCount)
	for i := range list {
		list[i] = Function{Name: C.GoString(C.gf1_nccl_names[i]), Since: int(C.gf1_nccl_since[i])}
	}
	return list
}

// ResultText returns NCCL's own words for a result.
//
// Implements: ncclGetErrorString.
func (l *Library) ResultText(result int) string {
	return C.GoString(C.gf1_nccl_result_text(l.p, C.int(result)))
}

// UniqueID makes an id. It returns the result and, if that is an error, NCCL's
// last message.
//
// Implements: ncclGetUniqueId, ncclGetLastError.
func (l *Library) UniqueID() (id [128]byte, code int, last string) {
	text := lastBuffer()
	defer C.free(unsafe.Pointer(text))
	rc := C.gf1_nccl_unique_id(l.p, (*C.gf1_nccl_id)(unsafe.Pointer(&id)), text)
	return id, int(rc), C.GoString(text)
}

func lastBuffer() *C.char { return (*C.char)(C.calloc(1, C.GF1_NCCL_LAST)) }

// MemAlloc allocates size bytes on the device of context.
//
// Implements: ncclMemAlloc.
func (l *Library) MemAlloc(context uintptr, size uint64) (memory uint64, code int, last string) {
	text := lastBuffer()
	defer C.free(unsafe.Pointer(text))
	var p C.uint64_t
	rc := C.gf1_nccl_mem_alloc(l.p, pointer(context), C.size_t(size), &p, text)
	return uint64(p), int(rc), C.GoString(text)
}

// MemFree frees what MemAlloc allocated.
//
// Implements: ncclMemFree.
func (l *Library) MemFree(context uintptr, memory uint64) (code int, last string) {
	text := lastBuffer()
	defer C.free(unsafe.Pointer(text))
	rc := C.gf1_nccl_mem_free(l.p, pointer(context), C.uint64_t(memory), text)
	return int(rc), C.GoString(text)
}

// Identity asks a communicator for its rank, its size and its CUDA device.
//
// Implements: ncclCommUserRank, ncclCommCount, ncclCommCuDevice.
func (l *Library) Identity(comm uint64) (rank, size, device, code int) {
	var identity [3]C.int32_t
	rc := C.gf1_nccl_identity(l.p, C.uint64_t(comm), &identity[0])
	return int(identity[0]), int(identity[1]), int(identity[2]), int(rc)
}

// pointer turns a handle that C gave us back into what C wants.
func pointer(handle uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&handle))
}
