//go:build linux && cgo

package ccuda

// #include "gf1_cuda_shim.h"
//
// static int gf1_go_count(int *count) { return gf1_cuda.cuDeviceGetCount(count); }
// static int gf1_go_get(int *device, int ordinal) { return gf1_cuda.cuDeviceGet(device, ordinal); }
// static int gf1_go_device_name(char *name, int len, int d) { return gf1_cuda.cuDeviceGetName(name, len, d); }
// static int gf1_go_pci(char *address, int len, int d) { return gf1_cuda.cuDeviceGetPCIBusId(address, len, d); }
// static int gf1_go_total(size_t *bytes, int d) { return gf1_cuda.cuDeviceTotalMem_v2(bytes, d); }
// static int gf1_go_attribute(int *value, int a, int d) { return gf1_cuda.cuDeviceGetAttribute(value, a, d); }
// static int gf1_go_can(int *can, int d, int peer) { return gf1_cuda.cuDeviceCanAccessPeer(can, d, peer); }
// static int gf1_go_release(int d) { return gf1_cuda.cuDevicePrimaryCtxRelease_v2(d); }
// static int gf1_go_active(int d, int *active)
// {
//	unsigned int flags;
//
//	return gf1_cuda.cuDevicePrimaryCtxGetState(d, &flags, active);
// }
// // The newer form knows the parts of a partitioned GPU.
// static int gf1_go_uuid(char *uuid, int d)
// {
//	return gf1_cuda.cuDeviceGetUuid_v2 != NULL ? gf1_cuda.cuDeviceGetUuid_v2(uuid, d)
//						   : gf1_cuda.cuDeviceGetUuid(uuid, d);
// }
// static int gf1_go_retain(uintptr_t *context, int d) { return gf1_cuda.cuDevicePrimaryCtxRetain(context, d); }
// static int gf1_go_get_current(uintptr_t *context) { return gf1_cuda.cuCtxGetCurrent(context); }
// static int gf1_go_set_current(uintptr_t context) { return gf1_cuda.cuCtxSetCurrent(context); }
import "C"

import (
	"math"
	"unsafe"
)

// fits reports whether n is one of the driver's numbers, which have 32 bits.
func fits(n int) bool { return n >= math.MinInt32 && n <= math.MaxInt32 }

// DeviceCount returns how many devices there are.
//
// Implements: cuDeviceGetCount.
func DeviceCount() (int, Result) {
	var n C.int
	rc := C.gf1_go_count(&n)
	return int(n), Result(rc)
}

// Device is a CUdevice.
type Device int32

// GetDevice returns a device by its number from 0.
//
// Implements: cuDeviceGet.
func GetDevice(ordinal int) (Device, Result) {
	if !fits(ordinal) {
		return 0, CUDA_ERROR_INVALID_DEVICE
	}
	var d C.int
	rc := C.gf1_go_get(&d, C.int(ordinal))
	return Device(d), Result(rc)
}

// Name returns the device's name.
//
// Implements: cuDeviceGetName.
func (d Device) Name() (string, Result) {
	var buf [256]C.char
	rc := C.gf1_go_device_name(&buf[0], C.int(len(buf)), C.int(d))
	buf[len(buf)-1] = 0
	return C.GoString(&buf[0]), Result(rc)
}

// PCIAddress returns domain, bus, device and function as the driver writes them.
//
// Implements: cuDeviceGetPCIBusId.
func (d Device) PCIAddress() (string, Result) {
	var buf [64]C.char
	rc := C.gf1_go_pci(&buf[0], C.int(len(buf)), C.int(d))
	buf[len(buf)-1] = 0
	return C.GoString(&buf[0]), Result(rc)
}

// UUID returns the device's identifier.
//
// Implements: cuDeviceGetUuid, cuDeviceGetUuid_v2.
func (d Device) UUID() (uuid [16]byte, r Result) {
	rc := C.gf1_go_uuid((*C.char)(unsafe.Pointer(&uuid[0])), C.int(d))
	return uuid, Result(rc)
}

// Memory returns the bytes of memory of the device.
//
// Implements: cuDeviceTotalMem.
func (d Device) Memory() (uint64, Result) {
	var n C.size_t
	rc := C.gf1_go_total(&n, C.int(d))
	return uint64(n), Result(rc)
}

// Attribute returns one of the CU_DEVICE_ATTRIBUTE values.
//
// Implements: cuDeviceGetAttribute.
func (d Device) Attribute(a int) (int, Result) {
	if !fits(a) {
		return 0, CUDA_ERROR_INVALID_VALUE
	}
	var v C.int
	rc := C.gf1_go_attribute(&v, C.int(a), C.int(d))
	return int(v), Result(rc)
}

// CanAccess reports whether the device can reach the peer's memory directly.
//
// Implements: cuDeviceCanAccessPeer.
func (d Device) CanAccess(peer Device) (bool, Result) {
	var can C.int
	rc := C.gf1_go_can(&can, C.int(d), C.int(peer))
	return can != 0, Result(rc)
}

// Retain takes a reference on the device's primary context, which is made at the
// first. It does not become current.
//
// Implements: cuDevicePrimaryCtxRetain.
func (d Device) Retain() (Context, Result) {
	var ctx C.uintptr_t
	rc := C.gf1_go_retain(&ctx, C.int(d))
	return Context(ctx), Result(rc)
}

// Release gives back a reference; the last one destroys the context.
//
// Implements: cuDevicePrimaryCtxRelease.
func (d Device) Release() Result { return Result(C.gf1_go_release(C.int(d))) }

// Active reports whether the device's primary context exists.
//
// Implements: cuDevicePrimaryCtxGetState.
func (d Device) Active() (bool, Result) {
	var active C.int
	rc := C.gf1_go_active(C.int(d), &active)
	return active != 0, Result(rc)
}

// Current returns the context of this thread, or 0.
//
// Implements: cuCtxGetCurrent.
func Current() (Context, Result) {
	var ctx C.uintptr_t
	rc := C.gf1_go_get_current(&ctx)
	return Context(ctx), Result(rc)
}

// SetCurrent makes a context current on this thread for good.
//
// Implements: cuCtxSetCurrent.
func SetCurrent(ctx Context) Result { return Result(C.gf1_go_set_current(C.uintptr_t(ctx))) }
