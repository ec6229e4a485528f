package ccuda

// Result is what the driver answered: 0, one of its error codes, or, below zero,
// a function that the library lacks (Missing).
type Result int32

// Param is where a kernel's parameter lies among its arguments, in bytes.
type Param struct{ Offset, Size uint64 }

// Grid is the shape of a launch: struct gf1_cuda_grid.
type Grid struct {
	Grid   [3]uint32
	Block  [3]uint32
	Shared uint32
}

// Pointer is what the driver knows of an address: struct gf1_cuda_pointer.
type Pointer struct {
	DevicePointer uint64
	HostPointer   uint64
	Buffer        uint64
	Start         uint64
	Size          uint64
	MemoryType    uint32
	Ordinal       int32
	Managed       int32
	RDMACapable   int32
}

// IPCHandle names memory or an event to another process.
type IPCHandle [64]byte

// Context is a primary context. Its methods run inside it and leave the thread
// as they found it.
type Context uintptr
