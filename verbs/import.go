package verbs

import (
	"errors"
	"fmt"
	"math"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// Sharing with another process. That process passes the descriptor of its device
// (Device.FD) over a Unix socket, and the handles of what it shares as numbers.
// The owner must keep everything open for as long as it is imported anywhere.

// FD returns the descriptor through which the device is open, or -1 if it is
// closed. It is the device's: pass a duplicate of it on.
func (d *Device) FD() int {
	if d.obj.Use() != nil {
		return -1
	}
	defer d.obj.Done()
	return d.ctx.FD()
}

// ImportDevice opens the device that another process has open, by a duplicate of
// its descriptor. The descriptor stays the caller's.
//
// It fails with ErrNotSupported where the device's driver cannot share, and where
// rdma-core is older than 31.
//
// Implements: ibv_import_device.
func ImportDevice(fd int) (*Device, error) {
	const op, function = "import device", "ibv_import_device"
	if fd < 0 || fd > math.MaxInt32 {
		return nil, &OpError{Op: op, Err: fmt.Errorf("%d is not a file descriptor", fd)}
	}
	ctx, err := cverbs.ImportDevice(fd)
	if err != nil {
		return nil, &OpError{Op: op, Err: err, Hint: tooOldHint(function, err)}
	}
	name, err := ctx.Name()
	if err != nil {
		return nil, errors.Join(&OpError{Op: op, Err: err}, ctx.Close())
	}
	return newDevice(name, ctx)
}

// Handle returns the number by which another process imports the domain.
func (pd *PD) Handle() (uint32, error) { return handle(&pd.obj, pd.dev, pd.pd.Handle) }

// Handle returns the number by which another process imports the region.
func (mr *MR) Handle() (uint32, error) { return handle(&mr.obj, mr.device(), mr.mr.Handle) }

// Handle returns the number by which another process imports the memory.
func (dm *DM) Handle() (uint32, error) { return handle(&dm.obj, dm.dev, dm.dm.Handle) }

func handle(obj *life.Object, d *Device, get func() uint32) (uint32, error) {
	if err := obj.Use(); err != nil {
		return 0, d.err("query handle", err)
	}
	defer obj.Done()
	return get(), nil
}

func (mr *MR) device() *Device {
	if mr.pd == nil {
		return nil // it was never made
	}
	return mr.pd.dev
}

// ImportPD makes a domain of the process that the device was imported from known
// here. Close forgets it and leaves it open there.
//
// Implements: ibv_import_pd.
func (d *Device) ImportPD(handle uint32) (*PD, error) {
	const op = "import PD"
	if err := d.obj.Use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	raw, err := d.ctx.ImportPD(handle)
	if err != nil {
		return nil, d.tooOld(op, "ibv_import_pd", err)
	}
	return d.enterPD(&PD{pd: raw, imported: true}, "imported PD"), nil
}

// ImportMR makes a region of an imported domain known here: its keys work, and its
// memory stays that of the other process. Addresses are those that it has there.
// Close forgets it.
//
// Implements: ibv_import_mr.
func (pd *PD) ImportMR(handle uint32) (*MR, error) {
	const op = "import MR"
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	raw, err := pd.pd.ImportMR(handle)
	if err != nil {
		return nil, pd.dev.tooOld(op, "ibv_import_mr", err)
	}
	addr, length := raw.Extent()
	return pd.enterMR(&MR{mr: raw, addr: uint64(uintptr(addr)), length: int(length), imported: true}), nil
}

// ImportDM makes device memory of the process that the device was imported from
// known here. Close forgets it.
//
// Implements: ibv_import_dm.
func (d *Device) ImportDM(handle uint32) (*DM, error) {
	const op = "import device memory"
	if err := d.obj.Use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	raw, err := d.ctx.ImportDM(handle)
	if err != nil {
		return nil, d.tooOld(op, "ibv_import_dm", err)
	}
	return d.enterDM(&DM{dm: raw, imported: true}), nil
}
