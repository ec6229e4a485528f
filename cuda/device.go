package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/life"
)

// Device is a GPU opened by this process: a reference on its primary context,
// the one that NCCL and the CUDA runtime use too, and the root of everything
// that is made on it. It is safe for concurrent use.
type Device struct {
	obj  life.Object
	raw  ccuda.Device
	ctx  ccuda.Context
	info DeviceInfo

	null   Stream
	made   atomic.Uint64 // numbers what is made, for the names in errors
	shared shared
}

// Open opens a GPU by its number from 0. It takes a reference on the primary
// context of that GPU, which costs some hundred megabytes of its memory if
// nothing in the process had it, and touches no other GPU. Two Devices of one
// ordinal share the context.
//
// It fails with ErrLibraryNotFound where no driver is installed, with
// ErrorInvalidDevice if there is no such GPU, and with ErrorOutOfMemory if there
// is no room for the context.
//
// Implements: cuDevicePrimaryCtxRetain.
func Open(ordinal int) (*Device, error) {
	const op = "open GPU"
	raw, err := findDevice(op, ordinal)
	if err != nil {
		return nil, err
	}
	info, err := describe(op, ordinal, raw)
	if err != nil {
		return nil, err
	}
	ctx, r := raw.Retain()
	if r != 0 {
		return nil, &OpError{Op: op, Device: ordinal, Err: driverError(r)}
	}
	raw.OpenPlace(ctx)
	d := &Device{raw: raw, ctx: ctx, info: info}
	d.null.life, d.null.dev, d.null.name, d.null.serial = &d.obj, d, "null stream", streamSerials.Add(1)
	d.shared.references = 1
	life.Enter(&d.obj, d, fmt.Sprintf("GPU %d", ordinal))
	return d, nil
}

// use keeps the device open until d.obj.Done.
func (d *Device) use() error {
	if d == nil {
		return ErrClosed
	}
	return d.obj.Use()
}

// number returns what tells an object from its siblings.
func (d *Device) number() uint64 { return d.made.Add(1) }

// Ordinal returns the GPU's number in this process.
func (d *Device) Ordinal() int { return d.info.Ordinal }

// Info describes the GPU, as it was when it was opened.
func (d *Device) Info() DeviceInfo { return d.info }

// Context returns the primary context (CUcontext), for other bindings. It is
// good until Close.
func (d *Device) Context() uintptr { return uintptr(d.ctx) }

// MemInfo returns the GPU's free and total memory in bytes. Other processes use
// it too, so what is free may be gone at once.
//
// Implements: cuMemGetInfo.
func (d *Device) MemInfo() (free, total uint64, err error) {
	const op = "read free memory"
	if err := d.use(); err != nil {
		return 0, 0, d.err(op, err)
	}
	defer d.obj.Done()
	free, total, r := d.ctx.MemInfo()
	return free, total, d.check(op, r)
}

// Synchronize waits until all work of this process on the GPU is done, that of
// other libraries included. The driver has no other way than to hold a thread
// for it. When ctx ends, Synchronize returns, and the work and that thread go on.
//
// Implements: cuCtxSynchronize.
func (d *Device) Synchronize(ctx context.Context) error {
	const op = "wait for GPU"
	if err := d.use(); err != nil {
		return d.err(op, err)
	}
	if ctx == nil {
		d.obj.Done()
		return d.err(op, errNoContext)
	}
	d.hold()
	d.obj.Done()
	done := make(chan ccuda.Result, 1)
	go func() {
		r := d.ctx.Synchronize()
		// Nobody can be told: the device is closed and its last user is this.
		_ = d.drop()
		done <- r
	}()
	select {
	case r := <-done:
		return d.check(op, r)
	case <-ctx.Done():
		return d.ended(op, ctx.Err(), "the GPU")
	}
}

// AsyncError returns the error of work that failed on the GPU after the call
// that began it had succeeded, such as a kernel that reached for memory which
// was not there (ErrorIllegalAddress). Such an error stays, and every other call
// answers it too. AsyncError does not wait.
//
// Implements: cuStreamQuery.
func (d *Device) AsyncError() error {
	const op = "run work"
	if err := d.use(); err != nil {
		return d.err(op, err)
	}
	defer d.obj.Done()
	side, err := d.side(op)
	if err != nil {
		return err
	}
	if r := d.ctx.QueryStream(side.h); r != ccuda.CUDA_ERROR_NOT_READY {
		return d.check(op, r)
	}
	return nil
}

// Close gives back the primary context. It fails with ErrBusy while anything
// that was made on the device is open, and while a copy that its caller gave up
// still runs.
//
// Implements: cuDevicePrimaryCtxRelease.
func (d *Device) Close() error {
	if d == nil {
		return nil
	}
	const op = "close GPU"
	var released error
	err := d.obj.Close(func() error {
		if err := d.quiet(); err != nil {
			return err
		}
		released = d.drop()
		return nil
	})
	return d.err(op, errors.Join(err, released))
}

// CloseAll closes everything that was made on the device, the newest first, and
// the device.
func (d *Device) CloseAll() error {
	if d == nil {
		return nil
	}
	err := d.obj.CloseChildren()
	if errors.Is(err, ErrBusy) {
		// A stream that an older communicator was using: that is closed by now.
		err = d.obj.CloseChildren()
	}
	return errors.Join(err, d.Close())
}

// closing runs what destroys an object. If the context is lost, so is the
// object: it counts as closed, and the error is returned once.
func (d *Device) closing(op string, obj *life.Object, destroy func() ccuda.Result) error {
	var lost error
	err := obj.Close(func() error {
		r := destroy()
		if r != 0 && Code(r).gone() {
			lost = driverError(r)
			return nil
		}
		if r != 0 {
			return driverError(r)
		}
		return nil
	})
	return d.err(op, errors.Join(err, lost))
}
