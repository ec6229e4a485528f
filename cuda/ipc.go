package cuda

import (
	"github.com/gofabric/gofabric/internal/ccuda"
)

// IPCHandle names memory of one process to others on the host (CUipcMemHandle).
// Its bytes can be sent as they are.
type IPCHandle [64]byte

// IPCEventHandle names an event in the same way (CUipcEventHandle).
type IPCEventHandle [64]byte

// IPCHandle names the buffer, which must come from Alloc, to other processes. They
// open it with Device.OpenIPC, on a device for the same GPU. The buffer must stay
// open for as long as they have it open.
//
// Implements: cuIpcGetMemHandle.
func (b *Buffer) IPCHandle() (IPCHandle, error) {
	const op = "name memory to other processes"
	if err := b.use(); err != nil {
		return IPCHandle{}, b.device().err(op, err)
	}
	defer b.obj.Done()
	h, r := b.dev.ctx.IPCMemory(b.addr)
	return IPCHandle(h), b.dev.check(op, r)
}

// OpenIPC maps memory of another process. It cannot map this process's own
// (ErrorInvalidContext).
//
// Implements: cuIpcOpenMemHandle, cuMemGetAddressRange.
func (d *Device) OpenIPC(h IPCHandle) (*Buffer, error) {
	const op = "open memory of another process"
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	addr, r := d.ctx.OpenIPCMemory(ccuda.IPCHandle(h))
	if r != 0 {
		return nil, d.check(op, r)
	}
	base, size, r := d.ctx.Range(addr)
	if r != 0 {
		d.ctx.CloseIPCMemory(addr)
		return nil, d.check(op, r)
	}
	size -= addr - base
	b := &Buffer{addr: addr, size: size, whole: size, free: func() ccuda.Result { return d.ctx.CloseIPCMemory(addr) }}
	return d.enterBuffer("IPC buffer", b), nil
}

// IPCHandle names the event, which must be made with Interprocess, to other
// processes.
//
// Implements: cuIpcGetEventHandle.
func (e *Event) IPCHandle() (IPCEventHandle, error) {
	const op = "name event to other processes"
	if err := e.use(); err != nil {
		return IPCEventHandle{}, e.device().err(op, err)
	}
	defer e.obj.Done()
	h, r := e.dev.ctx.IPCEvent(e.h)
	return IPCEventHandle(h), e.dev.check(op, r)
}

// OpenIPCEvent opens an event of another process.
//
// Implements: cuIpcOpenEventHandle.
func (d *Device) OpenIPCEvent(h IPCEventHandle) (*Event, error) {
	const op = "open event of another process"
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	e, r := d.ctx.OpenIPCEvent(ccuda.IPCHandle(h))
	if r != 0 {
		return nil, d.check(op, r)
	}
	return d.enterEvent(&Event{h: e}), nil
}
