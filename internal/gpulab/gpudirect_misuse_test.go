//go:build linux && cgo

package gpulab

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
)

// claimed is what somebody calls memory of a GPU and package cuda did not make.
type claimed struct{ addr, size uint64 }

func (c claimed) DevicePointer() uint64 { return c.addr }
func (c claimed) Size() uint64          { return c.size }
func (c claimed) DMABuf(_, _ uint64) (int, uint64, error) {
	return -1, 0, verbs.ErrNotSupported
}

// TestGPUDirectMisuse: each wrong use is an error of its own type, and nothing is
// left of the attempt.
func TestGPUDirectMisuse(t *testing.T) {
	begin(t, 1, testLimit)
	r := newBench(t, 1)
	d := r.devs[0]
	w := newWire(t, r.ctx)
	size := 2 * uint64(ownPages())
	buf, err := d.Alloc(size)
	require.NoError(t, err)
	small, err := d.Alloc(100)
	require.NoError(t, err)
	freed, err := d.Alloc(size)
	require.NoError(t, err)
	vmm, err := d.AllocVMM(100, cuda.VMMOptions{})
	require.NoError(t, err)
	gone := claimed{freed.DevicePointer(), size}
	require.NoError(t, freed.Close())
	var host [64]byte
	pinned, err := d.AllocHost(hostPage)
	require.NoError(t, err)
	before, fds := len(life.Open()), openFiles(t)
	var none *cuda.Buffer
	methods := append(direct(t, d), verbs.GPUAuto, verbs.GPUStaged)
	for _, method := range methods {
		for what, c := range map[string]struct {
			memory verbs.GPUMemory
			off, n uint64
			want   error
		}{
			"no memory":                  {nil, 0, 0, verbs.ErrClosed},
			"no buffer":                  {none, 0, 0, verbs.ErrOutOfRange},
			"freed memory":               {freed, 0, 0, verbs.ErrClosed},
			"past the end":               {buf, 1, size, verbs.ErrOutOfRange},
			"from past the end":          {buf, size + 1, 0, verbs.ErrOutOfRange},
			"nothing":                    {buf, size, 0, verbs.ErrOutOfRange},
			"more than 64 bits":          {buf, 1, 1<<64 - 1, verbs.ErrOutOfRange},
			"memory of the Go heap":      {claimed{uint64(uintptr(unsafe.Pointer(&host))), 64}, 0, 0, verbs.ErrNotGPUMemory},
			"pinned memory of the host":  {claimed{pinned.Span().Addr, hostPage}, 0, 0, verbs.ErrNotGPUMemory},
			"an address that is nowhere": {claimed{4096, 64}, 0, 0, verbs.ErrNotGPUMemory},
			"past the allocation":        {claimed{vmm.DevicePointer(), 1 << 40}, 0, 0, verbs.ErrOutOfRange},
		} {
			mr, err := w.a.pd.RegisterGPU(c.memory, verbs.GPUOptions{Method: method, Offset: c.off, Length: c.n})
			require.ErrorIs(t, err, c.want, "%s, %v", what, method)
			require.Nil(t, mr)
		}
		if method == verbs.GPUStaged {
			mr, err := w.a.pd.RegisterGPU(small, verbs.GPUOptions{Method: method})
			require.NoError(t, err, "whatever can be copied can be staged")
			require.NoError(t, mr.Close())
			continue
		}
		_, err = w.a.pd.RegisterGPU(small, verbs.GPUOptions{Method: method})
		require.ErrorIs(t, err, cuda.ErrSharedPage)
		mr, err := w.a.pd.RegisterGPU(vmm, verbs.GPUOptions{Method: method})
		require.NoError(t, err, "memory of VMM has its pages to itself")
		require.NoError(t, mr.Close())
	}
	_, err = w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Method: 99})
	require.Error(t, err)
	_, err = w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Access: verbs.AccessRemoteWrite})
	require.ErrorIs(t, err, syscall.EINVAL, "remote write without local write")
	if adapter() != inProcess {
		return // what follows is a guess at an address, which an adapter must not get
	}
	// The driver may keep memory that was freed for the next allocation.
	_, err = w.a.pd.RegisterGPU(gone, verbs.GPUOptions{Method: verbs.GPUPeerMem})
	figure("gpudirect: registering the bare address of memory that was freed: %v", err)
	if !realGPU {
		require.ErrorIs(t, err, verbs.ErrNotGPUMemory)
	}
	runtime.KeepAlive(&host)
	require.Len(t, life.Open(), before)
	require.Equal(t, fds, openFiles(t))
}

// TestGPUDirectKeysAndBounds: the device looks at keys, bounds and rights of memory
// of a GPU as of any other.
func TestGPUDirectKeysAndBounds(t *testing.T) {
	begin(t, 1, testLimit)
	r := newBench(t, 1)
	d := r.devs[0]
	size := uint64(ownPages())
	buf, err := d.Alloc(size)
	require.NoError(t, err)
	for what, c := range map[string]struct {
		access verbs.Access
		spoil  func(*verbs.MR, *verbs.RemoteBuffer)
	}{
		"a key that was never given": {everyRight, func(_ *verbs.MR, b *verbs.RemoteBuffer) { b.RKey ^= 0x5a000 }},
		"the local key":              {everyRight, func(mr *verbs.MR, b *verbs.RemoteBuffer) { b.RKey = mr.LKey() }},
		"past the end":               {everyRight, func(_ *verbs.MR, b *verbs.RemoteBuffer) { b.Addr += size - 7 }},
		"in front of it":             {everyRight, func(_ *verbs.MR, b *verbs.RemoteBuffer) { b.Addr-- }},
		"no right to write":          {verbs.AccessLocalWrite | verbs.AccessRemoteRead, func(*verbs.MR, *verbs.RemoteBuffer) {}},
	} {
		for _, method := range direct(t, d) {
			w := newWire(t, r.ctx)
			gpu, err := w.b.pd.RegisterGPU(buf, verbs.GPUOptions{Access: c.access, Method: method})
			require.NoError(t, err)
			host, err := w.a.pd.AllocMR(8, verbs.MROptions{})
			require.NoError(t, err)
			target := gpu.Remote().At(0, 8)
			c.spoil(gpu, &target)
			w.a.qp.SendBatch().Write(1, target, host.SGE(0, 8))
			require.ErrorIs(t, w.post(w.a).Err(), verbs.StatusRemoteAccess, "%s, %v", what, method)
		}
	}
	w := newWire(t, r.ctx)
	gpu, err := w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Access: everyRight, Method: direct(t, d)[0]})
	require.NoError(t, err)
	w.a.qp.SendBatch().Send(1, gpu.SGE(0, 8)).Inline()
	_, err = w.a.qp.SendBatch().Post()
	require.ErrorIs(t, err, syscall.EFAULT, "the CPU cannot take bytes of a GPU into a request")
	require.NoError(t, gpu.Close())
	require.ErrorIs(t, gpu.SyncForGPU(r.ctx, 0, 8), verbs.ErrClosed)
	_, err = w.b.qp.SendBatch().Post()
	require.NoError(t, err)
}

// TestGPUDirectHoldsItsMemory: a buffer does not close under a region.
func TestGPUDirectHoldsItsMemory(t *testing.T) {
	begin(t, 1, testLimit)
	r := newBench(t, 1)
	w := newWire(t, r.ctx)
	second, err := cuda.Open(0)
	require.NoError(t, err)
	for _, method := range append(direct(t, r.devs[0]), verbs.GPUStaged) {
		for _, a := range allocators {
			buf, err := a.alloc(second, uint64(ownPages()))
			require.NoError(t, err)
			mr, err := w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Method: method})
			require.NoError(t, err)
			err = buf.Close()
			require.ErrorIs(t, err, cuda.ErrBusy)
			assert.Contains(t, err.Error(), fmt.Sprintf("MR of %d bytes", ownPages()))
			require.ErrorIs(t, second.Close(), cuda.ErrBusy)
			require.ErrorIs(t, w.a.pd.Close(), verbs.ErrBusy)
			require.NoError(t, mr.Close())
			require.NoError(t, mr.Close(), "twice")
			require.NoError(t, buf.Close())
			_, err = w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Method: method})
			require.ErrorIs(t, err, cuda.ErrClosed)

			buf, err = a.alloc(second, uint64(ownPages()))
			require.NoError(t, err)
			_, err = w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Method: method})
			require.NoError(t, err)
			require.NoError(t, buf.CloseAll(), "it closes its regions first")
		}
	}
	buf, err := second.Alloc(uint64(ownPages()))
	require.NoError(t, err)
	_, err = w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Method: verbs.GPUStaged})
	require.NoError(t, err)
	require.NoError(t, second.CloseAll(), "it closes regions on its memory too")
}

// TestGPUDirectOfTwoContexts: whatever context a thread has, memory is exported and
// copied in the one that it belongs to, and the thread keeps its own.
func TestGPUDirectOfTwoContexts(t *testing.T) {
	begin(t, 2, testLimit)
	r := newBench(t, 2)
	w := newWire(t, r.ctx)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, current := range []int{0, 1} {
		for owner := range r.devs {
			for _, method := range append(direct(t, r.devs[owner]), verbs.GPUStaged) {
				bound := must(r.devs[current].Bind())(t)
				m := newMover(w, r.devs[owner], r.devs[1-owner], allocators[1].alloc, method, 9000)
				for op := range operations {
					require.NoError(t, m.try(op, 1, 2, 8999))
				}
				m.close()
				require.NoError(t, bound.Close())
			}
		}
	}
}

// TestGPUDirectExports: a thousand times the same, and no descriptor is left.
func TestGPUDirectExports(t *testing.T) {
	begin(t, 1, testLimit)
	const times = 1000
	r := newBench(t, 1)
	d := r.devs[0]
	if !supports(t, d, cuda.AttributeDMABuf) {
		_, _, err := must(d.Alloc(uint64(ownPages())))(t).DMABuf(0, hostPage)
		require.ErrorIs(t, err, cuda.ErrNotSupported)
		testutil.Skip(t, "the GPU's kernel driver here exports no dma-bufs")
	}
	w := newWire(t, r.ctx)
	for _, a := range allocators {
		buf := must(a.alloc(d, 4<<20))(t)
		files, inodes := openFiles(t), map[uint64]bool{}
		for i := range times {
			off, n := uint64(i%hostPage), uint64(1+i*37%(1<<20))
			if realGPU {
				off = uint64(i) * 2111 % (2 << 20)
			}
			fd, offset, err := buf.DMABuf(off, n)
			require.NoError(t, err)
			require.Equal(t, (buf.DevicePointer()+off)%hostPage, offset)
			var stat syscall.Stat_t
			require.NoError(t, syscall.Fstat(fd, &stat))
			whole, err := syscall.Seek(fd, 0, io.SeekEnd)
			require.NoError(t, err)
			require.GreaterOrEqual(t, whole, int64(offset+n))
			inodes[stat.Ino] = true
			require.NoError(t, syscall.Close(fd))
		}
		require.Equal(t, files, openFiles(t))
		for range times {
			mr, err := w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Method: verbs.GPUDMABuf})
			require.NoError(t, err)
			require.NoError(t, mr.Close())
		}
		require.Equal(t, files, openFiles(t))
		require.NoError(t, buf.Close())
		figure("gpudirect: %d exports and %d registrations of memory of %s: no descriptor left, %d inodes", times, times, a.name, len(inodes))
	}
}

// TestGPUDirectWithoutDescriptors: a process that may open no more files is told
// so, and AllowStaged does not hide it.
func TestGPUDirectWithoutDescriptors(t *testing.T) {
	begin(t, 1, testLimit)
	r := newBench(t, 1)
	d := r.devs[0]
	if !supports(t, d, cuda.AttributeDMABuf) {
		testutil.Skip(t, "the GPU's kernel driver here exports no dma-bufs")
	}
	w := newWire(t, r.ctx)
	buf, err := d.Alloc(uint64(ownPages()))
	require.NoError(t, err)
	mr, err := w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Method: verbs.GPUDMABuf})
	require.NoError(t, err)
	require.NoError(t, mr.Close())
	err = withoutDescriptors(t, func() error {
		mr, err := w.a.pd.RegisterGPU(buf, verbs.GPUOptions{AllowStaged: true})
		if err == nil {
			return mr.Close()
		}
		return err
	})
	require.ErrorIs(t, err, syscall.EMFILE)
	assert.Contains(t, err.Error(), "ulimit -n")
	figure("gpudirect: without file descriptors: %v", err)
	mr, err = w.a.pd.RegisterGPU(buf, verbs.GPUOptions{})
	require.NoError(t, err, "and it works again")
	require.NoError(t, mr.Close())
}

// TestGPUDirectStagedGivenUp: whoever gives a copy up keeps the memory until the
// GPU has let go of it, for which Close waits.
func TestGPUDirectStagedGivenUp(t *testing.T) {
	begin(t, 1, testLimit)
	r := newBench(t, 1)
	w := newWire(t, r.ctx)
	size := ownPages()
	if realGPU {
		size = 256 << 20 // which takes the GPU some milliseconds
	}
	buf, err := r.devs[0].Alloc(uint64(size))
	require.NoError(t, err)
	mr, err := w.a.pd.RegisterGPU(buf, verbs.GPUOptions{Method: verbs.GPUStaged})
	require.NoError(t, err)
	hold, release := func() {}, func() {}
	if !realGPU {
		control := fakegpu.Use(t)
		hold = func() { control.Set(fakegpu.StreamHold, 1) }
		release = func() { control.Set(fakegpu.StreamHold, 0) }
	}
	hold()
	require.ErrorIs(t, mr.SyncForAdapter(givenUp{r.ctx}, 0, size), context.Canceled)
	release()
	require.NoError(t, mr.SyncForGPU(r.ctx, 0, 100), "behind the copy that was given up")
	require.ErrorIs(t, mr.SyncForAdapter(r.ctx, 1, size), verbs.ErrOutOfRange)
	require.ErrorIs(t, mr.SyncForGPU(r.ctx, -1, 1), verbs.ErrOutOfRange)
	require.ErrorIs(t, mr.SyncForAdapterPieces(r.ctx, 0, 1, 0, nil), verbs.ErrOutOfRange)
	require.NoError(t, mr.SyncForAdapter(r.ctx, 0, 0))
	hold()
	require.ErrorIs(t, mr.SyncForAdapter(givenUp{r.ctx}, 0, size), context.Canceled)
	go release()
	require.NoError(t, mr.Close(), "it waits")
	require.ErrorIs(t, mr.SyncForAdapter(r.ctx, 0, 1), verbs.ErrClosed)
}

// givenUp is a context that has ended, and is found to have when a copy runs.
type givenUp struct{ context.Context }

func (givenUp) Done() <-chan struct{} { return nil }
func (givenUp) Err() error            { return context.Canceled }

// must fails the test on an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// withoutDescriptors runs f while the process may open no file.
func withoutDescriptors(t testing.TB, f func() error) error {
	t.Helper()
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)) }()
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: was.Max}))
	return f()
}
