//go:build linux && cgo

package gpubuffer

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/verbstest"
)

func TestMain(m *testing.M) { os.Exit(fakegpu.Main(fakegpu.Options{}, m.Run)) }

func TestWriteFromGPUToGPU(t *testing.T) {
	fakegpu.Use(t)
	for _, opts := range []Options{{}, {Method: verbs.GPUDMABuf}, {Method: verbs.GPUPeerMem}, {Method: verbs.GPUStaged}, {BusID: address(t, 1)}} {
		a, b := verbstest.Pair(t, verbstest.PairOptions{})
		gpu, err := Open(opts)
		require.NoError(t, err)
		src, err := gpu.Alloc(a.PD, 9999, 0)
		require.NoError(t, err)
		dst, err := gpu.Alloc(b.PD, 9999, verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
		require.NoError(t, err)
		want := bytes.Repeat([]byte("abcdefg"), 100)
		require.NoError(t, src.Store(t.Context(), 3, want))
		a.QP.SendBatch().Write(1, dst.MR.Remote().At(5, 700), src.MR.SGE(3, 700))
		_, err = a.QP.SendBatch().Post()
		require.NoError(t, err)
		done := make([]verbs.Completion, 1)
		_, err = a.SendCQ.Wait(t.Context(), done)
		require.NoError(t, err)
		require.NoError(t, done[0].Err())
		require.NoError(t, dst.Verify(t.Context(), 5, want))
		require.ErrorContains(t, dst.Verify(t.Context(), 6, want), "byte 6 ")
		require.ErrorIs(t, dst.Verify(t.Context(), 9300, want), verbs.ErrOutOfRange)
		require.ErrorIs(t, dst.Store(t.Context(), -1, want), verbs.ErrOutOfRange)
		require.NoError(t, src.Close())
		require.NoError(t, gpu.Close(), "and what is left on it")
	}
}

func address(t *testing.T, ordinal int) string {
	info, err := cuda.Info(ordinal)
	require.NoError(t, err)
	return info.PCIAddress
}

func TestNoSuchGPU(t *testing.T) {
	fakegpu.Use(t)
	for _, opts := range []Options{{Ordinal: 99}, {Ordinal: -1}, {BusID: "ff:1f.7"}, {BusID: "nowhere"}} {
		_, err := Open(opts)
		require.ErrorIs(t, err, cuda.ErrorInvalidDevice)
	}
	gpu, err := Open(Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, gpu.Close()) }()
	a, _ := verbstest.Pair(t, verbstest.PairOptions{})
	_, err = gpu.Alloc(a.PD, 0, 0)
	require.ErrorIs(t, err, verbs.ErrOutOfRange)
	_, err = gpu.Alloc(a.PD, 1<<50, 0)
	require.ErrorIs(t, err, cuda.ErrorOutOfMemory)
}

func TestSamePCI(t *testing.T) {
	assert.True(t, samePCI("0000:1b:00.0", "00000000:1B:00.0"))
	assert.True(t, samePCI("0000:1b:00.0", "1b:00.0"))
	assert.True(t, samePCI("0000:1b:00.0", "1b:00"))
	assert.False(t, samePCI("0000:1b:00.0", "0001:1b:00.0"))
	for _, bad := range []string{"", "1b", "x:0.0", "1:2:3:4", "0000:1b:00.", "100000000:0:0.0"} {
		assert.False(t, samePCI(bad, bad), bad)
	}
}

func FuzzSamePCI(f *testing.F) {
	f.Add("0000:1b:00.0", "1B:00.0")
	f.Add("::", ".")
	f.Fuzz(func(t *testing.T, a, b string) { assert.Equal(t, samePCI(a, b), samePCI(b, a)) })
}
