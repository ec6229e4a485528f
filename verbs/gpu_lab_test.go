//go:build linux && cgo

package verbs_test

import (
	"bytes"
	"os"
	"testing"
	"unsafe"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/verbstest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// udmabuf is the argument of UDMABUF_CREATE, of <linux/udmabuf.h>.
type udmabuf struct {
	memfd, flags uint32
	offset, size uint64
}

const (
	udmabufCreate  = 1<<30 | uint(unsafe.Sizeof(udmabuf{}))<<16 | 'u'<<8 | 0x42
	udmabufCloexec = 1
)

// exportFromKernel makes the memory one whose dma-buf is the kernel's own, where it
// has an exporter for memory of the host.
func (m *fileMemory) exportFromKernel(t *testing.T) bool {
	t.Helper()
	dev, err := unix.Open("/dev/udmabuf", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	t.Cleanup(func() { require.NoError(t, unix.Close(dev)) })
	_, err = unix.FcntlInt(uintptr(m.fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
	require.NoError(t, err)
	m.export = func(off, _ uint64) (int, uint64, error) {
		arg := udmabuf{memfd: uint32(m.fd), flags: udmabufCloexec, size: uint64(len(m.data))}
		fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(dev), uintptr(udmabufCreate), uintptr(unsafe.Pointer(&arg)))
		if errno != 0 {
			return -1, 0, errno
		}
		return int(fd), off, nil
	}
	return true
}

// TestSoftRoCETakesNoDMABufInLab: no rdma_rxe has dma-buf regions. What we say of
// that is right, whether the kernel has an exporter or not.
func TestSoftRoCETakesNoDMABufInLab(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "needs rdma_rxe: it runs in the lab")
	}
	dev, err := verbs.Open(testutil.Device(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.CloseAll()) }()
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	m := newFileMemory(t, gpuTestSize)
	exporter := m.exportFromKernel(t)
	symbols, err := os.ReadFile("/proc/kallsyms")
	require.NoError(t, err)
	require.True(t, bytes.Contains(symbols, []byte(" ib_umem_dmabuf_get\t")), "the kernel's RDMA core takes dma-bufs")
	require.False(t, bytes.Contains(symbols, []byte("rxe_reg_user_mr_dmabuf")), "rdma_rxe does not")

	files := openDescriptors(t)
	_, err = pd.RegisterDMABuf(m.fd, 0, gpuTestSize, 0, 0)
	require.ErrorIs(t, err, verbs.ErrNotSupported)
	_, err = pd.RegisterGPU(m, verbs.GPUOptions{AllowStaged: true})
	var refused *verbs.GPUDirectError
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Attempts, 3)
	for i, want := range []string{
		"the driver of " + dev.Name() + " takes no dma-bufs, or rdma-core is older than 34",
		"the module nvidia_peermem is not loaded, and the kernel " + release(t) + " has no ib_register_peer_memory_client: it comes with NVIDIA's networking drivers (DOCA, MLNX_OFED)",
	} {
		require.Equal(t, []string{want}, refused.Attempts[i].Missing)
	}
	require.Equal(t, verbs.GPUStaged, refused.Attempts[2].Method)
	require.Equal(t, files, openDescriptors(t))
	t.Logf("exporter udmabuf: %v: %v", exporter, err)
}

// TestKernelDMABufInLab: a dma-buf of the kernel's own, on the device in this
// process, which maps it.
func TestKernelDMABufInLab(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "needs udmabuf, and rights on it: it runs in the lab")
	}
	m := newFileMemory(t, gpuTestSize)
	if !m.exportFromKernel(t) {
		t.Log("this kernel has no udmabuf")
		return
	}
	a, b := verbstest.Pair(t, verbstest.PairOptions{})
	files := openDescriptors(t)
	mr, err := b.PD.RegisterGPU(m, verbs.GPUOptions{Method: verbs.GPUDMABuf, Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite, Offset: 4096 + 7})
	require.NoError(t, err)
	require.Equal(t, files, openDescriptors(t), "the descriptor is closed")
	const text = "over a dma-buf of the kernel's own"
	copy(a.MR.Bytes(), text)
	a.QP.SendBatch().Write(1, mr.Remote().At(5, uint64(len(text))), a.MR.SGE(0, len(text)))
	_, err = a.QP.SendBatch().Post()
	require.NoError(t, err)
	done := make([]verbs.Completion, 1)
	_, err = a.SendCQ.Wait(t.Context(), done)
	require.NoError(t, err)
	require.NoError(t, done[0].Err())
	require.Equal(t, text, string(m.data[4096+7+5:][:len(text)]))
	require.NoError(t, mr.Close())
}

func release(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	require.NoError(t, err)
	return string(bytes.TrimSpace(text))
}
