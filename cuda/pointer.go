package cuda

import "github.com/gofabric/gofabric/internal/ccuda"

// MemoryType says where memory lies.
type MemoryType int

// Types of memory.
const (
	MemoryHost   MemoryType = ccuda.CU_MEMORYTYPE_HOST // pinned, and known to the driver
	MemoryDevice MemoryType = ccuda.CU_MEMORYTYPE_DEVICE
)

// String returns "host" or "device".
func (m MemoryType) String() string {
	switch m {
	case MemoryHost:
		return "host"
	case MemoryDevice:
		return "device"
	}
	return "unknown"
}

// PointerAttributes is what the driver knows of an address.
type PointerAttributes struct {
	Type          MemoryType
	Device        int    // the ordinal of the GPU that it was allocated on, or for
	DevicePointer uint64 // where GPUs reach it; 0 if they cannot
	HostPointer   uint64 // where the CPU reaches it; 0 if it cannot
	Allocation    Span   // what the address is in
	BufferID      uint64 // no two allocations of a process have the same
	Managed       bool   // moves between GPU and host by itself
	GPUDirectRDMA bool   // network adapters can be let at it
}

// PointerAttributes describes an address. It answers false if the driver does not
// know it, as for memory of the Go heap.
//
// Implements: cuPointerGetAttributes.
func (d *Device) PointerAttributes(addr uint64) (PointerAttributes, bool, error) {
	const op = "describe address"
	if err := d.use(); err != nil {
		return PointerAttributes{}, false, d.err(op, err)
	}
	defer d.obj.Done()
	p, r := d.ctx.Pointer(addr)
	if r == ccuda.CUDA_ERROR_INVALID_VALUE || r == 0 && p.MemoryType == 0 {
		return PointerAttributes{}, false, nil
	}
	if r != 0 {
		return PointerAttributes{}, false, d.check(op, r)
	}
	return PointerAttributes{
		Type:          MemoryType(p.MemoryType),
		Device:        int(p.Ordinal),
		DevicePointer: p.DevicePointer,
		HostPointer:   p.HostPointer,
		Allocation:    Span{Addr: p.Start, Len: p.Size},
		BufferID:      p.Buffer,
		Managed:       p.Managed != 0,
		GPUDirectRDMA: p.RDMACapable != 0,
	}, true, nil
}
