//go:build linux && cgo

package cuda_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gpuMemory is what package verbs asks of memory of a GPU.
type gpuMemory interface {
	DevicePointer() uint64
	Size() uint64
	DMABuf(off, n uint64) (fd int, offset uint64, err error)
}

var _ gpuMemory = (*cuda.Buffer)(nil)

// needs skips where the GPU lacks a capability.
func needs(t *testing.T, d *cuda.Device, a cuda.Attribute, what string) {
	t.Helper()
	v, err := d.Attribute(a)
	require.NoError(t, err)
	if v == 0 {
		testutil.Skip(t, "the GPU or its driver here has no "+what)
	}
}

func TestVMM(t *testing.T) {
	d := openGPU(t, 0)
	needs(t, d, cuda.AttributeVMM, "virtual memory management")
	const n = 3<<20 + 1
	b, err := d.AllocVMM(n, cuda.VMMOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, n, b.Size())
	want := randomBytes(n)
	require.NoError(t, d.CopyToDevice(patiently(t), b.Span(), want))
	s := newStream(t, d)
	assert.True(t, bytes.Equal(want, contents(t, s, b.Span())))

	info, known, err := d.PointerAttributes(b.DevicePointer())
	require.NoError(t, err)
	assert.True(t, known)
	rdma, err := d.Attribute(cuda.AttributeGPUDirectRDMAOfVMM)
	require.NoError(t, err)
	assert.Equal(t, rdma != 0, info.GPUDirectRDMA, "the flag is set where the GPU has it")
	require.NoError(t, b.Close())

	b, err = d.AllocVMM(1, cuda.VMMOptions{RequireGPUDirectRDMA: true})
	if rdma == 0 {
		require.ErrorIs(t, err, cuda.ErrNotSupported)
	} else {
		require.NoError(t, err)
		require.NoError(t, b.Close())
	}
	_, err = d.AllocVMM(0, cuda.VMMOptions{})
	require.Error(t, err)
	_, err = d.AllocVMM(1<<64-1, cuda.VMMOptions{})
	require.Error(t, err)
	_, err = d.AllocVMM(1<<46, cuda.VMMOptions{})
	require.ErrorIs(t, err, cuda.ErrorOutOfMemory)
}

func TestVMMOfPeers(t *testing.T) {
	a, b := openGPU(t, 0), openGPU(t, 1)
	needs(t, a, cuda.AttributeVMM, "virtual memory management")
	if can, err := b.CanAccessPeer(a); err != nil || !can {
		testutil.Skip(t, "the GPUs cannot reach each other")
	}
	buf, err := a.AllocVMM(4096, cuda.VMMOptions{Peers: []*cuda.Device{b}})
	require.NoError(t, err)
	s := newStream(t, b)
	require.NoError(t, s.Fill8(buf.Span(), 5))
	assert.Equal(t, bytes.Repeat([]byte{5}, 4096), contents(t, s, buf.Span()))
	_, err = a.AllocVMM(1, cuda.VMMOptions{Peers: []*cuda.Device{nil}})
	require.ErrorIs(t, err, cuda.ErrClosed)
}

func TestPointerAttributes(t *testing.T) {
	d := openGPU(t, 0)
	b := alloc(t, d, 1<<16)
	info, known, err := d.PointerAttributes(b.DevicePointer() + 4096)
	require.NoError(t, err)
	require.True(t, known)
	assert.Equal(t, cuda.MemoryDevice, info.Type)
	assert.Equal(t, "device", info.Type.String())
	assert.Equal(t, 0, info.Device)
	assert.Equal(t, b.Span(), info.Allocation)
	assert.Equal(t, b.DevicePointer()+4096, info.DevicePointer)
	assert.False(t, info.Managed)
	assert.NotZero(t, info.BufferID)

	h, err := d.AllocHost(1 << 16)
	require.NoError(t, err)
	info, known, err = d.PointerAttributes(h.Span().Addr)
	require.NoError(t, err)
	require.True(t, known)
	assert.Equal(t, cuda.MemoryHost, info.Type)
	assert.Equal(t, h.Span().Addr, info.HostPointer)

	var local [64]byte
	_, known, err = d.PointerAttributes(uint64(uintptr(unsafe.Pointer(&local))))
	require.NoError(t, err)
	assert.False(t, known)
}

func TestDMABuf(t *testing.T) {
	d := openGPU(t, 0)
	b := alloc(t, d, 4<<20)
	_, _, err := b.DMABuf(4<<20, 1)
	require.ErrorIs(t, err, cuda.ErrOutOfRange)
	_, _, err = b.DMABuf(0, 0)
	require.Error(t, err)
	if v, err := d.Attribute(cuda.AttributeDMABuf); err == nil && v == 0 {
		_, _, err := b.DMABuf(0, 4096)
		require.ErrorIs(t, err, cuda.ErrNotSupported)
		testutil.Skip(t, "the GPU's kernel driver here has no dma-bufs")
	}
	page := uint64(os.Getpagesize())
	const off, n = 100, 8000
	fd, offset, err := b.DMABuf(off, n)
	require.NoError(t, err)
	defer syscall.Close(fd)
	assert.Equal(t, (b.DevicePointer()+off)%page, offset)
	var stat syscall.Stat_t
	require.NoError(t, syscall.Fstat(fd, &stat))
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
	require.Zero(t, errno)
	assert.NotZero(t, flags&syscall.FD_CLOEXEC, "children do not inherit it")
	if realGPU {
		return
	}
	// The fake's dma-buf is a file that can be looked into.
	want := randomBytes(n)
	require.NoError(t, d.CopyToDevice(patiently(t), at(t, b.Span(), off, n), want))
	got := make([]byte, n)
	_, err = syscall.Pread(fd, got, int64(offset))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got))
}

// TestDMABufOfASmallBuffer exports a page of which the buffer is a part: others
// may have the rest of it.
func TestDMABufOfASmallBuffer(t *testing.T) {
	d := openGPU(t, 0)
	b := alloc(t, d, 100)
	_, _, err := b.DMABuf(0, 100)
	require.ErrorIs(t, err, cuda.ErrSharedPage)
	assert.Contains(t, err.Error(), "AllocVMM")
}

func TestDMABufOfVMM(t *testing.T) {
	d := openGPU(t, 0)
	needs(t, d, cuda.AttributeVMM, "virtual memory management")
	needs(t, d, cuda.AttributeDMABuf, "dma-bufs")
	b, err := d.AllocVMM(100, cuda.VMMOptions{})
	require.NoError(t, err)
	fd, offset, err := b.DMABuf(0, 100)
	require.NoError(t, err)
	assert.Zero(t, offset)
	require.NoError(t, syscall.Close(fd))
}

func init() { children["ipc"] = ipcChild }

// ipcChild doubles what it finds in the memory that standard input names, waits
// for the event before that, and says so by the other one.
func ipcChild(ctx context.Context) error {
	var memory cuda.IPCHandle
	var event cuda.IPCEventHandle
	for _, p := range [][]byte{memory[:], event[:]} {
		if _, err := io.ReadFull(os.Stdin, p); err != nil {
			return err
		}
	}
	d, err := cuda.Open(0)
	if err != nil {
		return err
	}
	b, err := d.OpenIPC(memory)
	if err != nil {
		return err
	}
	e, err := d.OpenIPCEvent(event)
	if err != nil {
		return err
	}
	s, err := d.CreateStream(cuda.StreamOptions{})
	if err != nil {
		return err
	}
	if err := s.WaitEvent(e); err != nil {
		return err
	}
	got := make([]byte, b.Size())
	if err := s.CopyToHost(ctx, got, b.Span()); err != nil {
		return err
	}
	for i := range got {
		got[i] *= 2
	}
	if err := s.CopyToDevice(ctx, b.Span(), got); err != nil {
		return err
	}
	return d.CloseAll()
}

func TestMemoryAndEventsOfAnotherProcess(t *testing.T) {
	d := openGPU(t, 0)
	needs(t, d, cuda.AttributeIPCEvents, "events between processes")
	s := newStream(t, d)
	b := alloc(t, d, 2<<20)
	e, err := d.CreateEvent(cuda.EventOptions{Interprocess: true})
	require.NoError(t, err)
	require.NoError(t, s.Fill8(b.Span(), 21))
	require.NoError(t, e.Record(s))
	memory, err := b.IPCHandle()
	require.NoError(t, err)
	event, err := e.IPCHandle()
	require.NoError(t, err)
	_, err = d.OpenIPC(memory)
	require.Error(t, err, "its own memory")

	runChild(t, "ipc", append(memory[:], event[:]...))
	assert.Equal(t, bytes.Repeat([]byte{42}, 2<<20), contents(t, s, b.Span()))

	_, err = newEvent(t, d).IPCHandle()
	require.Error(t, err, "an event for one process")
}
