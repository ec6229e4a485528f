package verbs

import (
	"fmt"
	"io/fs"
	"math"
	"syscall"

	"github.com/gofabric/gofabric/internal/gpudirect"
	"github.com/gofabric/gofabric/internal/gpumem"
)

// GPUMemory is memory of a GPU. *cuda.Buffer is such memory; for any other the
// caller sees to it that the memory is not freed while regions lie on it.
type GPUMemory interface {
	// DevicePointer is the address of the first byte, as the GPU has it.
	DevicePointer() uint64
	// Size is the length in bytes.
	Size() uint64
	// DMABuf exports n bytes from off as a dma-buf, in which they begin at
	// offset. RegisterGPU closes fd. It answers ErrNotSupported if the memory
	// cannot be exported.
	DMABuf(off, n uint64) (fd int, offset uint64, err error)
}

// GPUMethod is a way to let an adapter at memory of a GPU.
type GPUMethod int

// Methods. The first three reach the memory itself (GPUDirect RDMA).
const (
	// GPUAuto tries GPUDMABuf, then GPUPeerMem, and with
	// GPUOptions.AllowStaged then GPUStaged.
	GPUAuto GPUMethod = iota
	// GPUDMABuf exports the memory as a dma-buf, which the kernel's RDMA core
	// takes since 5.12 and rdma-core since 34.
	GPUDMABuf
	// GPUPeerMem registers the address, which the kernel module nvidia_peermem
	// makes adapters understand.
	GPUPeerMem
	// GPUStaged registers pinned memory of the host in place of the GPU's. The
	// bytes are copied between the two by MR.SyncForAdapter and MR.SyncForGPU.
	GPUStaged
)

// String returns "dma-buf", for instance.
func (m GPUMethod) String() string {
	switch m {
	case GPUAuto:
		return "auto"
	case GPUDMABuf:
		return "dma-buf"
	case GPUPeerMem:
		return "nvidia_peermem"
	case GPUStaged:
		return "staged"
	}
	return fmt.Sprintf("GPUMethod(%d)", int(m))
}

// GPUOptions are the options of RegisterGPU. The zero value registers the whole
// memory for local writing, directly or not at all.
type GPUOptions struct {
	// Access is what may be done to the memory; zero is AccessLocalWrite. With
	// AccessRelaxedOrdering writes may reach the GPU in another order than they
	// came: its kernels must not look for the last byte of a message, but for
	// what the host says when it has seen the completion.
	Access Access
	// Offset and Length choose a piece; a Length of 0 goes to the end.
	Offset, Length uint64
	// Method is the way; zero is GPUAuto.
	Method GPUMethod
	// AllowStaged lets GPUAuto stage where no adapter reaches the memory. The
	// program must then call MR.SyncForAdapter and MR.SyncForGPU, which is right
	// for the other methods too and costs them nothing.
	AllowStaged bool
	// Root is where the reasons for a failure are read, below sys/ and proc/;
	// nil is this machine.
	Root fs.FS
}

// methods lists what is to be tried, in this order.
func (o GPUOptions) methods() []GPUMethod {
	switch {
	case o.Method != GPUAuto:
		return []GPUMethod{o.Method}
	case o.AllowStaged:
		return []GPUMethod{GPUDMABuf, GPUPeerMem, GPUStaged}
	}
	return []GPUMethod{GPUDMABuf, GPUPeerMem}
}

// gpuRange is the bytes of a registration.
type gpuRange struct {
	memory GPUMemory
	own    gpumem.Memory // nil if the memory is not of package cuda
	off, n uint64
	access Access
	system gpudirect.System
}

func (r gpuRange) address() uint64 { return r.memory.DevicePointer() + r.off }

func (o GPUOptions) of(memory GPUMemory) (gpuRange, error) {
	r := gpuRange{memory: memory, off: o.Offset, n: o.Length, access: o.Access, system: o.system()}
	if r.access == 0 {
		r.access = AccessLocalWrite
	}
	if memory == nil {
		return r, fmt.Errorf("%w: there is no memory", ErrClosed)
	}
	r.own = gpumem.Of(memory)
	size := memory.Size()
	if r.off > size || r.n > size-r.off {
		return r, fmt.Errorf("%w: %d bytes from %d of %d", ErrOutOfRange, r.n, r.off, size)
	}
	if r.n == 0 {
		r.n = size - r.off
	}
	switch {
	case r.n == 0:
		return r, fmt.Errorf("%w: a region of 0 bytes: it needs at least one", ErrOutOfRange)
	case r.n > math.MaxInt || memory.DevicePointer() > math.MaxUint64-size:
		return r, fmt.Errorf("%w: %d bytes at 0x%x", ErrOutOfRange, r.n, memory.DevicePointer())
	case o.Method < GPUAuto || o.Method > GPUStaged:
		return r, fmt.Errorf("%v is no method", o.Method)
	case r.access&(AccessRemoteWrite|AccessRemoteAtomic) != 0 && r.access&AccessLocalWrite == 0:
		return r, fmt.Errorf("%w: remote write and remote atomic need local write", syscall.EINVAL)
	case r.own != nil:
		return r, nil
	}
	switch gpumem.Find(r.address(), r.n) {
	case gpumem.Beyond:
		return r, fmt.Errorf("%w: %d bytes at 0x%x go past the allocation", ErrOutOfRange, r.n, r.address())
	case gpumem.Elsewhere:
		return r, fmt.Errorf("%w: 0x%x: register memory of the host with RegisterMR", ErrNotGPUMemory, r.address())
	}
	return r, nil
}
