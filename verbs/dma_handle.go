package verbs

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// DMAHandleOptions are hints about the memory that a device will reach: PCIe's TLP
// processing hints. What is nil is not given.
type DMAHandleOptions struct {
	CPU        *int   // the processor that works on the data
	Hint       *uint8 // the processing hint, 0 to 3
	Persistent *bool  // the memory keeps its contents without power
}

// DMAHandle carries hints to regions (PD.RegisterMRWith). It is safe for concurrent
// use.
type DMAHandle struct {
	obj life.Object
	dev *Device
	raw cverbs.DMAH
}

// AllocDMAHandle makes a handle of hints. It needs rdma-core 59, and fails with
// ErrNotSupported there if device or kernel know none.
//
// Implements: ibv_alloc_dmah.
func (d *Device) AllocDMAHandle(opts DMAHandleOptions) (*DMAHandle, error) {
	const op, mostHint = "allocate DMA handle", 3
	var mask, cpu uint32
	var hint, memory uint8
	if opts.CPU != nil {
		if *opts.CPU < 0 || *opts.CPU > math.MaxInt32 {
			return nil, d.err(op, fmt.Errorf("there is no processor %d", *opts.CPU))
		}
		mask, cpu = mask|cverbs.IBV_DMAH_INIT_ATTR_MASK_CPU_ID, uint32(*opts.CPU)
	}
	if opts.Hint != nil {
		if *opts.Hint > mostHint {
			return nil, d.err(op, fmt.Errorf("processing hint %d: it is 0 to %d", *opts.Hint, mostHint))
		}
		mask, hint = mask|cverbs.IBV_DMAH_INIT_ATTR_MASK_PH, *opts.Hint
	}
	if opts.Persistent != nil {
		mask |= cverbs.IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE
		if *opts.Persistent {
			memory = 1
		}
	}
	if err := d.obj.Use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	raw, err := d.ctx.AllocDMAH(mask, cpu, hint, memory)
	if err != nil {
		return nil, d.tooOld(op, "ibv_alloc_dmah", err)
	}
	h := &DMAHandle{dev: d, raw: raw}
	life.Enter(&h.obj, h, "DMA handle", &d.obj)
	return h, nil
}

// Close frees the handle. It fails with ErrBusy while a region of it is open.
//
// Implements: ibv_dealloc_dmah.
func (h *DMAHandle) Close() error {
	if err := h.obj.Close(h.raw.Dealloc); err != nil {
		return h.dev.err("free DMA handle", err)
	}
	return nil
}

// CloseAll closes the regions of the handle, and the handle.
func (h *DMAHandle) CloseAll() error { return errors.Join(h.obj.CloseChildren(), h.Close()) }

// RegisterMRWith is RegisterMR with hints; a nil handle gives none. It needs
// rdma-core 59.
//
// Implements: ibv_reg_mr_ex.
func (pd *PD) RegisterMRWith(h *DMAHandle, buf []byte, opts MROptions) (*MR, error) {
	const op = "register memory"
	if len(buf) == 0 {
		return nil, pd.dev.err(op, errors.New("an empty slice: it needs at least one byte"))
	}
	start := unsafe.Pointer(unsafe.SliceData(buf))
	init := cverbs.MRInit{
		Length: uint64(len(buf)), Access: uint32(opts.access()), Addr: start,
		Mask: cverbs.IBV_REG_MR_MASK_ADDR | cverbs.IBV_REG_MR_MASK_IOVA, IOVA: uint64(uintptr(start)),
	}
	if opts.IOVA != nil {
		if err := checkIOVA(init.IOVA, init.Length, *opts.IOVA); err != nil {
			return nil, pd.dev.err(op, err)
		}
		init.IOVA = *opts.IOVA
	}
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	var parents []*life.Object
	if h != nil {
		if err := h.obj.Use(); err != nil {
			return nil, pd.dev.err(op, err)
		}
		defer h.obj.Done()
		if h.dev != pd.dev {
			return nil, pd.dev.err(op, errors.New("the DMA handle is of another device"))
		}
		init.Mask, init.DMAH = init.Mask|cverbs.IBV_REG_MR_MASK_DMAH, h.raw
		parents = append(parents, &h.obj)
	}
	var pinner runtime.Pinner
	pinner.Pin(unsafe.SliceData(buf))
	raw, err := pd.pd.RegMREx(init)
	if err != nil {
		pinner.Unpin()
		return nil, pd.dev.tooOld(op, "ibv_reg_mr_ex", err)
	}
	free := func() error {
		pinner.Unpin()
		return nil
	}
	return pd.enterMR(&MR{mr: raw, buf: buf, addr: init.IOVA, length: len(buf), access: opts.access(), free: free}, parents...), nil
}
