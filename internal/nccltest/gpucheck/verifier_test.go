//go:build linux && cgo

package gpucheck_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/nccltest/gpucheck"
	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// most is the room of a test; elements are fewer than it holds of the largest.
const most = 64 << 10

// each runs a test for every datatype and reduction.
func each(t *testing.T, test func(t *testing.T, dt nccl.DataType, op values.Op)) {
	for _, dt := range nccl.DataTypes() {
		for _, op := range values.Ops() {
			t.Run(fmt.Sprintf("%v/%v", dt, op), func(t *testing.T) { test(t, dt, op) })
		}
	}
}

// TestKernelsComputeWhatTheHostDoes compares memory bit by bit.
func TestKernelsComputeWhatTheHostDoes(t *testing.T) {
	g := open(t, most)
	ctx := g.context()
	each(t, func(t *testing.T, dt nccl.DataType, op values.Op) {
		const count = 701 // no multiple of a block
		for _, ranks := range []int{1, 2, 3, 7, 8, 64, 200, 513, 1000, 4096, 32768} {
			for _, kind := range []values.Kind{values.Input, values.Result} {
				s := values.Series{Type: dt, Kind: kind, Op: op, Ranks: ranks, Seed: uint64(7 * ranks), First: 1<<33 + 5}
				s.Rank = ranks / 2
				to := g.at(uint64(3*dt.Size()), uint64(count*dt.Size()))
				require.NoError(t, g.Fill(ctx, g.stream, to, s))
				want := make([]byte, to.Len)
				s.Fill(want)
				require.Equal(t, want, g.contents(to), "%+v", s)
			}
		}
	})
}

// TestFillStaysInside leaves what is around its elements alone.
func TestFillStaysInside(t *testing.T) {
	g := open(t, most)
	each(t, func(t *testing.T, dt nccl.DataType, op values.Op) {
		size := uint64(dt.Size())
		require.NoError(t, g.stream.Fill8(g.at(0, 100*size), 0xa5))
		s := values.Series{Type: dt, Kind: values.Input, Op: op, Ranks: 4, Rank: 1}
		require.NoError(t, g.Fill(g.context(), g.stream, g.at(7*size, 13*size), s))
		got := g.contents(g.at(0, 100*size))
		for i, b := range got {
			if uint64(i) < 7*size || uint64(i) >= 20*size {
				require.EqualValues(t, 0xa5, b, "byte %d", i)
			}
		}
	})
}

// TestOneAlteredElementIsOneMismatch alters on the GPU: the first, the last and
// one amid, at odd sizes and places.
func TestOneAlteredElementIsOneMismatch(t *testing.T) {
	g := open(t, most)
	ctx := g.context()
	each(t, func(t *testing.T, dt nccl.DataType, op values.Op) {
		size := uint64(dt.Size())
		for _, count := range []uint64{1, 3, 257, 1023} {
			for _, ranks := range []int{1, 2, 3, 8} {
				off := count % 5
				in := g.at(off*size, count*size)
				s := values.Series{Type: dt, Kind: values.Result, Op: op, Ranks: ranks, Seed: count, First: count}
				require.NoError(t, g.Fill(ctx, g.stream, in, s))
				wrong, err := g.Mismatches(ctx, g.stream, in, s)
				require.NoError(t, err)
				require.Zero(t, wrong, "%+v", s)
				for _, i := range []uint64{0, count / 2, count - 1} {
					// The byte with the sign and the exponent.
					top := g.at((off+i+1)*size-1, 1)
					was := g.contents(top)[0]
					require.NoError(t, g.stream.Fill8(top, was^0x40))
					wrong, err = g.Mismatches(ctx, g.stream, in, s)
					require.NoError(t, err)
					require.EqualValues(t, 1, wrong, "element %d of %+v", i, s)
					require.NoError(t, g.stream.Fill8(top, was))
				}
			}
		}
	})
}

// TestToleranceIsTheHosts alters each element by 0 to 4 units in the last place.
func TestToleranceIsTheHosts(t *testing.T) {
	g := open(t, most)
	ctx := g.context()
	each(t, func(t *testing.T, dt nccl.DataType, op values.Op) {
		const count = 250
		for _, ranks := range []int{3, 4} {
			s := values.Series{Type: dt, Kind: values.Result, Op: op, Ranks: ranks, Seed: 1}
			memory := make([]byte, count*dt.Size())
			s.Fill(memory)
			for i := range count {
				memory[i*dt.Size()] += byte(i % 5)
			}
			want := s.Mismatches(memory)
			in := g.at(0, uint64(len(memory)))
			require.NoError(t, g.stream.CopyToDevice(ctx, in, memory))
			wrong, err := g.Mismatches(ctx, g.stream, in, s)
			require.NoError(t, err)
			assert.Equal(t, want, wrong, "%+v", s)
			assert.NotZero(t, want)
		}
	})
}

// TestMoreElementsThanThreads has every thread take several.
func TestMoreElementsThanThreads(t *testing.T) {
	g := open(t, 4<<20)
	processors, err := g.dev.Attribute(cuda.AttributeMultiprocessors)
	require.NoError(t, err)
	ctx := g.context()
	s := values.Series{Type: nccl.Uint8, Kind: values.Input, Op: values.Sum, Ranks: 1, Seed: 4}
	in := g.at(1, min(uint64(processors)*256*8*5+3, 4<<20-1))
	require.NoError(t, g.Fill(ctx, g.stream, in, s))
	want := make([]byte, in.Len)
	s.Fill(want)
	require.Equal(t, want, g.contents(in))
	wrong, err := g.Mismatches(ctx, g.stream, in, s)
	require.NoError(t, err)
	assert.Zero(t, wrong)

	zero := values.Series{Type: nccl.Uint8}
	wrong, err = g.Mismatches(ctx, g.stream, in, zero)
	require.NoError(t, err)
	assert.Equal(t, zero.Mismatches(want), wrong)
	require.NoError(t, g.Fill(ctx, g.stream, in, zero))
	wrong, err = g.Mismatches(ctx, g.stream, in, zero)
	require.NoError(t, err)
	assert.Zero(t, wrong)
}

func TestNothingToDo(t *testing.T) {
	g := open(t, most)
	s := values.Series{Type: nccl.Float64, Kind: values.Result, Ranks: 2}
	require.NoError(t, g.Fill(g.context(), g.stream, cuda.Span{}, s))
	wrong, err := g.Mismatches(g.context(), g.stream, cuda.Span{}, s)
	require.NoError(t, err)
	assert.Zero(t, wrong)
}

func TestRefusals(t *testing.T) {
	g := open(t, most)
	ctx := g.context()
	s := values.Series{Type: nccl.Float32, Kind: values.Input, Ranks: 1}
	for _, span := range []cuda.Span{g.at(2, 8), g.at(0, 7)} {
		require.Error(t, g.Fill(ctx, g.stream, span, s))
		_, err := g.Mismatches(ctx, g.stream, span, s)
		require.Error(t, err)
	}
	s.Ranks = 0
	require.Error(t, g.Fill(ctx, g.stream, g.at(0, 8), s))

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	s.Ranks = 1
	_, err := g.Mismatches(cancelled, g.stream, g.at(0, 8), s)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, g.Fill(cancelled, g.stream, g.at(0, 8), s), context.Canceled)

	require.NoError(t, g.Close())
	require.ErrorIs(t, g.Fill(ctx, g.stream, g.at(0, 8), s), cuda.ErrClosed)
	require.NoError(t, g.Close(), "closing twice is harmless")
	require.NoError(t, g.dev.CloseAll())
	_, err = gpucheck.New(g.dev)
	require.ErrorIs(t, err, cuda.ErrClosed)
}
