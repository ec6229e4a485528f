//go:build linux && cgo

package nccl

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests run over fake libraries, or with GOFABRIC_GPU set over the machine's
// own libcuda, libnccl and GPUs. A child of a test names the release of NCCL that
// the fake is to be.
const (
	gpuEnv     = "GOFABRIC_GPU"
	releaseEnv = "GOFABRIC_TEST_NCCL"
	hideEnv    = "GOFABRIC_TEST_NCCL_HIDE" // functions that it is not to have
)

// fakeGPUs is how many devices the fakes have.
const fakeGPUs = 4

// patience bounds every wait of a test; what is tested ends long before.
const patience = time.Minute

func realGPU() bool { return os.Getenv(gpuEnv) != "" }

// rounds is how often a race is tried that needs a communicator each time: making
// one takes a second on a GPU, and nothing with the fakes.
func rounds(onFakes int) int {
	if realGPU() {
		return 8
	}
	return onFakes
}

func TestMain(m *testing.M) {
	if realGPU() {
		// The driver and NCCL keep files and threads of their own.
		code := m.Run()
		if err := nothingOpen(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	if _, told := os.LookupEnv(expectEnv); told {
		// This process looks for the library by itself.
		os.Exit(m.Run())
	}
	run := func() int { return testutil.Main(m, nothingOpen) }
	if os.Getenv("GF1_FAKE_GPUS") == "" {
		if err := os.Setenv("GF1_FAKE_GPUS", fmt.Sprint(fakeGPUs)); err != nil {
			panic(err)
		}
	}
	os.Exit(fakegpu.Main(fakegpu.Options{NCCL: os.Getenv(releaseEnv), HideNCCL: strings.Fields(os.Getenv(hideEnv))}, run))
}

func nothingOpen() error {
	for _, o := range life.Open() {
		return fmt.Errorf("%s, made by\n%s", o.Name, o.Stack)
	}
	return nil
}

// fakes gives a test the fakes' controls. On real GPUs it is skipped.
func fakes(t testing.TB) *fakegpu.Control {
	t.Helper()
	if realGPU() {
		testutil.Skip(t, "needs the controls of the fake libraries")
	}
	return useFakes(t)
}

var fakesOf sync.Map // names of tests that have them

// useFakes is fakegpu.Use, once for each test: it forgets what was reported.
func useFakes(t testing.TB) *fakegpu.Control {
	t.Helper()
	if _, again := fakesOf.LoadOrStore(t.Name(), true); !again {
		t.Cleanup(func() { fakesOf.Delete(t.Name()) })
		return fakegpu.Use(t)
	}
	control, err := fakegpu.Start(fakegpu.Options{})
	require.NoError(t, err)
	return control
}

// rig is a communicator over several devices of this process.
type rig struct {
	t       testing.TB
	ctx     context.Context
	devs    []*cuda.Device
	streams []*cuda.Stream
	comms   []*Comm
}

// newBench opens n devices with a stream each.
func newBench(t testing.TB, n int) *rig {
	t.Helper()
	// The process of another rank leaves the page to its parent.
	if !realGPU() && os.Getenv(idEnv) == "" {
		useFakes(t)
		t.Cleanup(forgetIDs)
	}
	count, err := cuda.DeviceCount()
	require.NoError(t, err)
	if count < n {
		testutil.Skip(t, fmt.Sprintf("needs %d GPUs, and there are %d", n, count))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx}
	for i := range n {
		dev, err := cuda.Open(i)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, dev.CloseAll()) })
		s, err := dev.CreateStream(cuda.StreamOptions{})
		require.NoError(t, err)
		r.devs = append(r.devs, dev)
		r.streams = append(r.streams, s)
	}
	return r
}

// forgetIDs closes the files of the fakes' ids that not all ranks have used. NCCL
// serves such an id for ever, and has no call to take it back.
func forgetIDs() {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, f := range files {
		target, err := os.Readlink("/proc/self/fd/" + f.Name())
		fd, bad := strconv.Atoi(f.Name())
		if err == nil && bad == nil && strings.HasPrefix(target, "/memfd:fake-nccl") {
			_ = syscall.Close(fd)
		}
	}
}

// newRig makes a communicator over n devices.
func newRig(t testing.TB, n int, cfg Config) *rig {
	t.Helper()
	r := newBench(t, n)
	r.init(cfg)
	return r
}

func (r *rig) init(cfg Config) {
	r.t.Helper()
	comms, err := InitAll(r.ctx, r.devs, cfg)
	require.NoError(r.t, err)
	r.comms = comms
	r.t.Cleanup(func() {
		// What a test has not ended itself ends here, in good order if it can.
		for _, c := range comms {
			if c.state.Load() == gone {
				continue
			}
			if c.state.Load() >= broken {
				assert.NoError(r.t, AbortAll(context.Background(), comms...))
				return
			}
		}
		assert.NoError(r.t, each(comms, func(c *Comm) error {
			if err := c.closeChildren(); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			return c.Close(ctx)
		}))
	})
}

// each runs f for every rank, all at once, since ranks wait for each other.
func each(comms []*Comm, f func(*Comm) error) error {
	errs := make(chan error, len(comms))
	for _, c := range comms {
		go func() { errs <- f(c) }()
	}
	var first error
	for range comms {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// liveComms counts NCCL's communicators; on real GPUs it answers 0. A process of a
// test that was killed leaves its own counted.
func liveComms(t testing.TB) int64 {
	if realGPU() {
		return 0
	}
	return useFakes(t).Count(fakegpu.LiveComms)
}

// alloc allocates n bytes on the device of a rank, and fills them.
func (r *rig) alloc(rank int, data []byte) *cuda.Buffer {
	r.t.Helper()
	b, err := r.devs[rank].Alloc(uint64(max(len(data), 1)))
	require.NoError(r.t, err)
	r.write(rank, b.Span(), data)
	return b
}

func (r *rig) write(rank int, span cuda.Span, data []byte) {
	r.t.Helper()
	if len(data) == 0 {
		return
	}
	h, err := r.devs[rank].AllocHost(uint64(len(data)))
	require.NoError(r.t, err)
	copy(h.Bytes(), data)
	require.NoError(r.t, r.streams[rank].Copy(cuda.Span{Addr: span.Addr, Len: uint64(len(data))}, h.Span()))
	require.NoError(r.t, r.streams[rank].Synchronize(r.ctx))
	require.NoError(r.t, h.Close())
}

func (r *rig) read(rank int, span cuda.Span) []byte {
	r.t.Helper()
	h, err := r.devs[rank].AllocHost(span.Len)
	require.NoError(r.t, err)
	require.NoError(r.t, r.streams[rank].Copy(h.Span(), span))
	require.NoError(r.t, r.streams[rank].Synchronize(r.ctx))
	data := append([]byte(nil), h.Bytes()...)
	require.NoError(r.t, h.Close())
	return data
}

// wait waits for all ranks' streams.
func (r *rig) wait() {
	r.t.Helper()
	for i, c := range r.comms {
		require.NoError(r.t, c.Wait(r.ctx, r.streams[i]))
	}
}

// connect has the ranks reduce count floats once. NCCL connects at the first
// operation of a kind, and until all have come that is not even in the stream.
func (r *rig) connect(count int) {
	r.t.Helper()
	g := NewGroup()
	for i, c := range r.comms {
		b := r.alloc(i, make([]byte, 4*count))
		require.NoError(r.t, g.AllReduce(c, b.Span(), b.Span(), count, Float32, Sum, r.streams[i]))
	}
	require.NoError(r.t, g.Run(r.ctx))
	r.wait()
	require.NoError(r.t, g.Close())
}

// elements encodes count elements of dt.
func elements(t testing.TB, dt DataType, count int, value func(i int) float64) []byte {
	t.Helper()
	data := make([]byte, 0, count*dt.Size())
	for i := range count {
		e, err := encodeScalar(dt, value(i))
		require.NoError(t, err)
		data = append(data, e...)
	}
	return data
}

// sumOnce checks that a communicator works: one all-reduce, in place.
func (r *rig) sumOnce() {
	r.t.Helper()
	const n = 100
	g := NewGroup()
	bufs := make([]*cuda.Buffer, len(r.comms))
	for i, c := range r.comms {
		bufs[i] = r.alloc(i, elements(r.t, Float32, n, func(int) float64 { return float64(i + 1) }))
		require.NoError(r.t, g.AllReduce(c, bufs[i].Span(), bufs[i].Span(), n, Float32, Sum, r.streams[i]))
	}
	require.NoError(r.t, g.Run(r.ctx))
	r.wait()
	total := len(r.comms) * (len(r.comms) + 1) / 2
	want := elements(r.t, Float32, n, func(int) float64 { return float64(total) })
	for i, b := range bufs {
		assert.Equal(r.t, want, r.read(i, b.Span()), "rank %d", i)
		require.NoError(r.t, b.Close())
	}
	require.NoError(r.t, g.Close())
}
