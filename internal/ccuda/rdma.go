//go:build linux && cgo

package ccuda

// #include "gf1_cuda_shim.h"
import "C"

import (
	"syscall"

	"github.com/gofabric/gofabric/internal/gpumem"
)

func init() {
	gpumem.Provide(gpumem.Functions{
		Find:       C.gf1_cuda_find,
		FindDMABuf: C.gf1_cuda_find_dma_buf,
		Move:       C.gf1_cuda_move,
	})
}

// OpenPlace lets devices of this process reach the memory of a GPU, until as many
// calls of ClosePlace. The context must outlast the last of them.
func (d Device) OpenPlace(c Context) { C.gf1_cuda_open_place(C.int(d), c.c()) }

// ClosePlace ends what OpenPlace began. It waits for copies under way.
func (d Device) ClosePlace() { C.gf1_cuda_close_place(C.int(d)) }

// Find tells where bytes lie, in the words of package gpumem.
//
// Implements: cuPointerGetAttributes.
func Find(addr, size uint64) int {
	var place C.int
	switch rc := C.gf1_cuda_find(C.uint64_t(addr), C.uint64_t(size), &place); {
	case C.gf1_cuda_has_place() == 0:
		return gpumem.Unknown
	case rc == 1:
		return gpumem.Inside
	case syscall.Errno(-rc) == syscall.EFAULT:
		return gpumem.Beyond
	}
	return gpumem.Elsewhere
}

// ForgetDMABufs must be called before memory is freed of which dma-bufs were
// exported.
func ForgetDMABufs(addr, size uint64) {
	C.gf1_cuda_forget_exports(C.uint64_t(addr), C.uint64_t(size))
}

// SyncMemops makes copies and fills of the allocation that an address lies in
// complete before calls that are synchronous return, also where they touch memory
// of GPUs only.
//
// Implements: cuPointerSetAttribute.
func (c Context) SyncMemops(addr uint64) Result {
	return Result(C.gf1_cuda_sync_memops(c.c(), C.uint64_t(addr)))
}

// FlushWrites makes what adapters have written to memory of the GPU visible to
// it.
//
// Implements: cuFlushGPUDirectRDMAWrites.
func (c Context) FlushWrites() Result { return Result(C.gf1_cuda_flush_writes(c.c())) }
