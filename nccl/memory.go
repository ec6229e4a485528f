package nccl

import (
	"fmt"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/gofabric/gofabric/internal/life"
)

// Memory is GPU memory of NCCL's allocator, laid out so that NCCL can register
// it in every way: as a window, and for NVLink SHARP. It is safe for concurrent
// use. Close what registered it first: NCCL does not know who uses it.
type Memory struct {
	obj     life.Object
	lib     *library
	dev     *cuda.Device
	context uintptr
	span    cuda.Span
}

// MemAlloc allocates at least size bytes on dev. NCCL 2.19.1. Do not allocate or
// free while operations of several GPUs of this process are under way and not
// yet all issued: CUDA's allocator may wait for one of them, and that one for the
// others.
//
// Implements: ncclMemAlloc.
func MemAlloc(dev *cuda.Device, size uint64) (*Memory, error) {
	m, err := memAlloc(dev, size)
	if err != nil {
		return nil, startError("MemAlloc", dev, err)
	}
	return m, nil
}

func memAlloc(dev *cuda.Device, size uint64) (*Memory, error) {
	lib, err := load(LoadOptions{})
	if err != nil {
		return nil, err
	}
	if err := lib.need(cnccl.FnMemAlloc); err != nil {
		return nil, err
	}
	switch {
	case dev == nil:
		return nil, badArgument("the device is nil: cuda.Open makes one")
	case size == 0:
		return nil, badArgument("size is 0")
	}
	parent := deviceObject(dev)
	if err := parent.Use(); err != nil {
		return nil, err
	}
	defer parent.Done()
	m := &Memory{lib: lib, dev: dev, context: dev.Context()}
	addr, code, last := lib.MemAlloc(m.context, size)
	if code != 0 {
		return nil, lib.callError(code, last)
	}
	m.span = cuda.Span{Addr: addr, Len: size}
	life.Enter(&m.obj, m, fmt.Sprintf("%d bytes of NCCL's allocator", size), parent)
	return m, nil
}

// callError is the error of a call that concerns no communicator.
func (l *library) callError(code int, last string) error {
	if code == cnccl.NotCalled {
		return fmt.Errorf("the CUDA context of the device could not be made current")
	}
	return l.failure(code, last)
}

// Span returns the memory, with the size that was asked for.
func (m *Memory) Span() cuda.Span { return m.span }

// Device returns the device that the memory is on.
func (m *Memory) Device() *cuda.Device { return m.dev }

// Close frees the memory. What NCCL still does with it must be over.
//
// Implements: ncclMemFree.
func (m *Memory) Close() error {
	err := m.obj.Close(func() error {
		if code, last := m.lib.MemFree(m.context, m.span.Addr); code != 0 {
			return m.lib.callError(code, last)
		}
		return nil
	})
	if err != nil {
		return startError("Memory.Close", m.dev, err)
	}
	return nil
}

// CloseAll is Close.
func (m *Memory) CloseAll() error { return m.Close() }
