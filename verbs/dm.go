package verbs

import (
	"errors"
	"fmt"
	"math"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// DMOptions are the options of device memory.
type DMOptions struct {
	// LogAlign has the memory begin at a multiple of 2^LogAlign bytes.
	LogAlign uint8
}

// DM is memory within the device, which it reaches faster than the host's. It is
// safe for concurrent use; what its bytes hold is the caller's care.
type DM struct {
	obj  life.Object
	dev  *Device
	dm   cverbs.DM
	size uint64

	imported bool // another process allocated it
}

// AllocDM allocates size bytes of the device's memory: DeviceAttrEx.MaxDM says
// how much there is.
//
// It fails with ErrNotSupported where the device has none.
//
// Implements: ibv_alloc_dm.
func (d *Device) AllocDM(size uint64, opts DMOptions) (*DM, error) {
	const op = "allocate device memory"
	if size == 0 || size > math.MaxInt {
		return nil, d.err(op, fmt.Errorf("%d bytes: it must be 1 to %d", size, uint64(math.MaxInt)))
	}
	if err := d.obj.Use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	raw, err := d.ctx.AllocDM(size, uint32(opts.LogAlign))
	if err != nil {
		return nil, d.err(op, err)
	}
	return d.enterDM(&DM{dm: raw, size: size}), nil
}

func (d *Device) enterDM(dm *DM) *DM {
	dm.dev = d
	life.Enter(&dm.obj, dm, fmt.Sprintf("device memory of %d bytes", dm.size), &d.obj)
	return dm
}

// Size returns the bytes of the memory, or 0 if it was imported.
func (dm *DM) Size() uint64 { return dm.size }

// WriteAt copies data to the memory, from off on.
//
// Implements: ibv_memcpy_to_dm.
func (dm *DM) WriteAt(data []byte, off uint64) error {
	return dm.copy("write device memory", data, off, dm.dm.Write)
}

// ReadAt copies the memory, from off on, to data.
//
// Implements: ibv_memcpy_from_dm.
func (dm *DM) ReadAt(data []byte, off uint64) error {
	return dm.copy("read device memory", data, off, dm.dm.Read)
}

func (dm *DM) copy(op string, data []byte, off uint64, move func(uint64, []byte) error) error {
	if err := dm.obj.Use(); err != nil {
		return dm.dev.err(op, err)
	}
	defer dm.obj.Done()
	if err := dm.within(off, uint64(len(data))); err != nil {
		return dm.dev.err(op, err)
	}
	if len(data) == 0 {
		return nil
	}
	if err := move(off, data); err != nil {
		return dm.dev.err(op, err)
	}
	return nil
}

// within checks a piece. How long imported memory is only the device knows.
func (dm *DM) within(off, n uint64) error {
	if !dm.imported && (off > dm.size || n > dm.size-off) {
		return fmt.Errorf("%d bytes from offset %d do not lie within the %d bytes of the memory", n, off, dm.size)
	}
	return nil
}

// RegisterDM registers length bytes of the device's memory, from off on. Requests
// address its first byte as 0. The zero access is AccessLocalWrite.
//
// Implements: ibv_reg_dm_mr.
func (pd *PD) RegisterDM(dm *DM, off, length uint64, access Access) (*MR, error) {
	const op = "register device memory"
	if access == 0 {
		access = AccessLocalWrite
	}
	access |= AccessZeroBased
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	if dm == nil {
		return nil, pd.dev.err(op, errors.New("there is no device memory"))
	}
	if err := dm.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer dm.obj.Done()
	if dm.dev != pd.dev {
		return nil, pd.dev.err(op, fmt.Errorf("the memory is of %s", dm.dev.name))
	}
	if length == 0 || length > math.MaxInt {
		return nil, pd.dev.err(op, fmt.Errorf("a region of %d bytes: it must be 1 to %d", length, uint64(math.MaxInt)))
	}
	if err := dm.within(off, length); err != nil {
		return nil, pd.dev.err(op, err)
	}
	raw, err := pd.pd.RegDMMR(dm.dm, off, length, uint32(access))
	if err != nil {
		return nil, pd.dev.err(op, err)
	}
	return pd.enterMR(&MR{mr: raw, length: int(length), access: access}, &dm.obj), nil
}

// ExportDMABuf makes a dma-buf over the memory and returns its descriptor, which
// is the caller's to close. It needs rdma-core 62.
//
// Implements: ibv_dm_export_dmabuf_fd.
func (dm *DM) ExportDMABuf() (fd int, err error) {
	const op = "export device memory"
	if err := dm.obj.Use(); err != nil {
		return -1, dm.dev.err(op, err)
	}
	defer dm.obj.Done()
	if fd, err = dm.dm.ExportDMABuf(); err != nil {
		return -1, dm.dev.tooOld(op, "ibv_dm_export_dmabuf_fd", err)
	}
	return fd, nil
}

// Close frees the memory. It fails with ErrBusy while a region of it is open.
// Imported memory is only forgotten.
//
// Implements: ibv_free_dm, ibv_unimport_dm.
func (dm *DM) Close() error {
	end := dm.dm.Free
	if dm.imported {
		end = dm.dm.Unimport
	}
	if err := dm.obj.Close(end); err != nil {
		return dm.dev.err("free device memory", err)
	}
	return nil
}

// CloseAll closes the regions of the memory, and the memory.
func (dm *DM) CloseAll() error { return errors.Join(dm.obj.CloseChildren(), dm.Close()) }
