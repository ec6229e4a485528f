//go:build linux && cgo

package gpulab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/nccl"
	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmllib"
)

const onlyEnv = "GOFABRIC_GPULAB_ONLY" // the one GPU to use

// pytorch#135279: every process takes memory on GPU 0. torchcomms#777: so does a
// thread that only watches. A process that asks for the last GPU is seen on that
// one by the driver, and on no other.
func TestNoMemoryOnGPUsThatWereNotAskedFor(t *testing.T) {
	n := begin(t, 2, 90*time.Second)
	only := n - 1
	if !realGPU {
		gpu := fakegpu.Use(t)
		before := gpu.Count(fakegpu.ContextsCreated(0))
		require.NoError(t, launch(t, role("one-gpu", time.Minute, onlyEnv+"="+strconv.Itoa(only))).wait())
		require.Equal(t, before, gpu.Count(fakegpu.ContextsCreated(0)))
		return
	}
	lib, err := nvmllib.Open(nvmllib.Options{})
	require.NoError(t, err)
	defer lib.Close()
	c := role("one-gpu", time.Minute, onlyEnv+"="+strconv.Itoa(only))
	c.talk = true
	idle := usedMemory(t, lib)
	p := launch(t, c)
	// It says when it has done everything that could take memory, and waits.
	for line := range p.lines {
		if line == "look" {
			break
		}
	}
	busy := usedMemory(t, lib)
	for ordinal := range n {
		grown := int64(busy[ordinal] - idle[ordinal])
		seen := seenOn(t, lib, ordinal, p.cmd.Process.Pid)
		figure("process that asked for GPU %d only: GPU %d has %d MiB more in use, and the process is listed there: %v", only, ordinal, grown>>20, seen)
		if ordinal == only {
			assert.True(t, seen || grown > 64<<20, "it uses this GPU: otherwise nothing is shown here")
			continue
		}
		assert.False(t, seen, "the process has memory of GPU %d", ordinal)
		// Others may be starting or ending on the machine, but not so small.
		assert.Less(t, grown, int64(16<<20), "GPU %d has more memory in use", ordinal)
	}
	require.NoError(t, p.in.Close())
	require.NoError(t, p.wait())
}

func find(t testing.TB, lib nvml.Source, ordinal int) nvml.GPU {
	t.Helper()
	info, err := cuda.Info(ordinal)
	require.NoError(t, err)
	all, err := lib.GPUs()
	require.NoError(t, err)
	gpu, ok := nvml.ByPCIAddress(all, info.PCIAddress)
	require.True(t, ok, "NVML knows no GPU at %s", info.PCIAddress)
	return gpu
}

// usedMemory is what is in use on each GPU, in bytes, by CUDA's ordinal.
func usedMemory(t testing.TB, lib nvml.Source) []uint64 {
	t.Helper()
	var list []uint64
	for ordinal := range gpus(t) {
		status, err := lib.Status(find(t, lib, ordinal).UUID)
		require.NotNil(t, status.MemoryUsed, "%v", err)
		list = append(list, *status.MemoryUsed)
	}
	return list
}

func seenOn(t testing.TB, lib nvml.Source, ordinal, pid int) bool {
	t.Helper()
	processes, err := lib.Processes(find(t, lib, ordinal).UUID)
	require.NoError(t, err)
	for _, p := range processes {
		if p.PID == pid {
			return true
		}
	}
	return false
}

// oneGPURole does everything on one GPU, from threads that have never seen it.
func oneGPURole(p *process) {
	only, err := strconv.Atoi(os.Getenv(onlyEnv))
	require.NoError(p, err)
	r := newBench(p, 0)
	r.open(only)
	r.init(nccl.Config{})
	s := &storm{rig: r, goroutines: 8, enqueues: stormEnqueues()}
	_, err = s.run()
	require.NoError(p, err)
	c := r.comms[0]
	done := make(chan error)
	for range 8 {
		go func() {
			runtime.LockOSThread()
			m, err := nccl.MemAlloc(r.devs[0], 1<<20)
			if err == nil {
				err = m.Close()
			}
			_, infoErr := r.devs[0].Attribute(cuda.AttributeMultiprocessors)
			done <- errors.Join(err, infoErr, c.Wait(r.ctx, r.streams[0]), c.AsyncError())
		}()
	}
	for range 8 {
		require.NoError(p, <-done)
	}
	child, err := c.Split(r.ctx, 0, 0, nccl.Config{})
	require.NoError(p, err)
	require.NoError(p, child.Close(r.ctx))
	if realGPU {
		fmt.Println("look")
		// The parent closes it when it has looked.
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
}
