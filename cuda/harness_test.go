//go:build linux && cgo

package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/require"
)

// childEnv tells a process of this test binary what it is the child for.
const childEnv = "GOFABRIC_CUDA_CHILD"

// The tests run on the GPUs of the machine, or without any on the fake library.
var realGPU = os.Getenv(ccuda.PathEnv) == "" && len(nvidiaDevices()) > 0

func nvidiaDevices() []string {
	found, _ := filepath.Glob("/dev/nvidia[0-9]*")
	return found
}

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(runAsChild(role))
	}
	if realGPU {
		// The driver keeps threads and files of its own.
		os.Exit(m.Run())
	}
	os.Exit(fakegpu.Main(fakegpu.Options{}, func() int { return testutil.Main(m, nothingOpen) }))
}

func runAsChild(role string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := children[role](ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func nothingOpen() error {
	var names []string
	for _, o := range life.Open() {
		names = append(names, o.Name+" made at\n"+o.Stack)
	}
	if names != nil {
		return errors.New(strings.Join(names, "\n"))
	}
	return nil
}

// fake returns the fake library's controls, or nil on real GPUs.
func fake(t testing.TB) *fakegpu.Control {
	t.Helper()
	if realGPU {
		return nil
	}
	return fakegpu.Use(t)
}

// needFake skips on real GPUs, for what only the fake can be made to do.
func needFake(t testing.TB) *fakegpu.Control {
	t.Helper()
	if realGPU {
		testutil.Skip(t, "needs the fake library, to make calls fail")
	}
	return fakegpu.Use(t)
}

// openGPU opens a GPU and closes it and all that was made on it after the test.
func openGPU(t testing.TB, ordinal int) *cuda.Device {
	t.Helper()
	fake(t)
	n, err := cuda.DeviceCount()
	require.NoError(t, err)
	if n <= ordinal {
		testutil.Skip(t, fmt.Sprintf("needs %d GPUs, and there are %d", ordinal+1, n))
	}
	d, err := cuda.Open(ordinal)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.CloseAll()) })
	return d
}

func newStream(t testing.TB, d *cuda.Device) *cuda.Stream {
	t.Helper()
	s, err := d.CreateStream(cuda.StreamOptions{})
	require.NoError(t, err)
	return s
}

func newEvent(t testing.TB, d *cuda.Device) *cuda.Event {
	t.Helper()
	e, err := d.CreateEvent(cuda.EventOptions{})
	require.NoError(t, err)
	return e
}

func alloc(t testing.TB, d *cuda.Device, size uint64) *cuda.Buffer {
	t.Helper()
	b, err := d.Alloc(size)
	require.NoError(t, err)
	return b
}

func at(t testing.TB, s cuda.Span, off, n uint64) cuda.Span {
	t.Helper()
	part, err := s.At(off, n)
	require.NoError(t, err)
	return part
}

// contents reads memory of a GPU, behind the work on the stream.
func contents(t testing.TB, s *cuda.Stream, from cuda.Span) []byte {
	t.Helper()
	got := make([]byte, from.Len)
	require.NoError(t, s.CopyToHost(patiently(t), got, from))
	return got
}

// patiently bounds a wait that should not be long.
func patiently(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// keepBusy puts work on a stream that does not end before release is called, or,
// on a real GPU, for some while.
func keepBusy(t testing.TB, s *cuda.Stream) (release func()) {
	t.Helper()
	if control := fake(t); control != nil {
		control.Set(fakegpu.StreamHold, 1)
		b := alloc(t, s.Device(), 4)
		require.NoError(t, s.Fill8(b.Span(), 1))
		return func() { control.Set(fakegpu.StreamHold, 0) }
	}
	const size, times = 1 << 30, 1000
	b := alloc(t, s.Device(), size)
	for range times {
		require.NoError(t, s.Fill8(b.Span(), 1))
	}
	return func() {}
}

// children are what this test binary does as a child process.
var children = map[string]func(context.Context) error{}

// runChild runs this test binary as a child and returns what it printed.
func runChild(t testing.TB, role string, input []byte, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(patiently(t), exe)
	cmd.Env = append(append(os.Environ(), childEnv+"="+role), env...)
	cmd.Stdin = strings.NewReader(string(input))
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}
