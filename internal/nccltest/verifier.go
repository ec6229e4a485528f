package nccltest

import (
	"context"

	"github.com/gofabric/gofabric/cuda"
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

// verifierChunk is what the host verifier copies at once, a multiple of every
// element's size.
const verifierChunk = 4 << 20

// hostVerifier works on the host, through a piece of pinned memory.
type hostVerifier struct{ buffer *cuda.HostBuffer }

func newHostVerifier(dev *cuda.Device) (verifier, error) {
	buffer, err := dev.AllocHost(verifierChunk)
	if err != nil {
		return nil, err
	}
	return &hostVerifier{buffer}, nil
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
	}
	return nil
}

func (v *hostVerifier) Fill(ctx context.Context, s *cuda.Stream, to cuda.Span, series values.Series) error {
	if series.Kind == values.Zero {
		return s.Fill8(to, 0)
	}
	return v.chunks(ctx, to, series, func(gpu, host cuda.Span, memory []byte, series values.Series) error {
		series.Fill(memory)
		if err := s.Copy(gpu, host); err != nil {
			return err
		}
		return s.Synchronize(ctx)
	})
}

func (v *hostVerifier) Mismatches(ctx context.Context, s *cuda.Stream, in cuda.Span, series values.Series) (wrong uint64, err error) {
	err = v.chunks(ctx, in, series, func(gpu, host cuda.Span, memory []byte, series values.Series) error {
		if err := s.Copy(host, gpu); err != nil {
			return err
		}
		if err := s.Synchronize(ctx); err != nil {
			return err
		}
		wrong += series.Mismatches(memory)
		return nil
	})
	return wrong, err
}

func (v *hostVerifier) Close() error { return v.buffer.Close() }
