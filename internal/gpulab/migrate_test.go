//go:build linux && cgo

package gpulab

import (
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// storm issues all-reduces of one shape from many goroutines that are moved
// between threads all the time, while the collector runs and a profiler sends
// signals. Every operation of a communicator is like the others, so their order
// does not matter.
type storm struct {
	*rig
	goroutines int
	enqueues   int // in all
}

func (s *storm) run() (time.Duration, error) {
	const count = 64
	send, recv := make([]cuda.Span, len(s.comms)), make([]cuda.Span, len(s.comms))
	total := 0
	for i := range s.comms {
		send[i], recv[i] = s.alloc(i, 4*count), s.alloc(i, 4*count)
		total += i + 1
		if err := s.streams[i].CopyToDevice(s.ctx, send[i], repeated(nccl.Float32, i+1, count)); err != nil {
			return 0, err
		}
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		return 0, err
	}
	defer pprof.StopCPUProfile()
	var over atomic.Bool
	var collector sync.WaitGroup
	collector.Add(1)
	go func() {
		defer collector.Done()
		for !over.Load() {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}()
	start := time.Now()
	each := s.enqueues / s.goroutines
	errs := make(chan error, s.goroutines)
	for worker := range s.goroutines {
		rank := worker % len(s.comms)
		enqueue := func() error {
			return s.comms[rank].AllReduce(s.ctx, send[rank], recv[rank], count, nccl.Float32, nccl.Sum, s.streams[rank])
		}
		go func() {
			for i := range each {
				runtime.Gosched()
				if i%64 != 0 {
					if err := enqueue(); err != nil {
						errs <- err
						return
					}
					continue
				}
				// On a thread that is new to CUDA, and ends afterwards.
				one := make(chan error)
				go func() {
					runtime.LockOSThread()
					one <- enqueue()
				}()
				if err := <-one; err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	var failed error
	for range s.goroutines {
		failed = errors.Join(failed, <-errs)
	}
	if failed == nil {
		failed = s.wait()
	}
	took := time.Since(start)
	over.Store(true)
	collector.Wait()
	if failed != nil {
		return took, failed
	}
	for i := range s.comms {
		got := make([]byte, 4*count)
		if err := s.streams[i].CopyToHost(s.ctx, got, recv[i]); err != nil {
			return took, err
		}
		if difference(got, repeated(nccl.Float32, total, count)) >= 0 {
			return took, errors.New("the last sum is wrong")
		}
	}
	return took, nil
}

func stormEnqueues() int {
	if realGPU {
		return 100_000
	}
	return 2000
}

// nccl#421, cudarc#578: calls of one group on different threads. ucx#9581,
// warp#499: no context on the thread that a goroutine moved to.
func TestHundredThousandEnqueuesFromMovingGoroutines(t *testing.T) {
	begin(t, 1, 2*time.Minute)
	require.NoError(t, launch(t, role("migrate", 110*time.Second)).wait())
}

func migrateRole(p *process) {
	for _, blocking := range []bool{false, true} {
		r := newRig(p, gpus(p), nccl.Config{Blocking: blocking})
		s := &storm{rig: r, goroutines: 8, enqueues: stormEnqueues()}
		took, err := s.run()
		require.NoError(p, err)
		figure("%d enqueues from %d goroutines on %d GPUs, blocking %v, with Gosched, collections, threads that end and a CPU profile: no error, %.1f us each",
			s.enqueues, s.goroutines, len(r.comms), blocking, took.Seconds()*1e6/float64(s.enqueues))
		for _, c := range r.comms {
			require.NoError(p, c.AsyncError())
		}
		r.sumOnce()
		require.NoError(p, closeAll(r, r.comms))
	}
}

// nccl#1757: signals, as a profiler sends, during the start.
func TestInitUnderSignals(t *testing.T) {
	begin(t, 1, testLimit)
	require.NoError(t, launch(t, role("signals", 50*time.Second)).wait())
}

func signalsRole(p *process) {
	require.NoError(p, pprof.StartCPUProfile(io.Discard))
	defer pprof.StopCPUProfile()
	var starting, over atomic.Bool
	var sent atomic.Int64
	go func() {
		for !over.Load() {
			time.Sleep(time.Millisecond)
			if !starting.Load() {
				continue
			}
			tasks, _ := os.ReadDir("/proc/self/task")
			for _, task := range tasks {
				// Threads come and go; the runtime uses this signal for itself
				// and takes it on every thread.
				if id, err := strconv.Atoi(task.Name()); err == nil && unix.Tgkill(os.Getpid(), id, unix.SIGURG) == nil {
					sent.Add(1)
				}
			}
		}
	}()
	r := newBench(p, gpus(p))
	rounds := 5
	for range rounds {
		starting.Store(true)
		r.init(nccl.Config{})
		r.sumOnce()
		starting.Store(false)
		require.NoError(p, closeAll(r, r.comms))
	}
	over.Store(true)
	figure("start of communicators on %d GPUs while every thread is sent a signal each millisecond: %d of %d, %d signals", len(r.devs), rounds, rounds, sent.Load())
}
