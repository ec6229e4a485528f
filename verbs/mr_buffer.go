package verbs

import (
	"errors"
	"fmt"
	"unsafe"
)

// AllocDeviceMR is AllocMR with memory of the kind that the device's driver asks
// for, such as what a confidential guest shares with it. It needs rdma-core 64.
//
// Implements: ibv_alloc_buf, ibv_free_buf, ibv_reg_buf_mr.
func (pd *PD) AllocDeviceMR(size int, opts MROptions) (*MR, error) {
	const op = "allocate memory"
	if size <= 0 {
		return nil, pd.dev.err(op, fmt.Errorf("a region of %d bytes: it needs at least one", size))
	}
	if opts.HugePages || opts.IOVA != nil {
		return nil, pd.dev.err(op, fmt.Errorf("HugePages and IOVA do not go with the driver's memory: %w", ErrNotSupported))
	}
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	start, buf, err := pd.pd.AllocBuf(size)
	if err != nil {
		return nil, pd.dev.tooOld(op, "ibv_alloc_buf", err)
	}
	access := opts.access()
	raw, err := pd.pd.RegBufMR(buf, start, size, uint32(access))
	if err != nil {
		return nil, errors.Join(&OpError{Op: "register memory", Device: pd.dev.name, Err: err, Hint: registerHint(err, size, access)}, buf.Free())
	}
	memory := unsafe.Slice((*byte)(start), size)
	return pd.enterMR(&MR{
		mr: raw, buf: memory, addr: uint64(uintptr(start)), length: size, access: access, free: func() error { return buf.Free() },
	}), nil
}
