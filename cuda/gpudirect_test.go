//go:build linux && cgo

package cuda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/gpumem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wholePages is a size that cuMemAlloc puts on pages of its own.
const wholePages = 2 << 20

func TestMemoryForAdapters(t *testing.T) {
	d := openGPU(t, 0)
	b := alloc(t, d, wholePages)
	m := gpumem.Of(b)
	require.NotNil(t, m)
	assert.Nil(t, gpumem.Of((*cuda.Buffer)(nil)))
	assert.Nil(t, gpumem.Of(&cuda.Buffer{}))
	assert.Nil(t, gpumem.Of(d))

	gpu := m.GPU()
	assert.Contains(t, gpu.Name, "GPU 0 (")
	assert.Equal(t, d.Info().PCIAddress, gpu.PCIAddress)
	v, err := d.Attribute(cuda.AttributeDMABuf)
	require.NoError(t, err)
	assert.Equal(t, v != 0, gpu.DMABuf)

	require.NoError(t, m.Prepare(1, 100))
	require.NoError(t, m.Prepare(0, wholePages), "again")
	require.ErrorIs(t, m.Prepare(1, wholePages), cuda.ErrOutOfRange)
	require.Error(t, m.Prepare(0, 0))
	require.ErrorIs(t, gpumem.Of(alloc(t, d, 100)).Prepare(0, 100), cuda.ErrSharedPage)
	require.NoError(t, m.Flush())

	assert.Equal(t, gpumem.Inside, gpumem.Find(b.DevicePointer()+7, wholePages-7))
	assert.Equal(t, gpumem.Beyond, gpumem.Find(b.DevicePointer(), 1<<45))
	assert.Equal(t, gpumem.Elsewhere, gpumem.Find(0x1000, 1))
	require.NoError(t, b.Close())
	require.ErrorIs(t, m.Prepare(0, 1), cuda.ErrClosed)
	require.ErrorIs(t, m.Flush(), cuda.ErrClosed)
	_, err = m.Stage(0, 1)
	require.ErrorIs(t, err, cuda.ErrClosed)
}

func TestSyncMemopsRefused(t *testing.T) {
	control := needFake(t)
	d := openGPU(t, 0)
	b := alloc(t, d, wholePages)
	require.NoError(t, control.Fail("cuPointerSetAttribute", 801, 0, 2))
	require.ErrorIs(t, gpumem.Of(b).Prepare(0, 1), cuda.ErrorNotSupported)
	_, _, err := b.DMABuf(0, 1)
	require.ErrorIs(t, err, cuda.ErrorNotSupported)
}

func TestStage(t *testing.T) {
	d := openGPU(t, 0)
	const n = 100_003
	b := alloc(t, d, wholePages)
	m := gpumem.Of(b)
	_, err := m.Stage(1, wholePages)
	require.ErrorIs(t, err, cuda.ErrOutOfRange)
	_, err = m.Stage(0, 0)
	require.Error(t, err)
	s, err := m.Stage(5, n)
	require.NoError(t, err)
	assert.Equal(t, make([]byte, n), s.Bytes())
	want := randomBytes(n)
	copy(s.Bytes(), want)
	ctx := patiently(t)
	require.NoError(t, s.ToGPU(ctx, 0, n, 0, nil))
	assert.True(t, bytes.Equal(want, contents(t, newStream(t, d), at(t, b.Span(), 5, n))))

	clear(s.Bytes())
	next := uint64(0)
	require.NoError(t, s.ToHost(ctx, 3, n-3, 1000, func(off, n uint64) error {
		assert.Equal(t, 3+next, off)
		assert.True(t, bytes.Equal(want[off:off+n], s.Bytes()[off:off+n]), "what is ready is there")
		next += n
		return nil
	}))
	assert.EqualValues(t, n-3, next)
	for _, bad := range [][2]uint64{{0, n + 1}, {n, 1}, {1, 1<<64 - 1}} {
		require.ErrorIs(t, s.ToHost(ctx, bad[0], bad[1], 1, nil), cuda.ErrOutOfRange)
	}
	var none context.Context
	require.Error(t, s.ToHost(none, 0, 1, 1, nil))
	stop := errors.New("enough")
	require.ErrorIs(t, s.ToHost(ctx, 0, n, 1000, func(uint64, uint64) error { return stop }), stop)
	require.NoError(t, s.ToHost(ctx, 0, 0, 0, nil))
	require.NoError(t, s.ToGPU(ctx, 0, n, n, nil), "behind what was begun and given up")
	require.NoError(t, s.Busy())
	require.NoError(t, s.Close())
}

// givenUp is a context that has ended, and is found to have when a copy runs.
type givenUp struct{ context.Context }

func (givenUp) Done() <-chan struct{} { return nil }
func (givenUp) Err() error            { return context.Canceled }

// TestStageOfACopyThatDoesNotEnd: the memory stays while the GPU may use it.
func TestStageOfACopyThatDoesNotEnd(t *testing.T) {
	control := needFake(t)
	d := openGPU(t, 0)
	s, err := gpumem.Of(alloc(t, d, wholePages)).Stage(0, 100)
	require.NoError(t, err)
	control.Set(fakegpu.StreamHold, 1)
	require.ErrorIs(t, s.ToHost(givenUp{patiently(t)}, 0, 100, 100, nil), context.Canceled)
	restore := cuda.SetClosePatience(0)
	require.ErrorIs(t, s.Close(), cuda.ErrBusy)
	restore()
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	control.Set(fakegpu.StreamHold, 0)
	require.NoError(t, <-closed, "it waits for the copy")
}

// TestStageLeavesNothing has each call fail in turn that a stage needs.
func TestStageLeavesNothing(t *testing.T) {
	control := needFake(t)
	d := openGPU(t, 0)
	m := gpumem.Of(alloc(t, d, wholePages))
	alive := func() (sum int64) {
		for _, c := range []fakegpu.Counter{fakegpu.LiveStreams, fakegpu.LiveEvents, fakegpu.LiveHostMemory} {
			sum += control.Count(c)
		}
		return sum
	}
	before := alive()
	for _, name := range []string{"cuMemHostAlloc", "cuStreamCreateWithPriority", "cuEventCreate"} {
		for skip := range 2 {
			if skip == 1 && name != "cuEventCreate" {
				continue
			}
			require.NoError(t, control.Fail(name, 2, skip, 1))
			_, err := m.Stage(0, 100)
			require.ErrorIs(t, err, cuda.ErrorOutOfMemory, name)
			assert.Equal(t, before, alive(), name)
		}
	}
	s, err := m.Stage(0, 100)
	require.NoError(t, err)
	require.NoError(t, control.Fail("cuMemcpyAsync", 1, 0, 1))
	require.ErrorIs(t, s.ToGPU(patiently(t), 0, 100, 10, nil), cuda.ErrorInvalidValue)
	require.NoError(t, s.Close())
	assert.Equal(t, before, alive())
}

func init() { children["flush"] = flushChild }

// flushChild flushes with what its environment says that the GPU can.
func flushChild(context.Context) error {
	if _, err := fakegpu.Start(fakegpu.Options{}); err != nil {
		return err
	}
	d, err := cuda.Open(0)
	if err != nil {
		return err
	}
	b, err := d.Alloc(wholePages)
	if err != nil {
		return err
	}
	err = gpumem.Of(b).Flush()
	fmt.Fprintf(os.Stdout, "%t %t", err == nil, errors.Is(err, cuda.ErrNotSupported))
	return d.CloseAll()
}

// TestFlushByWhatTheGPUOrders: a GPU that sees writes in order needs none, and one
// that does not and cannot be flushed says so.
func TestFlushByWhatTheGPUOrders(t *testing.T) {
	needFake(t)
	for attributes, want := range map[string]string{
		"118=100,117=0": "true false",
		"118=200,117=0": "true false",
		"118=0,117=1":   "true false",
		"118=0,117=3":   "true false",
		"118=0,117=2":   "false true",
		"118=0,117=0":   "false true",
	} {
		assert.Equal(t, want, runChild(t, "flush", nil, "GF1_FAKE_ATTRIBUTES="+attributes), attributes)
	}
}
