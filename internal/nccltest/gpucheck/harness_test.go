//go:build linux && cgo

package gpucheck_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/nccltest/gpucheck"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/require"
)

// The tests run the PTX on the first GPU of the machine, or without any the C of
// the same source on the fake library.
var realGPU = os.Getenv("GOFABRIC_LIBCUDA") == "" && hasGPU()

func hasGPU() bool {
	found, _ := filepath.Glob("/dev/nvidia[0-9]*")
	return len(found) > 0
}

func TestMain(m *testing.M) {
	if realGPU {
		// The driver keeps threads and files of its own.
		os.Exit(m.Run())
	}
	os.Exit(fakegpu.Main(fakegpu.Options{}, func() int { return testutil.Main(m) }))
}

// gpu is a verifier with a stream and memory.
type gpu struct {
	*gpucheck.Verifier
	t      testing.TB
	dev    *cuda.Device
	stream *cuda.Stream
	memory *cuda.Buffer
}

func open(t testing.TB, size uint64) *gpu {
	t.Helper()
	if !realGPU {
		fakegpu.Use(t)
	}
	dev, err := cuda.Open(0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.CloseAll()) })
	g := &gpu{t: t, dev: dev}
	g.Verifier, err = gpucheck.New(dev)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	g.stream, err = dev.CreateStream(cuda.StreamOptions{})
	require.NoError(t, err)
	g.memory, err = dev.Alloc(size)
	require.NoError(t, err)
	return g
}

func (g *gpu) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	g.t.Cleanup(cancel)
	return ctx
}

func (g *gpu) at(off, n uint64) cuda.Span {
	span, err := g.memory.Span().At(off, n)
	require.NoError(g.t, err)
	return span
}

func (g *gpu) contents(from cuda.Span) []byte {
	got := make([]byte, from.Len)
	require.NoError(g.t, g.stream.CopyToHost(g.context(), got, from))
	return got
}
