//go:build linux && cgo

package verbs_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/verbstest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fileMemory stands for memory of a GPU: a file, which the in-process device takes
// for a dma-buf.
type fileMemory struct {
	fd     int
	data   []byte
	export func(off, n uint64) (int, uint64, error) // nil exports the file
}

func newFileMemory(t *testing.T, size int) *fileMemory {
	t.Helper()
	fd, err := unix.MemfdCreate("gpu", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	require.NoError(t, unix.Ftruncate(fd, int64(size)))
	data, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(data)) })
	return &fileMemory{fd: fd, data: data}
}

func (m *fileMemory) DevicePointer() uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(m.data))))
}

func (m *fileMemory) Size() uint64 { return uint64(len(m.data)) }

func (m *fileMemory) DMABuf(off, n uint64) (int, uint64, error) {
	if m.export != nil {
		return m.export(off, n)
	}
	fd, err := unix.FcntlInt(uintptr(m.fd), unix.F_DUPFD_CLOEXEC, 0)
	return fd, off, err
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

const gpuTestSize = 16384

func TestRegisterGPUByDMABuf(t *testing.T) {
	dev := verbstest.Open(t)
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	defer func() { require.NoError(t, pd.CloseAll()) }()
	m := newFileMemory(t, gpuTestSize)
	files := openDescriptors(t)
	mr, err := pd.RegisterGPU(m, verbs.GPUOptions{Offset: 4097, Length: 100, Access: verbs.AccessLocalWrite | verbs.AccessRelaxedOrdering})
	require.NoError(t, err)
	assert.Equal(t, files, openDescriptors(t), "the descriptor is closed, the region keeps the memory")
	how, ok := mr.GPUMethod()
	assert.True(t, ok)
	assert.Equal(t, verbs.GPUDMABuf, how)
	assert.Nil(t, mr.GPUDeclined())
	assert.Nil(t, mr.Bytes())
	assert.Equal(t, 100, mr.Len())
	assert.Equal(t, m.DevicePointer()+4097, mr.Addr())
	assert.Equal(t, verbs.AccessLocalWrite|verbs.AccessRelaxedOrdering, mr.Access())
	// There is nothing to copy, so all is one piece.
	pieces := 0
	require.NoError(t, mr.SyncForAdapterPieces(t.Context(), 3, 97, 10, func(off, n int) error {
		pieces++
		assert.Equal(t, [2]int{3, 97}, [2]int{off, n})
		return nil
	}))
	assert.Equal(t, 1, pieces)
	require.NoError(t, mr.SyncForAdapter(t.Context(), 0, 100))
	require.NoError(t, mr.SyncForGPU(t.Context(), 0, 100))
	require.ErrorIs(t, mr.SyncForGPU(t.Context(), 0, 101), verbs.ErrOutOfRange)
	require.NoError(t, mr.Close())

	host, err := pd.AllocMR(8, verbs.MROptions{})
	require.NoError(t, err)
	_, ok = host.GPUMethod()
	assert.False(t, ok)
	assert.Nil(t, host.GPUDeclined())
	require.NoError(t, host.SyncForAdapter(t.Context(), 0, 8), "memory of the host needs none of it")
	require.NoError(t, host.SyncForGPU(t.Context(), 0, 8))
}

// TestRegisterGPUTriesTheNext: what is not supported is passed over, and the region
// tells why.
func TestRegisterGPUTriesTheNext(t *testing.T) {
	dev := verbstest.Open(t)
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	defer func() { require.NoError(t, pd.CloseAll()) }()
	m := newFileMemory(t, gpuTestSize)
	cannot := fmt.Errorf("no such thing: %w", verbs.ErrNotSupported)
	m.export = func(uint64, uint64) (int, uint64, error) { return -1, 0, cannot }
	root := fstest.MapFS{"proc/kallsyms": &fstest.MapFile{Data: []byte("0 T something\n")}}
	mr, err := pd.RegisterGPU(m, verbs.GPUOptions{Root: root})
	require.NoError(t, err)
	how, _ := mr.GPUMethod()
	assert.Equal(t, verbs.GPUPeerMem, how, "the device in this process takes addresses")
	declined := mr.GPUDeclined()
	require.NotNil(t, declined)
	require.Len(t, declined.Attempts, 1)
	assert.Equal(t, verbs.GPUDMABuf, declined.Attempts[0].Method)
	require.ErrorIs(t, declined, cannot)
	assert.Len(t, declined.Attempts[0].Missing, 1)
	assert.Contains(t, declined.Error(), "ib_umem_dmabuf_get")
	require.NoError(t, mr.Close())

	_, err = pd.RegisterGPU(m, verbs.GPUOptions{Root: root, Method: verbs.GPUDMABuf})
	var refused *verbs.GPUDirectError
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, verbs.ErrNotSupported)
	assert.Equal(t, dev.Name(), refused.Device)
	_, err = pd.RegisterGPU(m, verbs.GPUOptions{Method: verbs.GPUStaged})
	require.ErrorIs(t, err, verbs.ErrNotSupported, "nobody knows how to copy it")
}

// TestRegisterGPUFails: a failure that another method would hide is the answer, and
// no descriptor is left.
func TestRegisterGPUFails(t *testing.T) {
	dev := verbstest.Open(t)
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	m := newFileMemory(t, gpuTestSize)
	files := openDescriptors(t)
	for what, c := range map[string]struct {
		export func(off, n uint64) (int, uint64, error)
		want   error
	}{
		"no descriptor": {func(uint64, uint64) (int, uint64, error) { return -1, 0, syscall.EMFILE }, syscall.EMFILE},
		"freed memory":  {func(uint64, uint64) (int, uint64, error) { return -1, 0, verbs.ErrClosed }, verbs.ErrClosed},
		"an offset that is not the address's": {func(uint64, uint64) (int, uint64, error) {
			fd, err := unix.Dup(m.fd)
			return fd, 1, err
		}, nil},
		"a descriptor that is none": {func(uint64, uint64) (int, uint64, error) { return -1, 0, nil }, nil},
	} {
		m.export = c.export
		for _, opts := range []verbs.GPUOptions{{}, {AllowStaged: true}, {Method: verbs.GPUDMABuf}} {
			_, err := pd.RegisterGPU(m, opts)
			require.Error(t, err, what)
			if c.want != nil {
				require.ErrorIs(t, err, c.want, what)
			}
			assert.False(t, errors.Is(err, verbs.ErrNotSupported), what)
		}
	}
	assert.Equal(t, files, openDescriptors(t))

	m.export = nil
	dev.FailAllocations(1)
	_, err = pd.RegisterGPU(m, verbs.GPUOptions{})
	require.ErrorIs(t, err, syscall.ENOMEM)
	assert.Equal(t, files, openDescriptors(t))
	for _, method := range []verbs.GPUMethod{-1, 4} {
		_, err = pd.RegisterGPU(m, verbs.GPUOptions{Method: method})
		require.Error(t, err)
	}
	assert.Equal(t, "auto dma-buf nvidia_peermem staged GPUMethod(9)",
		fmt.Sprint(verbs.GPUAuto, verbs.GPUDMABuf, verbs.GPUPeerMem, verbs.GPUStaged, verbs.GPUMethod(9)))
	require.NoError(t, pd.Close())
	_, err = pd.RegisterGPU(m, verbs.GPUOptions{})
	require.ErrorIs(t, err, verbs.ErrClosed)
}
