package verbs

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// ReregOptions say what MR.Reregister changes. What is zero stays as it is.
type ReregOptions struct {
	PD     *PD    // another domain of the same device
	Buf    []byte // other memory, which is pinned as RegisterMR does
	Access Access // other rights
}

// Reregister changes a region in place, faster than closing it and registering
// anew: its keys may change with it. Nobody may use the region meanwhile, here or
// at a peer. Regions of files, of devices, of GPUs and of the whole address space cannot
// change.
//
// It fails with ErrNotSupported where the device's driver cannot. After any other
// error of the driver's the region is of no more use: Close it.
//
// Implements: ibv_rereg_mr.
func (mr *MR) Reregister(opts ReregOptions) error {
	const op = "reregister memory"
	if err := mr.obj.Use(); err != nil {
		return mr.err(op, err)
	}
	defer mr.obj.Done()
	mr.changing.Lock()
	defer mr.changing.Unlock()
	if mr.buf == nil || mr.gpu != nil {
		return mr.err(op, errors.New("only memory of this process can be registered anew"))
	}
	pd := mr.pd
	if opts.PD != nil && opts.PD != mr.pd {
		if opts.PD.dev != mr.pd.dev {
			return mr.err(op, errors.New("the domain is of another device"))
		}
		pd = opts.PD
		if err := pd.obj.Use(); err != nil {
			return mr.err(op, err)
		}
		defer pd.obj.Done()
	}
	return mr.reregister(op, pd, opts)
}

func (mr *MR) reregister(op string, pd *PD, opts ReregOptions) error {
	var flags int32
	next := &MR{pd: pd, buf: mr.buf, addr: mr.addr, length: mr.length, access: mr.access, free: mr.free}
	if pd != mr.pd {
		flags |= cverbs.IBV_REREG_MR_CHANGE_PD
	}
	if opts.Access != 0 {
		flags |= cverbs.IBV_REREG_MR_CHANGE_ACCESS
		next.access = opts.Access
	}
	unpin := func() {}
	if len(opts.Buf) > 0 {
		flags |= cverbs.IBV_REREG_MR_CHANGE_TRANSLATION
		var pinner runtime.Pinner
		pinner.Pin(unsafe.SliceData(opts.Buf))
		unpin = pinner.Unpin
		next.buf, next.length = opts.Buf, len(opts.Buf)
		next.addr = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(opts.Buf))))
		next.free = func() error {
			unpin()
			return nil
		}
	}
	if flags == 0 {
		return nil
	}
	start := unsafe.Pointer(unsafe.SliceData(opts.Buf))
	spoilt, err := mr.mr.Rereg(flags, pd.pd, start, len(opts.Buf), uint32(next.access))
	if err != nil {
		unpin()
		if spoilt && !errors.Is(err, ErrNotSupported) {
			mr.length = 0
		}
		return &OpError{Op: op, Device: pd.dev.name, Err: pd.dev.cause(err), Hint: registerHint(err, len(opts.Buf), next.access)}
	}
	var freed error
	if len(opts.Buf) > 0 && mr.free != nil {
		freed = mr.free() // the device does not reach the former memory any more
	}
	if pd != mr.pd {
		mr.obj.Hold(&pd.obj)
		mr.obj.Release(&mr.pd.obj)
	}
	mr.pd.dev.elsewhere.remove(mr)
	mr.pd, mr.buf, mr.addr, mr.length, mr.access, mr.free = next.pd, next.buf, next.addr, next.length, next.access, next.free
	mr.lkey, mr.rkey = mr.mr.Keys()
	mr.pd.dev.elsewhere.add(mr)
	if freed != nil {
		return mr.err("free memory", freed)
	}
	return nil
}

func (mr *MR) err(op string, err error) error { return mr.device().err(op, err) }
