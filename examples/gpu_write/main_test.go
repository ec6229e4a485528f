//go:build linux && cgo

package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/verbs"
)

func TestMain(m *testing.M) { os.Exit(fakegpu.Main(fakegpu.Options{}, m.Run)) }

func runIt(t *testing.T, args ...string) (string, error) {
	t.Helper()
	fakegpu.Use(t)
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	assert.Empty(t, life.Open(), "nothing is left open")
	return out.String(), err
}

func TestWrites(t *testing.T) {
	for _, c := range []struct{ method, says string }{
		{"auto", "registered by dma-buf"},
		{"dma-buf", "registered by dma-buf"},
		{"nvidia_peermem", "registered by nvidia_peermem"},
		{"staged", "registered by staged"},
	} {
		for _, more := range [][]string{{}, {"--to", "1"}, {"--from", "1", "--vmm", "--piece", "4096"}} {
			out, err := runIt(t, append([]string{"-s", "100001", "--piece", "30000", "--method", c.method}, more...)...)
			require.NoError(t, err)
			assert.Contains(t, out, c.says)
			assert.Contains(t, out, "every byte is right")
		}
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{
		{"x"}, {"--method", "magic"}, {"-s", "0"}, {"--piece", "0"}, {"--nonsense"}, {"-d", "loop77"}, {"-d", "auto"},
	} {
		_, err := runIt(t, args...)
		require.Error(t, err, "%q", args)
	}
	_, err := runIt(t, "--from", "9")
	require.ErrorIs(t, err, cuda.ErrorInvalidDevice)
	_, err = runIt(t, "-s", "1000000000000")
	require.ErrorIs(t, err, cuda.ErrorOutOfMemory)
	fakegpu.Use(t)
	require.NoError(t, fakegpu.Use(t).Fail("cuMemGetHandleForAddressRange", 801, 0, 1))
	var out bytes.Buffer
	err = run(t.Context(), []string{"-s", "100", "--method", "dma-buf"}, &out)
	require.ErrorIs(t, err, verbs.ErrNotSupported)
	assert.Empty(t, life.Open())
}
