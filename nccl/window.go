package nccl

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/gofabric/gofabric/internal/life"
)

// WindowFlags says how a window will be used.
type WindowFlags int

// NCCL's flags.
const (
	// WindowSymmetric promises that all ranks use the same offsets in every
	// operation, which lets NCCL use faster algorithms.
	WindowSymmetric WindowFlags = 1
	// WindowStrictOrdering orders one-sided writes (2.29.7).
	WindowStrictOrdering WindowFlags = 2
)

// windowAlignment is what NCCL wants of a window's address, in bytes.
const windowAlignment = 4096

// Window is memory that all ranks have registered together. It is safe for
// concurrent use. The memory, best from MemAlloc, must stay until Close.
type Window struct {
	obj    life.Object
	comm   *Comm
	span   cuda.Span
	flags  WindowFlags
	handle atomic.Uint64 // NCCL's; 0 once closed
}

// windowList are the open windows of a communicator.
type windowList struct {
	sync.RWMutex
	list []*Window
}

func (l *windowList) add(w *Window) {
	l.Lock()
	defer l.Unlock()
	l.list = append(l.list, w)
}

func (l *windowList) remove(w *Window) {
	l.Lock()
	defer l.Unlock()
	l.list = slices.DeleteFunc(l.list, func(other *Window) bool { return other == w })
}

// symmetric reports whether n bytes from addr lie in a symmetric window.
func (l *windowList) symmetric(addr, n uint64) bool {
	l.RLock()
	defer l.RUnlock()
	for _, w := range l.list {
		if w.flags&WindowSymmetric != 0 && addr >= w.span.Addr && n <= w.span.Len && addr-w.span.Addr <= w.span.Len-n {
			return true
		}
	}
	return false
}

// RegisterWindow registers memory of every rank as one window: all must call it,
// with the same size. NCCL 2.27.3. It answers ErrNotSupported where NCCL gives no
// window, because the GPUs cannot reach each other's memory.
//
// Implements: ncclCommWindowRegister.
func (c *Comm) RegisterWindow(ctx context.Context, span cuda.Span, flags WindowFlags) (*Window, error) {
	w := &Window{comm: c, span: span, flags: flags}
	err := c.locked(ctx, "RegisterWindow", func() error {
		if err := c.checkWindow(span, flags); err != nil {
			return err
		}
		s, err := c.filled(ctx, cnccl.Op{
			Function: cnccl.FnCommWindowRegister, Send: span.Addr, Count: span.Len, Flags: uint32(flags),
		})
		if err != nil {
			return err
		}
		w.handle.Store(s.Window())
		s.Free()
		if w.handle.Load() == 0 {
			return fmt.Errorf("%w: NCCL gives no window: the GPUs of the communicator have no symmetric memory", ErrNotSupported)
		}
		c.windows.add(w)
		return c.adoptChild(&w.obj, w, fmt.Sprintf("window of %d bytes", span.Len))
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (c *Comm) checkWindow(span cuda.Span, flags WindowFlags) error {
	if err := checkRegion(span); err != nil {
		return err
	}
	if span.Addr%windowAlignment != 0 {
		return badArgument("the span begins at 0x%x: a window begins at a multiple of %d bytes, as memory of MemAlloc does",
			span.Addr, windowAlignment)
	}
	if flags&^(WindowSymmetric|WindowStrictOrdering) != 0 {
		return badArgument("the flags are 0x%x: there are WindowSymmetric and WindowStrictOrdering", int(flags))
	}
	if flags&WindowStrictOrdering != 0 {
		return c.lib.since(22907, "WindowStrictOrdering")
	}
	return nil
}

// Close takes the window back; every rank must call it. It answers ErrBusy while
// graphs that may use it are open.
//
// Implements: ncclCommWindowDeregister.
func (w *Window) Close() error {
	return w.comm.closeChild(&w.obj, "Window.Close", func() cnccl.Op {
		return cnccl.Op{Function: cnccl.FnCommWindowDeregister, Handle: w.handle.Load()}
	}, func() {
		w.handle.Store(0)
		w.comm.windows.remove(w)
	})
}

// CloseAll closes the graphs that captured the communicator's work, and the
// window.
func (w *Window) CloseAll() error { return w.comm.closeAfterGraphs(w.Close) }

// Span returns this rank's memory in the window.
func (w *Window) Span() cuda.Span { return w.span }

// UserPointer asks NCCL for the address of this rank's memory in the window.
// NCCL 2.29.2.
//
// Implements: ncclWinGetUserPtr.
func (w *Window) UserPointer(ctx context.Context) (uint64, error) {
	return w.pointer(ctx, "UserPointer", cnccl.Op{Function: cnccl.FnWinGetUserPtr}, 0)
}

// PeerPointer returns the address at which this rank's GPU reaches the memory of
// peer, offset bytes into the window: a kernel may use it. It is 0 if the GPU
// cannot reach it. NCCL 2.29.2.
//
// Implements: ncclGetPeerDevicePointer.
func (w *Window) PeerPointer(ctx context.Context, offset uint64, peer int) (uint64, error) {
	return w.pointer(ctx, "PeerPointer", cnccl.Op{Function: cnccl.FnGetPeerDevicePointer, Offset: offset}, peer)
}

// LSAPointer is PeerPointer for a rank of those that load and store in each
// other's memory, counted among them. NCCL 2.29.2.
//
// Implements: ncclGetLsaDevicePointer.
func (w *Window) LSAPointer(ctx context.Context, offset uint64, lsaRank int) (uint64, error) {
	return w.pointer(ctx, "LSAPointer", cnccl.Op{Function: cnccl.FnGetLsaDevicePointer, Offset: offset}, lsaRank)
}

// MultimemPointer returns the multicast address of the window: what a kernel
// stores there reaches all of those ranks. NCCL 2.29.2.
//
// Implements: ncclGetLsaMultimemDevicePointer.
func (w *Window) MultimemPointer(ctx context.Context, offset uint64) (uint64, error) {
	return w.pointer(ctx, "MultimemPointer", cnccl.Op{Function: cnccl.FnGetLsaMultimemDevicePointer, Offset: offset}, 0)
}

func (w *Window) pointer(ctx context.Context, name string, op cnccl.Op, peer int) (p uint64, err error) {
	err = w.comm.locked(ctx, name, func() error {
		if err := w.checkPointer(op.Offset, peer); err != nil {
			return err
		}
		op.Handle, op.Peer = w.handle.Load(), int32(peer)
		s, err := w.comm.filled(ctx, op)
		if err != nil {
			return err
		}
		p = s.Handle()
		s.Free()
		return nil
	})
	return p, err
}

func (w *Window) checkPointer(offset uint64, peer int) error {
	switch {
	case w.handle.Load() == 0:
		return ErrClosed
	case offset >= w.span.Len:
		return badArgument("offset %d is not in the window of %d bytes", offset, w.span.Len)
	case peer < 0 || peer >= w.comm.size:
		return badArgument("rank %d: the ranks are 0 to %d", peer, w.comm.size-1)
	}
	return nil
}
