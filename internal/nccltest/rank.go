package nccltest

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
)

// rank is one GPU of this process, and all that was made on it.
type rank struct {
	index    int // in the communicator
	dev      *cuda.Device
	stream   *cuda.Stream
	comm     *nccl.Comm
	send     memory
	recv     memory
	verifier verifier
	// hostCheck is why the check is the host's, if it is.
	hostCheck error
	// registered are the registrations of the buffers, of kind register.
	registered []closer
	register   int
	mulsum     map[nccl.DataType]*nccl.CustomOp
	events     []*cuda.Event
	// free is the GPU's free memory at the stages of -M.
	free [4]uint64
}

type closer interface{ Close() error }

// memory is a buffer of NCCL's allocator or, before 2.19, CUDA's.
type memory interface {
	closer
	Span() cuda.Span
}

// memAllocSince is the release that brings ncclMemAlloc.
const memAllocSince nccl.Version = 21901

func allocate(dev *cuda.Device, release nccl.Version, size uint64) (memory, error) {
	if release < memAllocSince {
		return dev.Alloc(size)
	}
	return nccl.MemAlloc(dev, size)
}

// open opens a GPU and makes its stream.
func openRank(index, ordinal int, nullStream bool) (*rank, error) {
	dev, err := cuda.Open(ordinal)
	if err != nil {
		return nil, err
	}
	r := &rank{index: index, dev: dev, stream: dev.NullStream(), mulsum: map[nccl.DataType]*nccl.CustomOp{}}
	if !nullStream {
		if r.stream, err = dev.CreateStream(cuda.StreamOptions{}); err != nil {
			return nil, errors.Join(err, dev.CloseAll())
		}
	}
	return r, nil
}

// mark notes the free memory at a stage.
func (r *rank) mark(stage int) error {
	free, _, err := r.dev.MemInfo()
	r.free[stage] = free
	return err
}

// unalignPad is room for -u with the largest type, per element.
const unalignPad = 8

func (r *rank) allocate(cfg *Config, release nccl.Version, beat func()) (err error) {
	size := cfg.MaxBytes + unalignPad*uint64(cfg.Unalign)
	if r.send, err = allocate(r.dev, release, size); err != nil {
		return err
	}
	if r.recv, err = allocate(r.dev, release, size); err != nil {
		return err
	}
	if cfg.Checks > 0 {
		r.verifier, r.hostCheck, err = newVerifier(r.dev, beat)
	}
	return err
}

// registerBuffers registers the buffers, of which windows need all ranks, or
// takes the registration back.
func (r *rank) registerBuffers(ctx context.Context, kind int, size uint64) error {
	if kind == r.register {
		return nil
	}
	if err := r.unregister(); err != nil {
		return err
	}
	r.register = kind
	if kind == registerNone {
		return nil
	}
	for _, m := range []memory{r.send, r.recv} {
		span := cuda.Span{Addr: m.Span().Addr, Len: size}
		var (
			c   closer
			err error
		)
		if kind == registerSymmetric {
			c, err = r.comm.RegisterWindow(ctx, span, nccl.WindowSymmetric)
		} else {
			c, err = r.comm.Register(ctx, span)
		}
		if err != nil {
			return err
		}
		r.registered = append(r.registered, c)
	}
	return nil
}

func (r *rank) unregister() error {
	for len(r.registered) > 0 {
		if err := r.registered[0].Close(); err != nil {
			return err
		}
		r.registered = r.registered[1:]
	}
	r.register = registerNone
	return nil
}

// redop is NCCL's reduction; those of mulsum are made once for each type.
func (r *rank) redop(ctx context.Context, dt nccl.DataType, op values.Op) (nccl.RedOp, error) {
	if redop, ok := op.RedOp(); ok {
		return redop, nil
	}
	if custom, ok := r.mulsum[dt]; ok {
		return custom.RedOp(), nil
	}
	custom, err := r.comm.CreatePreMulSum(ctx, dt, values.Factor(r.index))
	if err != nil {
		return 0, err
	}
	r.mulsum[dt] = custom
	return custom.RedOp(), nil
}

// needEvents makes events until there are n.
func (r *rank) needEvents(n int) error {
	for len(r.events) < n {
		e, err := r.dev.CreateEvent(cuda.EventOptions{})
		if err != nil {
			return err
		}
		r.events = append(r.events, e)
	}
	return nil
}

// finish gives back what needs the other ranks: registrations, reductions and
// the communicator.
func (r *rank) finish(ctx context.Context) error {
	if r.comm == nil {
		return nil
	}
	if err := r.unregister(); err != nil {
		return err
	}
	for _, custom := range r.mulsum {
		if err := custom.Close(); err != nil {
			return err
		}
	}
	return r.comm.Close(ctx)
}

// String names the rank in errors.
func (r *rank) String() string { return fmt.Sprintf("rank %d (GPU %d)", r.index, r.dev.Ordinal()) }
