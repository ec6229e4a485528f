package cuda

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/life"
)

// Buffer is memory of a GPU. It is safe for concurrent use; what its bytes hold
// is the caller's care. It satisfies the interface by which package verbs
// registers memory of GPUs.
type Buffer struct {
	obj   life.Object
	dev   *Device
	addr  uint64
	size  uint64
	whole uint64 // bytes from addr on that nobody else has
	vmm   bool
	free  func() ccuda.Result

	synchronous atomic.Bool // SYNC_MEMOPS is set
}

// Alloc allocates memory of the GPU, which is not zeroed. It waits for nothing.
//
// It fails with ErrorOutOfMemory if there is not so much left.
//
// Implements: cuMemAlloc.
func (d *Device) Alloc(size uint64) (*Buffer, error) {
	const op = "allocate memory"
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	if size == 0 {
		return nil, d.err(op, errNoBytes)
	}
	addr, r := d.ctx.Alloc(size)
	if r != 0 {
		return nil, d.noMemory(op, size, r)
	}
	b := &Buffer{addr: addr, size: size, whole: size, free: func() ccuda.Result { return d.ctx.Free(addr) }}
	return d.enterBuffer("buffer", b), nil
}

var errNoBytes = errors.New("a buffer of 0 bytes: it needs at least one")

func (d *Device) enterBuffer(kind string, b *Buffer) *Buffer {
	b.dev = d
	life.Enter(&b.obj, b, fmt.Sprintf("%s of %d bytes (%#x)", kind, b.size, b.addr), &d.obj)
	return b
}

// noMemory looks whether the GPU has what was asked for.
func (d *Device) noMemory(op string, size uint64, r ccuda.Result) error {
	e := &OpError{Op: op, Device: d.info.Ordinal, Err: driverError(r)}
	if Code(r) == ErrorOutOfMemory {
		if free, total, q := d.ctx.MemInfo(); q == 0 && free < size {
			e.Hint = fmt.Sprintf("%d bytes were asked for, and %d of the GPU's %d are free", size, free, total)
		}
	}
	return e
}

// Span returns the whole buffer as a Span.
func (b *Buffer) Span() Span { return Span{Addr: b.DevicePointer(), Len: b.Size()} }

// DevicePointer returns the address of the first byte (CUdeviceptr).
func (b *Buffer) DevicePointer() uint64 {
	if b == nil {
		return 0
	}
	return b.addr
}

// Size returns the buffer's length in bytes.
func (b *Buffer) Size() uint64 {
	if b == nil {
		return 0
	}
	return b.size
}

// Device returns the GPU that the buffer was made on.
func (b *Buffer) Device() *Device { return b.device() }

func (b *Buffer) use() error {
	if b == nil {
		return ErrClosed
	}
	return b.obj.Use()
}

func (b *Buffer) device() *Device {
	if b == nil {
		return nil
	}
	return b.dev
}

// Close frees the memory, or ends the mapping of a buffer from OpenIPC. For
// memory from Alloc the driver waits for all work on the GPU, on the calling
// thread. Memory from AllocVMM must not be in use any more. It fails with ErrBusy,
// and names them, while memory regions of package verbs lie on the buffer.
//
// Implements: cuMemFree, cuMemUnmap, cuMemAddressFree, cuIpcCloseMemHandle.
func (b *Buffer) Close() error {
	if b == nil || b.dev == nil {
		return nil
	}
	return b.dev.closing("free memory", &b.obj, func() ccuda.Result {
		ccuda.ForgetDMABufs(b.addr, b.whole)
		return b.free()
	})
}

// CloseAll closes the memory regions that lie on the buffer, and the buffer.
func (b *Buffer) CloseAll() error {
	if b == nil {
		return nil
	}
	return errors.Join(b.obj.CloseChildren(), b.Close())
}
