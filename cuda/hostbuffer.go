package cuda

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/life"
)

// HostBuffer is pinned memory of the host, outside of the Go heap, which every
// GPU of the process can reach. It is safe for concurrent use; what its bytes
// hold is the caller's care.
type HostBuffer struct {
	obj life.Object
	dev *Device
	mem []byte
}

// AllocHost allocates pinned memory of the host. It is zeroed. Copies between it
// and a GPU run by themselves; those with other memory go through a piece of it.
//
// Implements: cuMemHostAlloc.
func (d *Device) AllocHost(size uint64) (*HostBuffer, error) {
	const op = "allocate host memory"
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	switch {
	case size == 0:
		return nil, d.err(op, errNoBytes)
	case size > math.MaxInt:
		return nil, d.outOfRange(op, "%d bytes are more than a slice can have", size)
	}
	p, r := d.ctx.AllocHost(size, ccuda.CU_MEMHOSTALLOC_PORTABLE)
	if r != 0 {
		return nil, d.check(op, r)
	}
	h := &HostBuffer{dev: d, mem: unsafe.Slice((*byte)(p), int(size))}
	clear(h.mem)
	life.Enter(&h.obj, h, fmt.Sprintf("host buffer of %d bytes (%p)", size, p), &d.obj)
	return h, nil
}

// Bytes returns the memory. The slice must not be used after Close.
func (h *HostBuffer) Bytes() []byte { return h.mem }

// Span returns the whole buffer as a Span.
func (h *HostBuffer) Span() Span {
	return Span{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(h.mem)))), Len: uint64(len(h.mem))}
}

// Size returns the buffer's length in bytes.
func (h *HostBuffer) Size() uint64 { return uint64(len(h.mem)) }

// Close frees the memory, which must not be in use any more.
//
// Implements: cuMemFreeHost.
func (h *HostBuffer) Close() error {
	if h == nil || h.dev == nil {
		return nil
	}
	return h.dev.closing("free host memory", &h.obj, func() ccuda.Result {
		return h.dev.ctx.FreeHost(unsafe.Pointer(unsafe.SliceData(h.mem)))
	})
}

// CloseAll is Close: nothing hangs on a host buffer.
func (h *HostBuffer) CloseAll() error { return h.Close() }
