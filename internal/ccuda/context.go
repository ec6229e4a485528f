//go:build linux && cgo

package ccuda

// #include "gf1_cuda_shim.h"
import "C"

func (c Context) c() C.gf1_cuda_handle { return C.gf1_cuda_handle(c) }

// Synchronize waits on this thread until all work of the context is done.
//
// Implements: cuCtxSynchronize.
func (c Context) Synchronize() Result { return Result(C.gf1_cuda_context_sync(c.c())) }

// Priorities returns the range of stream priorities; greater ones are lower
// numbers.
//
// Implements: cuCtxGetStreamPriorityRange.
func (c Context) Priorities() (least, greatest int, r Result) {
	var l, g C.int
	rc := C.gf1_cuda_priorities(c.c(), &l, &g)
	return int(l), int(g), Result(rc)
}

// EnablePeer lets the context reach the memory of another.
//
// Implements: cuCtxEnablePeerAccess.
func (c Context) EnablePeer(peer Context) Result {
	return Result(C.gf1_cuda_peer_enable(c.c(), peer.c()))
}

// DisablePeer ends what EnablePeer began.
//
// Implements: cuCtxDisablePeerAccess.
func (c Context) DisablePeer(peer Context) Result {
	return Result(C.gf1_cuda_peer_disable(c.c(), peer.c()))
}

// MemInfo returns the device's free and total memory in bytes.
//
// Implements: cuMemGetInfo.
func (c Context) MemInfo() (free, total uint64, r Result) {
	var f, t C.size_t
	rc := C.gf1_cuda_mem_info(c.c(), &f, &t)
	return uint64(f), uint64(t), Result(rc)
}
