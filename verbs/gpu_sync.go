package verbs

import (
	"context"
	"fmt"
)

// SyncForAdapter makes what the GPU has written to n bytes from off known to the
// adapter: call it when the work on the GPU is done, and before a request or a peer
// reads the bytes. A staged region is copied from the GPU, and ctx bounds the wait;
// for any other there is nothing to do.
//
// It fails with ErrOutOfRange if the piece does not lie within the region.
func (mr *MR) SyncForAdapter(ctx context.Context, off, n int) error {
	return mr.SyncForAdapterPieces(ctx, off, n, n, nil)
}

// SyncForAdapterPieces is SyncForAdapter that calls ready for each piece of so many
// bytes as soon as it is known to the adapter, while the next ones are copied:
// whoever posts a request there has the copies and the network work at the same
// time. The pieces come in order, and the last may be shorter. Where nothing is
// copied all bytes are one piece. An error of ready ends it and is returned; what
// is being copied then still ends. The region is in use while ready runs, which must
// neither close it nor synchronise it.
func (mr *MR) SyncForAdapterPieces(ctx context.Context, off, n, piece int, ready func(off, n int) error) error {
	const op = "hand memory of a GPU to the adapter"
	if err := mr.beginSync(op, off, n, piece); err != nil || n == 0 {
		return err
	}
	defer mr.obj.Done()
	if mr.gpu == nil || mr.gpu.stage == nil {
		if ready == nil {
			return nil
		}
		return ready(off, n)
	}
	var done func(off, n uint64) error
	if ready != nil {
		done = func(off, n uint64) error { return ready(int(off), int(n)) }
	}
	return mr.gpu.stage.ToHost(ctx, uint64(off), uint64(n), uint64(piece), done)
}

// SyncForGPU makes what an adapter has written to n bytes from off known to the
// GPU: call it when the completion has been seen, and before work that reads the
// bytes is put on a stream. A staged region is copied to the GPU, and ctx bounds
// the wait. Otherwise writes are flushed where the GPU needs that
// (CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING).
//
// It fails with ErrOutOfRange if the piece does not lie within the region, and with
// ErrNotSupported if the GPU needs a flush that a host cannot do.
//
// Implements: cuFlushGPUDirectRDMAWrites.
func (mr *MR) SyncForGPU(ctx context.Context, off, n int) error {
	const op = "hand memory to its GPU"
	if err := mr.beginSync(op, off, n, n); err != nil || n == 0 {
		return err
	}
	defer mr.obj.Done()
	switch {
	case mr.gpu == nil:
		return nil
	case mr.gpu.stage != nil:
		return mr.gpu.stage.ToGPU(ctx, uint64(off), uint64(n), 0, nil)
	case mr.gpu.own != nil && !mr.pd.dev.inProcess():
		return mr.gpu.own.Flush()
	}
	return nil
}

// beginSync checks a piece and keeps the region open, unless the piece is empty.
func (mr *MR) beginSync(op string, off, n, piece int) error {
	if off < 0 || n < 0 || off > mr.length-n || piece < 1 && n > 0 {
		return mr.err(op, fmt.Errorf("%w: %d bytes from %d of %d in pieces of %d", ErrOutOfRange, n, off, mr.length, piece))
	}
	if n == 0 {
		return nil
	}
	if err := mr.obj.Use(); err != nil {
		return mr.err(op, err)
	}
	return nil
}
