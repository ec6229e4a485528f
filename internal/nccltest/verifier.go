package nccltest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/nccltest/gpucheck"
	"github.com/gofabric/gofabric/internal/nccltest/values"
)

// verifier fills memory of one GPU with a series and compares it with one, with
// the series' tolerance. The memory is a whole number of elements. It is for one
// goroutine at a time.
type verifier interface {
	// Fill has memory filled, in the order of the stream.
	Fill(ctx context.Context, s *cuda.Stream, to cuda.Span, series values.Series) error
	// Mismatches counts the elements that differ from the series, once the
	// stream has done what it has to do.
	Mismatches(ctx context.Context, s *cuda.Stream, in cuda.Span, series values.Series) (uint64, error)
	Close() error
}

// newVerifier takes the GPU's own check or, where its kernels do not load, the
// host's, and says why.
func newVerifier(dev *cuda.Device, beat func()) (v verifier, hostCheck, err error) {
	gpu, hostCheck := gpucheck.New(dev)
	if hostCheck == nil {
		return gpu, nil, nil
	}
	v, err = newHostVerifier(dev, beat)
	return v, hostCheck, err
}

// verifierChunk is what the host verifier copies at once, a multiple of every
// element's size.
const verifierChunk = 4 << 20

// hostVerifier works on the host, on all its processors, through a piece of
// pinned memory.
type hostVerifier struct {
	buffer *cuda.HostBuffer
	// beat is called after each piece, since large memory takes long.
	beat func()
}

func newHostVerifier(dev *cuda.Device, beat func()) (verifier, error) {
	buffer, err := dev.AllocHost(verifierChunk)
	if err != nil {
		return nil, err
	}
	return &hostVerifier{buffer, beat}, nil
}

// parallelBytes is how much memory is worth a goroutine.
const parallelBytes = 64 << 10

// parallel divides memory among the processors.
func parallel(memory []byte, series values.Series, f func(memory []byte, series values.Series)) {
	element := series.Type.Size()
	parts := min(runtime.GOMAXPROCS(0), len(memory)/parallelBytes+1)
	each := len(memory) / element / parts * element
	var all sync.WaitGroup
	for i := range parts {
		at, part := i*each, series
		part.First += uint64(at / element)
		piece := memory[at : at+each]
		if i == parts-1 {
			piece = memory[at:]
		}
		all.Add(1)
		go func() {
			defer all.Done()
			f(piece, part)
		}()
	}
	all.Wait()
}

// chunks goes through a span piece by piece, each with the host's memory for it.
func (v *hostVerifier) chunks(ctx context.Context, span cuda.Span, series values.Series,
	each func(gpu, host cuda.Span, memory []byte, series values.Series) error) error {
	element := uint64(series.Type.Size())
	for at := uint64(0); at < span.Len; at += verifierChunk {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n := min(verifierChunk, span.Len-at)
		gpu := cuda.Span{Addr: span.Addr + at, Len: n}
		host := cuda.Span{Addr: v.buffer.Span().Addr, Len: n}
		part := series
		part.First += at / element
		if err := each(gpu, host, v.buffer.Bytes()[:n], part); err != nil {
			return err
		}
		v.beat()
	}
	return nil
}

func (v *hostVerifier) Fill(ctx context.Context, s *cuda.Stream, to cuda.Span, series values.Series) error {
	if series.Kind == values.Zero {
		return s.Fill8(to, 0)
	}
	return v.chunks(ctx, to, series, func(gpu, host cuda.Span, memory []byte, series values.Series) error {
		parallel(memory, series, func(memory []byte, series values.Series) { series.Fill(memory) })
		if err := s.Copy(gpu, host); err != nil {
			return err
		}
		return s.Synchronize(ctx)
	})
}

func (v *hostVerifier) Mismatches(ctx context.Context, s *cuda.Stream, in cuda.Span, series values.Series) (uint64, error) {
	var wrong atomic.Uint64
	err := v.chunks(ctx, in, series, func(gpu, host cuda.Span, memory []byte, series values.Series) error {
		if err := s.Copy(host, gpu); err != nil {
			return err
		}
		if err := s.Synchronize(ctx); err != nil {
			return err
		}
		parallel(memory, series, func(memory []byte, series values.Series) { wrong.Add(series.Mismatches(memory)) })
		return nil
	})
	return wrong.Load(), err
}

func (v *hostVerifier) Close() error { return v.buffer.Close() }
