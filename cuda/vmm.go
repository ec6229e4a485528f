package cuda

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/ccuda"
)

// VMMOptions are the options of AllocVMM.
type VMMOptions struct {
	// RequireGPUDirectRDMA fails with ErrNotSupported where the GPU cannot let
	// network adapters at such memory. Without it, the memory is made capable
	// of that wherever the GPU can.
	RequireGPUDirectRDMA bool
	// Peers are GPUs that may read and write the memory too, besides the one
	// that it lies on. Each must be able to (Device.CanAccessPeer).
	Peers []*Device
}

// AllocVMM allocates memory by the driver's virtual memory management: of whole
// pages of the GPU (2 MiB), which it owns alone, so that exporting it (DMABuf)
// shows nobody else's. NCCL's symmetric windows want such memory. It is not
// zeroed, and Size is what was asked for.
//
// It fails with ErrNotSupported if the GPU or the driver has no such management.
//
// Implements: cuMemCreate, cuMemAddressReserve, cuMemMap, cuMemSetAccess,
// cuMemGetAllocationGranularity.
func (d *Device) AllocVMM(size uint64, opts VMMOptions) (*Buffer, error) {
	const op = "allocate memory by VMM"
	devices, err := d.vmmDevices(op, opts)
	if err != nil {
		return nil, err
	}
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	rdma := d.has(AttributeGPUDirectRDMAOfVMM)
	switch {
	case size == 0:
		return nil, d.err(op, errNoBytes)
	case !d.has(AttributeVMM):
		return nil, d.err(op, fmt.Errorf("the GPU has no virtual memory management: %w", ErrNotSupported))
	case opts.RequireGPUDirectRDMA && !rdma:
		return nil, d.err(op, fmt.Errorf("the GPU cannot let network adapters at such memory: %w", ErrNotSupported))
	}
	addr, mapped, r := d.ctx.Map(size, rdma, d.has(AttributeVMMPosixHandle), devices)
	if r != 0 {
		return nil, d.noMemory(op, size, r)
	}
	b := &Buffer{addr: addr, size: size, whole: mapped, vmm: true, free: func() ccuda.Result { return d.ctx.Unmap(addr, mapped) }}
	return d.enterBuffer("VMM buffer", b), nil
}

// vmmDevices returns who may reach the memory: the device and its peers.
func (d *Device) vmmDevices(op string, opts VMMOptions) ([]ccuda.Device, error) {
	if d == nil {
		return nil, failed(op, ErrClosed)
	}
	devices := []ccuda.Device{d.raw}
	for _, p := range opts.Peers {
		if err := p.isOpen(); err != nil {
			return nil, d.err(op, fmt.Errorf("a peer: %w", err))
		}
		devices = append(devices, p.raw)
	}
	return devices, nil
}
