//go:build linux && cgo

package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLibrary(t *testing.T) {
	fake(t)
	info, err := cuda.Library()
	require.NoError(t, err)
	assert.Contains(t, info.Path, "libcuda")
	assert.GreaterOrEqual(t, info.Version.Major, 11)
	if !realGPU {
		assert.Equal(t, "13.0", info.Version.String())
	}
}

func TestInfo(t *testing.T) {
	fake(t)
	n, err := cuda.DeviceCount()
	require.NoError(t, err)
	require.Positive(t, n)
	seen := map[string]bool{}
	for i := range n {
		info, err := cuda.Info(i)
		require.NoError(t, err)
		assert.Equal(t, i, info.Ordinal)
		assert.NotEmpty(t, info.Name)
		assert.Regexp(t, `^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, info.UUID.String())
		assert.Regexp(t, `^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`, info.PCIAddress)
		assert.Greater(t, info.Memory, uint64(1<<30))
		assert.Positive(t, info.ComputeCapability.Major)
		seen[info.UUID.String()] = true
		requireContext(t, i, false)
	}
	assert.Len(t, seen, n)
}

func TestOpenSaysWhichGPUsThereAre(t *testing.T) {
	fake(t)
	for _, ordinal := range []int{-1, 1000} {
		_, err := cuda.Open(ordinal)
		require.ErrorIs(t, err, cuda.ErrorInvalidDevice)
		var e *cuda.OpError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, ordinal, e.Device)
		assert.Contains(t, e.Hint, "this process sees")
	}
}

// requireContext tells whether a GPU has a primary context in this process.
func requireContext(t *testing.T, ordinal int, want bool) {
	t.Helper()
	raw, r := ccuda.GetDevice(ordinal)
	require.Zero(t, r)
	active, r := raw.Active()
	require.Zero(t, r)
	require.Equal(t, want, active, "primary context of GPU %d", ordinal)
}

func TestOtherGPUsAreLeftAlone(t *testing.T) {
	d := openGPU(t, 1)
	b := alloc(t, d, 1<<20)
	s := newStream(t, d)
	require.NoError(t, s.Fill8(b.Span(), 7))
	require.NoError(t, s.Synchronize(patiently(t)))
	require.NoError(t, d.CopyToDevice(patiently(t), b.Span(), make([]byte, 1<<20)))
	requireContext(t, 1, true)
	requireContext(t, 0, false)
	if c := fake(t); c != nil {
		assert.Zero(t, c.Count(fakegpu.ContextsLive(0)))
	}
}

func TestTwoDevicesShareAContext(t *testing.T) {
	a := openGPU(t, 0)
	b, err := cuda.Open(0)
	require.NoError(t, err)
	assert.Equal(t, a.Context(), b.Context())
	require.NoError(t, b.Close())
	requireContext(t, 0, true)
	require.NoError(t, a.Close())
	requireContext(t, 0, false)
}

func TestMemInfoAndAttributes(t *testing.T) {
	d := openGPU(t, 0)
	free, total, err := d.MemInfo()
	require.NoError(t, err)
	assert.Positive(t, free)
	assert.LessOrEqual(t, free, total)

	warp, err := d.Attribute(cuda.AttributeWarpSize)
	require.NoError(t, err)
	assert.Equal(t, 32, warp)
	_, err = d.Attribute(cuda.Attribute(1 << 20))
	assert.ErrorIs(t, err, cuda.ErrorInvalidValue)
}

func TestDeviceSynchronize(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	release := keepBusy(t, s)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	err := d.Synchronize(ended)
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, err.Error(), "goes on")
	release()
	require.NoError(t, d.Synchronize(patiently(t)))
	done, err := s.Query()
	require.NoError(t, err)
	assert.True(t, done)
	require.NoError(t, d.AsyncError())
}

func TestOutOfMemorySaysHowMuchThereIs(t *testing.T) {
	d := openGPU(t, 0)
	_, err := d.Alloc(1 << 46)
	require.ErrorIs(t, err, cuda.ErrorOutOfMemory)
	var e *cuda.OpError
	require.ErrorAs(t, err, &e)
	assert.Contains(t, e.Hint, "are free")
	var c *cuda.Error
	require.ErrorAs(t, err, &c)
	assert.Equal(t, "CUDA_ERROR_OUT_OF_MEMORY", c.Name)
	assert.NotEmpty(t, c.Text)
}

func TestUnknownCodeIsStillAnError(t *testing.T) {
	c := needFake(t)
	d := openGPU(t, 0)
	require.NoError(t, c.Fail("cuMemAlloc_v2", 7777, 0, 1))
	_, err := d.Alloc(64)
	require.ErrorIs(t, err, cuda.Code(7777))
	assert.Contains(t, err.Error(), "7777")
	assert.NotErrorIs(t, err, cuda.ErrorOutOfMemory)
}

func TestNotSupported(t *testing.T) {
	c := needFake(t)
	d := openGPU(t, 0)
	require.NoError(t, c.Fail("cuMemAlloc_v2", int(cuda.ErrorNotSupported), 0, 1))
	_, err := d.Alloc(64)
	require.ErrorIs(t, err, cuda.ErrNotSupported)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func init() {
	children["count"] = func(context.Context) error {
		n, err := cuda.DeviceCount()
		fmt.Print(n)
		return err
	}
	children["nolibrary"] = func(context.Context) error {
		_, err := cuda.Open(0)
		if !errors.Is(err, cuda.ErrLibraryNotFound) {
			return fmt.Errorf("not ErrLibraryNotFound: %w", err)
		}
		_, err = fmt.Print(err)
		return err
	}
	children["oldlibrary"] = oldLibrary
}

func TestHostWithoutGPUs(t *testing.T) {
	needFake(t)
	assert.Equal(t, "0", runChild(t, "count", nil, "GF1_FAKE_GPUS=0"))
	assert.Equal(t, "1", runChild(t, "count", nil, "CUDA_VISIBLE_DEVICES=1"))
}

func TestHostWithoutDriver(t *testing.T) {
	fake(t)
	assert.Contains(t, runChild(t, "nolibrary", nil, ccuda.PathEnv+"=libnotthere.so.1"), "libnotthere.so.1")
}

// laterFunctions are those that drivers of CUDA 11.0 lack.
var laterFunctions = []string{
	"cuDeviceGetUuid_v2", "cuGraphInstantiateWithFlags", "cuMemGetHandleForAddressRange", "cuFuncGetParamInfo",
}

func TestOldDriver(t *testing.T) {
	needFake(t)
	old, err := fakegpu.Build("", fakegpu.Options{HideCUDA: laterFunctions})
	require.NoError(t, err)
	output := runChild(t, "oldlibrary", nil, ccuda.PathEnv+"="+old.CUDA)
	assert.Contains(t, output, "cuGraphInstantiateWithFlags; it comes with CUDA 11.4")
	assert.Contains(t, output, "cuMemGetHandleForAddressRange; it comes with CUDA 11.7")
}

// oldLibrary prints the errors of what an old driver lacks, and does the rest.
func oldLibrary(ctx context.Context) error {
	d, err := cuda.Open(0)
	if err != nil {
		return err
	}
	s, err := d.CreateStream(cuda.StreamOptions{})
	if err != nil {
		return err
	}
	b, err := d.Alloc(4096)
	if err != nil {
		return err
	}
	_, _, dmabuf := b.DMABuf(0, 4096)
	if err := s.BeginCapture(cuda.CaptureRelaxed); err != nil {
		return err
	}
	g, err := s.EndCapture()
	if err != nil {
		return err
	}
	_, graph := g.Instantiate()
	for _, missing := range []error{dmabuf, graph} {
		if !errors.Is(missing, cuda.ErrNotSupported) {
			return fmt.Errorf("not ErrNotSupported: %w", missing)
		}
		fmt.Println(missing)
	}
	m, err := d.LoadModule([]byte(kernels))
	if err != nil {
		return err
	}
	f, err := m.Function("gf1_fill_u32")
	if err != nil {
		return err
	}
	var args cuda.Args
	args.Pointer(b.Span()).Uint64(16).Uint32(5)
	if err := f.Launch(s, cuda.Grid{Threads: cuda.Dim{X: 16}}, &args); err != nil {
		return err
	}
	got := make([]byte, 4096)
	if err := s.CopyToHost(ctx, got, b.Span()); err != nil {
		return err
	}
	if got[0] != 5 || got[63] != 0 {
		return fmt.Errorf("the kernel did not fill: %v", got[:64])
	}
	return d.CloseAll()
}
