//go:build linux && cgo

package gpucheck_test

import (
	"testing"

	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
	"github.com/stretchr/testify/require"
)

// BenchmarkVerifier is what a check takes on top of the collective.
func BenchmarkVerifier(b *testing.B) {
	size := uint64(1 << 30)
	if !realGPU {
		size = 1 << 16
	}
	g := open(b, size)
	for _, dt := range []nccl.DataType{nccl.Int8, nccl.BFloat16, nccl.Float32, nccl.Float64} {
		for _, op := range values.Ops() {
			s := values.Series{Type: dt, Kind: values.Result, Op: op, Ranks: 6}
			b.Run("fill/"+dt.String()+"/"+op.String(), func(b *testing.B) {
				b.SetBytes(int64(size))
				for range b.N {
					require.NoError(b, g.Fill(b.Context(), g.stream, g.memory.Span(), s))
				}
				require.NoError(b, g.stream.Synchronize(b.Context()))
			})
			b.Run("compare/"+dt.String()+"/"+op.String(), func(b *testing.B) {
				b.SetBytes(int64(size))
				for range b.N {
					wrong, err := g.Mismatches(b.Context(), g.stream, g.memory.Span(), s)
					require.NoError(b, err)
					require.Zero(b, wrong)
				}
			})
		}
	}
}
