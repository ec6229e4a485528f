//go:build linux && cgo

package ccuda

// #cgo noescape gf1_cuda_launch
// #cgo nocallback gf1_cuda_launch
// #include <stdlib.h>
// #include "gf1_cuda_shim.h"
import "C"

import (
	"strings"
	"unsafe"
)

// logBytes bounds the compiler's messages that are kept.
const logBytes = 16 << 10

// LoadModule loads PTX or machine code and returns the compiler's messages too.
//
// Implements: cuModuleLoadDataEx.
func (c Context) LoadModule(image []byte) (module uintptr, log string, r Result) {
	// PTX is text that a zero ends; other images are not hurt by one.
	copied := C.CBytes(append(image[:len(image):len(image)], 0))
	defer C.free(copied)
	buf := (*C.char)(C.malloc(logBytes))
	defer C.free(unsafe.Pointer(buf))
	var m C.gf1_cuda_handle
	rc := C.gf1_cuda_module_load(c.c(), copied, buf, logBytes, &m)
	return uintptr(m), C.GoString(buf), Result(rc)
}

// UnloadModule unloads a module.
//
// Implements: cuModuleUnload.
func (c Context) UnloadModule(m uintptr) Result {
	return Result(C.gf1_cuda_module_unload(c.c(), C.gf1_cuda_handle(m)))
}

// Function finds a kernel by its name.
//
// Implements: cuModuleGetFunction.
func (c Context) Function(m uintptr, name string) (uintptr, Result) {
	if strings.ContainsRune(name, 0) {
		return 0, CUDA_ERROR_NOT_FOUND // C would look for what stands before it
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	var f C.gf1_cuda_handle
	rc := C.gf1_cuda_module_function(c.c(), C.gf1_cuda_handle(m), cname, &f)
	return uintptr(f), Result(rc)
}

// Param tells where a kernel's parameter lies among the packed arguments.
//
// Implements: cuFuncGetParamInfo.
func (c Context) Param(f uintptr, index int) (Param, Result) {
	var off, size C.size_t
	rc := C.gf1_cuda_param(c.c(), C.gf1_cuda_handle(f), C.size_t(index), &off, &size)
	return Param{uint64(off), uint64(size)}, Result(rc)
}

// FunctionAttribute returns one of a kernel's attributes.
//
// Implements: cuFuncGetAttribute.
func (c Context) FunctionAttribute(f uintptr, attribute int) (int, Result) {
	var v C.int
	rc := C.gf1_cuda_function_get(c.c(), C.gf1_cuda_handle(f), C.int(attribute), &v)
	return int(v), Result(rc)
}

// SetFunctionAttribute sets one.
//
// Implements: cuFuncSetAttribute.
func (c Context) SetFunctionAttribute(f uintptr, attribute, value int) Result {
	if !fits(value) {
		return CUDA_ERROR_INVALID_VALUE
	}
	return Result(C.gf1_cuda_function_set(c.c(), C.gf1_cuda_handle(f), C.int(attribute), C.int(value)))
}

// Launch puts a kernel on a stream with its packed arguments, which are copied.
//
// Implements: cuLaunchKernel.
func (c Context) Launch(f uintptr, g *Grid, stream uintptr, args []byte) Result {
	return Result(C.gf1_cuda_launch(c.c(), C.gf1_cuda_handle(f), (*C.struct_gf1_cuda_grid)(unsafe.Pointer(g)),
		C.gf1_cuda_handle(stream), unsafe.Pointer(unsafe.SliceData(args)), C.size_t(len(args))))
}
