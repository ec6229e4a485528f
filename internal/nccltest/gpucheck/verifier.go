// Package gpucheck fills and compares the memory of a check on the GPU itself, with
// the kernels of package kernels: the same elements as package values has on the
// host, with the same tolerance.
package gpucheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/nccltest/kernels"
	"github.com/gofabric/gofabric/internal/nccltest/values"
)

// A launch has as many threads as the GPU runs at once, or fewer; each takes
// several elements.
const (
	threads            = 256
	blocksPerProcessor = 8
)

// counterSize is the size of the number of mismatches, a 64-bit integer.
const counterSize = 8

// Verifier works on the memory of one GPU. It is for one goroutine at a time.
type Verifier struct {
	module  *cuda.Module
	fill    *cuda.Function
	compare *cuda.Function
	counter *cuda.Buffer
	blocks  uint64
	args    cuda.Args
}

// New loads the kernels on a GPU. Where the driver does not take them, it fails
// with a *cuda.CompileError or a *cuda.Error, and the check is to be done on the
// host.
func New(dev *cuda.Device) (*Verifier, error) {
	v := &Verifier{}
	if err := v.load(dev); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

func (v *Verifier) load(dev *cuda.Device) (err error) {
	processors, err := dev.Attribute(cuda.AttributeMultiprocessors)
	if err != nil {
		return err
	}
	v.blocks = max(uint64(processors), 1) * blocksPerProcessor
	if v.module, err = dev.LoadModule(kernels.PTX); err != nil {
		return err
	}
	if v.fill, err = v.module.Function("gf1_series_fill"); err != nil {
		return err
	}
	if v.compare, err = v.module.Function("gf1_series_compare"); err != nil {
		return err
	}
	v.counter, err = dev.Alloc(counterSize)
	return err
}

// Fill has memory filled with a series, in the order of the stream. It does not
// wait.
func (v *Verifier) Fill(ctx context.Context, s *cuda.Stream, to cuda.Span, series values.Series) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if series.Kind == values.Zero {
		return s.Fill8(to, 0)
	}
	count, err := elements(to, &series)
	if err != nil || count == 0 {
		return err
	}
	return v.fill.Launch(s, v.grid(count), v.arguments(to, count, &series))
}

// Mismatches counts the elements that differ from a series by more than its
// tolerance. It waits for the stream.
func (v *Verifier) Mismatches(ctx context.Context, s *cuda.Stream, in cuda.Span, series values.Series) (uint64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	count, err := elements(in, &series)
	if err != nil {
		return 0, err
	}
	if count == 0 {
		return 0, s.Synchronize(ctx)
	}
	if err := s.Fill8(v.counter.Span(), 0); err != nil {
		return 0, err
	}
	args := v.arguments(in, count, &series).Uint64(series.Tolerance()).Pointer(v.counter.Span())
	if err := v.compare.Launch(s, v.grid(count), args); err != nil {
		return 0, err
	}
	var wrong [counterSize]byte
	if err := s.CopyToHost(ctx, wrong[:], v.counter.Span()); err != nil {
		return 0, err
	}
	return binary.NativeEndian.Uint64(wrong[:]), nil
}

// Close unloads the kernels. What was launched must be done.
func (v *Verifier) Close() error {
	if v == nil {
		return nil
	}
	return errors.Join(v.counter.Close(), v.module.Close())
}

// elements is how many elements memory has; a kernel reads and writes whole and
// aligned ones only.
func elements(in cuda.Span, series *values.Series) (uint64, error) {
	size := uint64(series.Type.Size())
	if in.Addr%size != 0 || in.Len%size != 0 {
		return 0, fmt.Errorf("%d bytes at %#x are no whole elements of %v: align both to %d bytes", in.Len, in.Addr, series.Type, size)
	}
	if in.Len > 0 && (series.Ranks < 1 || series.Rank < 0) && series.Kind != values.Zero {
		return 0, fmt.Errorf("no series has rank %d of %d: there is at least one", series.Rank, series.Ranks)
	}
	return in.Len / size, nil
}

func (v *Verifier) grid(count uint64) cuda.Grid {
	blocks := min((count+threads-1)/threads, v.blocks)
	return cuda.Grid{Blocks: cuda.Dim{X: uint32(blocks)}, Threads: cuda.Dim{X: threads}}
}

// arguments are those that both kernels begin with.
func (v *Verifier) arguments(memory cuda.Span, count uint64, series *values.Series) *cuda.Args {
	return v.args.Reset().Pointer(memory).Uint64(count).
		Uint32(uint32(series.Type)).Uint32(uint32(series.Kind)).Uint32(uint32(series.Op)).
		Uint32(uint32(series.Ranks)).Uint32(uint32(series.Rank)).
		Uint64(series.Seed).Uint64(series.First)
}
