package nccl

import (
	"context"
	"math"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
)

// oneSignal is the last release that has signal 0 of context 0 only, and no
// flags, as far as is known.
const oneSignal Version = 23007

// SignalOptions says which of a rank's signals is meant. Zero is the first one,
// and the only one up to NCCL 2.30.7.
type SignalOptions struct {
	// Index is the signal's number.
	Index int
	// Context is the one-sided context, below Config.RMAContexts.
	Context int
	// Flags is NCCL's for later use; it must be 0.
	Flags uint32
}

// SignalWait is a number of signals to wait for.
type SignalWait struct {
	Peer    int // whose
	Count   int // how many; at least 1
	Index   int
	Context int
}

// PutSignal writes count elements into the window of peer, offset bytes from its
// beginning, and then signals peer, which takes no part but WaitSignal. send must
// lie in a window of this rank that was registered with WindowSymmetric. NCCL
// 2.29.2.
//
// Implements: ncclPutSignal.
func (c *Comm) PutSignal(ctx context.Context, send cuda.Span, count int, dt DataType, peer int, window *Window, offset uint64, signal SignalOptions, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{
		function: cnccl.FnPutSignal, send: send, count: count, dt: dt, peer: peer, window: window, offset: offset, signal: signal,
	}, s)
}

// Signal signals peer without data. NCCL 2.29.2.
//
// Implements: ncclSignal.
func (c *Comm) Signal(ctx context.Context, peer int, signal SignalOptions, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnSignal, peer: peer, signal: signal}, s)
}

// WaitSignal makes the stream wait until all of the signals have come. NCCL
// 2.29.2.
//
// Implements: ncclWaitSignal.
func (c *Comm) WaitSignal(ctx context.Context, waits []SignalWait, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnWaitSignal, waits: waits}, s)
}

func (c *Comm) checkSignals(o *operation) error {
	if err := c.checkSignal(o.signal.Index, o.signal.Context, o.signal.Flags); err != nil {
		return err
	}
	switch o.function {
	case cnccl.FnPutSignal:
		return c.checkPut(o)
	case cnccl.FnWaitSignal:
		if len(o.waits) == 0 {
			return badArgument("there is no signal to wait for")
		}
		for i := range o.waits {
			w := &o.waits[i]
			if w.Peer < 0 || w.Peer >= c.size || w.Count < 1 || !fits(w.Count) {
				return badArgument("wait %d is for %d signals from rank %d: the count is 1 to %d and the ranks are 0 to %d",
					i, w.Count, w.Peer, math.MaxInt32, c.size-1)
			}
			if err := c.checkSignal(w.Index, w.Context, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Comm) checkSignal(index, context int, flags uint32) error {
	if index < 0 || context < 0 || !fits(index) || !fits(context) {
		return badArgument("signal %d of context %d: both are 0 to %d", index, context, math.MaxInt32)
	}
	if c.lib.info.Version <= oneSignal && (index != 0 || context != 0 || flags != 0) {
		return badArgument("signal %d of context %d with flags 0x%x: NCCL %v has signal 0 of context 0 only, and no flags",
			index, context, flags, c.lib.info.Version)
	}
	return nil
}

func (c *Comm) checkPut(o *operation) error {
	w := o.window
	if w == nil || w.comm != c || w.handle.Load() == 0 {
		return badArgument("the window is nil, closed or of another communicator")
	}
	n, _ := bytesOf(o.count, o.dt, 1)
	if o.offset > w.span.Len || w.span.Len-o.offset < n {
		return badArgument("%d bytes at offset %d do not fit in the window of %d", n, o.offset, w.span.Len)
	}
	if !c.windows.symmetric(o.send.Addr, n) {
		return badArgument("the send span is in no window of this rank that was registered with WindowSymmetric")
	}
	return nil
}

// recordWaits copies the waits where NCCL reads them during the call.
func recordWaits(b *cnccl.Batch, op *cnccl.Op, waits []SignalWait) {
	op.Waits = b.NewWaits(len(waits))
	for i, w := range waits {
		*b.Wait(op.Waits + int32(i)) = cnccl.Wait{
			Count: int32(w.Count), Peer: int32(w.Peer), Signal: int32(w.Index), Context: int32(w.Context),
		}
	}
}
