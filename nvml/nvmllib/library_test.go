//go:build linux && cgo

package nvmllib

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nvml"
)

const (
	first  = "GPU-00000000-0000-0000-0000-000000000000"
	second = "GPU-00000001-0000-0000-0000-000000000000"
)

// The tests talk to a libnvidia-ml of their own, compiled once, and with the
// functions of an old driver for the child processes that want it.
var fake, oldFake string

const needsTools = "needs a C compiler, and the tree with Go for go-nvml's header: run it there, install gcc"

// childTest names the test that a child process of this binary runs.
const childTest = "GOFABRIC_NVML_CHILD"

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if os.Getenv(childTest) == "" {
			dir, err := os.MkdirTemp("", "nvml")
			if err != nil {
				panic(err)
			}
			defer os.RemoveAll(dir)
			// A machine without Go, or a copy of this binary outside the tree,
			// has not the header.
			header, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
			if _, noCompiler := exec.LookPath("cc"); err == nil && noCompiler == nil {
				include := filepath.Join(strings.TrimSpace(string(header)), "pkg", "nvml")
				fake, oldFake = compile(dir, "new", include), compile(dir, "old", include, "-DOLD_DRIVER")
			}
		}
		return m.Run()
	}())
}

func compile(dir, name, include string, flags ...string) string {
	library := filepath.Join(dir, name, "libnvidia-ml.so.1")
	if err := os.Mkdir(filepath.Dir(library), 0o755); err != nil {
		panic(err)
	}
	args := append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-shared", "-fPIC", "-o", library,
		"-isystem", include, filepath.Join("testdata", "libnvidia-ml.c")}, flags...)
	if output, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("cc: %v\n%s", err, output))
	}
	return library
}

func open(t *testing.T) *Library {
	t.Helper()
	if fake == "" {
		testutil.Skip(t, needsTools)
	}
	l, err := Open(Options{Path: fake})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.CloseAll()) })
	return l
}

func TestSystem(t *testing.T) {
	l := open(t)
	s, err := l.System()
	require.NoError(t, err)
	assert.Equal(t, "580.159.04", s.Driver)
	assert.Equal(t, "13.580.159.04", s.NVML)
	require.NotNil(t, s.CUDA)
	assert.Equal(t, 13000, *s.CUDA)
	want, err := filepath.EvalSymlinks(fake)
	require.NoError(t, err)
	assert.Equal(t, want, s.Library)
}

func TestGPUs(t *testing.T) {
	l := open(t)
	gpus, err := l.GPUs()
	require.NoError(t, err)
	require.Len(t, gpus, 2)

	g := gpus[0]
	assert.Equal(t, first, g.UUID)
	assert.Equal(t, "NVIDIA H200", g.Name)
	assert.Equal(t, "1650000000000", g.Serial)
	assert.Equal(t, "0000:1b:00.0", g.PCIAddress)
	assert.EqualValues(t, 0x10de, *g.PCIVendor)
	assert.EqualValues(t, 0x2335, *g.PCIDevice)
	assert.Equal(t, 0, *g.Minor)
	assert.Equal(t, [2]int{9, 0}, *g.ComputeCapability)
	node, ok := g.NUMANode()
	assert.True(t, ok)
	assert.Equal(t, 0, node)
	assert.Equal(t, nvml.CPUSet{0, 1, 2, 3, 128}, g.CPUs, "the bits count, not the mask's length")
	assert.Nil(t, g.MemoryNode)
	assert.Nil(t, g.C2CLinks)
	assert.EqualValues(t, 150754820096, *g.Memory)
	rate, ok := g.PCIeMax.Rate()
	assert.True(t, ok)
	assert.InDelta(t, 63, rate, 0.01)
	assert.Equal(t, &nvml.Fabric{Cluster: "ab000000-0000-0000-0000-000000000000", Clique: 7, State: "completed"}, g.Fabric)
	assert.Equal(t, &nvml.MIG{}, g.MIG)

	g = gpus[1]
	assert.Equal(t, "10000:1b:00.0", g.PCIAddress, "a domain of five digits")
	assert.Empty(t, g.Serial)
	_, ok = g.NUMANode()
	assert.False(t, ok, "an empty set is no node, and not node 0")
	assert.Nil(t, g.Fabric)
	require.NotNil(t, g.MIG)
	assert.True(t, g.MIG.Enabled)
	require.Len(t, g.MIG.Devices, 2)
	part := g.MIG.Devices[1]
	assert.Equal(t, 2, part.Index, "the places have gaps")
	assert.Equal(t, "MIG-00000002-0000-0000-0000-000000000000", part.UUID)
	assert.Equal(t, 11, *part.GPUInstance)
	assert.EqualValues(t, 19327352832, *part.Memory)
	parent, device, ok := nvml.Find(gpus, part.UUID)
	require.True(t, ok)
	assert.Equal(t, second, parent.UUID)
	assert.Equal(t, part, *device)
}

func TestLostGPUDoesNotHideTheOther(t *testing.T) {
	l := open(t)
	t.Setenv("FAKE_NVML_LOST", "1")
	gpus, err := l.GPUs()
	require.ErrorIs(t, err, nvml.CodeGPUIsLost)
	require.Len(t, gpus, 1)
	assert.Equal(t, first, gpus[0].UUID)
	_, err = l.Status(second)
	require.ErrorIs(t, err, nvml.ErrNoGPU)
	require.ErrorIs(t, err, nvml.CodeGPUIsLost, "why it is not there")
}

func TestLinks(t *testing.T) {
	l := open(t)
	links, err := l.Links(first)
	require.NoError(t, err)
	require.Len(t, links, 18)
	assert.Equal(t, nvml.PeerSwitch, links[1].PeerType)
	assert.Equal(t, "0000:05:00.0", links[1].Peer)
	assert.Equal(t, nvml.NVLink4, *links[1].Version)
	assert.InDelta(t, 26.562, *links[1].Raw, 1e-9, "by way of the speed common to all")
	rate, ok := links[2].Rate()
	assert.True(t, ok)
	assert.InDelta(t, 25, rate, 1e-9)
	assert.Empty(t, links[0].Peer, "a peer at 0000:00:00.0 is one that is not seen")
	assert.Equal(t, nvml.PeerUnknown, links[0].PeerType)
	assert.False(t, links[17].Up())
	sum := nvml.SumLinks(links)
	assert.Equal(t, 17, sum.Active)
	require.NotNil(t, sum.Rate)
	assert.InDelta(t, 425, *sum.Rate, 1e-6)

	links, err = l.Links(second)
	require.NoError(t, err)
	assert.Empty(t, links)
}

func TestPair(t *testing.T) {
	l := open(t)
	p, err := l.Pair(first, second)
	require.NoError(t, err)
	assert.Equal(t, nvml.AncestorSystem, *p.Ancestor)
	assert.Equal(t, nvml.P2POK, *p.Read)
	assert.Equal(t, nvml.P2PChipsetNotSupported, *p.Write)
	assert.Nil(t, p.Atomics)
	assert.Equal(t, nvml.P2PUnknown, *p.PCI)
}

func TestStatus(t *testing.T) {
	l := open(t)
	s, err := l.Status(first)
	require.NoError(t, err)
	assert.EqualValues(t, 400, *s.MemoryUsed)
	assert.Equal(t, 90, *s.GPUBusy)
	assert.Equal(t, 31, *s.Temperature)
	assert.InDelta(t, 75.5, *s.Power, 1e-9)
	assert.InDelta(t, 700, *s.PowerLimit, 1e-9)
	assert.Equal(t, 1980, *s.ClockSM)
	assert.Equal(t, 3201, *s.ClockMemory)
	assert.Equal(t, 0, *s.PerformanceState)
	assert.Equal(t, nvml.ClockEvents(0), *s.ClockEvents)
	assert.Equal(t, 1, *s.PCIe.Generation)
	assert.True(t, *s.ECC.Enabled)
	assert.EqualValues(t, 0, *s.ECC.Corrected)
	assert.EqualValues(t, 11, *s.ECC.UncorrectedEver)
	assert.Equal(t, &nvml.Remap{Corrected: 2, Uncorrected: 1, Pending: true}, s.ECC.Remapped)
	assert.EqualValues(t, 3072, *s.NVLinkSent, "KiB of all links")
	assert.EqualValues(t, 5120, *s.NVLinkReceived)

	s, err = l.Status(second)
	require.ErrorIs(t, err, nvml.CodeUnknown, "what the driver cannot explain is said")
	assert.Nil(t, s.GPUBusy)
	assert.Nil(t, s.PerformanceState)
	assert.Equal(t, 31, *s.Temperature, "and the rest is there")
	assert.Equal(t, nvml.ClockPowerCap|nvml.ClockHardwareThermal, *s.ClockEvents)
}

func TestProcesses(t *testing.T) {
	l := open(t)
	all, err := l.Processes(first)
	require.NoError(t, err)
	require.Len(t, all, 3)
	assert.Equal(t, nvml.Process{PID: 100, Name: "/usr/bin/train", Compute: true}, all[0], "memory that is not told is absent")
	assert.Equal(t, 200, all[1].PID)
	assert.True(t, all[1].Compute && all[1].Graphics, "once, of both kinds")
	assert.EqualValues(t, 1<<20, *all[1].Memory)
	assert.Equal(t, 3, *all[2].GPUInstance)

	all, err = l.Processes(second)
	require.NoError(t, err)
	assert.Empty(t, all)
}

func TestUnknownGPU(t *testing.T) {
	l := open(t)
	_, err := l.Links("GPU-ffffffff-0000-0000-0000-000000000000")
	require.ErrorIs(t, err, nvml.ErrNoGPU)
	_, err = l.Pair(first, "MIG-00000000-0000-0000-0000-000000000000")
	var op *nvml.OpError
	require.ErrorAs(t, err, &op)
	assert.Contains(t, op.Hint, second, "the hint names the GPU of a MIG device")
}

func TestWatch(t *testing.T) {
	l := open(t)
	t.Setenv("FAKE_NVML_EVENT", fmt.Sprint(uint64(nvml.EventXID)))
	w, err := l.Watch(nvml.EventsOfHealth)
	require.NoError(t, err)
	event, err := w.Next(context.Background())
	require.NoError(t, err)
	assert.Equal(t, second, event.GPU)
	assert.Equal(t, nvml.EventXID, event.Kind)
	assert.EqualValues(t, 79, *event.XID)
	assert.Equal(t, 3, *event.GPUInstance)
	assert.Nil(t, event.ComputeInstance)

	require.ErrorIs(t, l.Close(), nvml.ErrBusy, "a watch holds the library open")
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	_, err = w.Next(context.Background())
	require.ErrorIs(t, err, nvml.ErrClosed)

	_, err = l.Watch(nvml.EventClock)
	require.ErrorIs(t, err, nvml.ErrNotSupported, "no GPU reports that kind")
	_, err = l.Watch(nvml.EventXID, first)
	require.ErrorIs(t, err, nvml.ErrNotSupported)
}

// TestWatchEndsWithItsContext waits until the driver is inside a wait, then
// cancels.
func TestWatchEndsWithItsContext(t *testing.T) {
	l := open(t)
	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv("FAKE_NVML_CALLS", calls)
	w, err := l.Watch(nvml.EventXID, second)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := w.Next(ctx)
		done <- err
	}()
	waiting := func() bool { info, err := os.Stat(calls); return err == nil && info.Size() > 0 }
	require.Eventually(t, waiting, 10*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)

	go func() {
		_, err := w.Next(context.Background())
		done <- err
	}()
	require.NoError(t, w.Close(), "closing does not wait for an event")
	require.ErrorIs(t, <-done, nvml.ErrClosed)
}

func TestClosed(t *testing.T) {
	l := open(t)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err := l.GPUs()
	require.ErrorIs(t, err, nvml.ErrClosed)
	_, err = l.Status(first)
	require.ErrorIs(t, err, nvml.ErrClosed)
	_, err = l.Watch(nvml.EventXID)
	require.ErrorIs(t, err, nvml.ErrClosed)
}

func TestTwoLibraries(t *testing.T) {
	a, b := open(t), open(t)
	require.NoError(t, a.Close())
	gpus, err := b.GPUs()
	require.NoError(t, err)
	assert.Len(t, gpus, 2)
	_, err = Open(Options{Path: oldFake})
	require.Error(t, err, "another file in the same process")
}

func TestInitFails(t *testing.T) {
	open(t)
	for _, code := range []nvml.Code{nvml.CodeDriverNotLoaded, nvml.CodeLibraryMismatch, nvml.CodeUnknown} {
		t.Setenv("FAKE_NVML_INIT", fmt.Sprint(int(code)))
		_, err := Open(Options{Path: fake})
		require.ErrorIs(t, err, code)
	}
}

// child runs one test of this binary in a process of its own, where nothing has
// been opened yet.
func child(t *testing.T, library string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childTest+"="+t.Name(), Environment+"="+library)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "--- PASS: "+t.Name())
}

// TestOldDriver takes a library without the newer functions: a call of one that
// is not there would end the process.
func TestOldDriver(t *testing.T) {
	if os.Getenv(childTest) == "" {
		if oldFake == "" {
			testutil.Skip(t, needsTools)
		}
		child(t, oldFake)
		return
	}
	l, err := Open(Options{})
	require.NoError(t, err)
	snapshot, err := nvml.Take(l)
	require.ErrorIs(t, err, nvml.CodeUnknown, "only what this library says of the second GPU's utilisation")
	require.Len(t, snapshot.Inventory, 2)
	g := snapshot.Inventory[0]
	assert.Equal(t, "0000:1b:00.0", g.PCIAddress)
	assert.Nil(t, g.Nodes)
	assert.Nil(t, g.CPUs)
	assert.Nil(t, g.MIG)
	assert.EqualValues(t, 150754820096, *g.Memory, "the older function answers")
	assert.Empty(t, snapshot.Users[g.UUID])
	require.NoError(t, snapshot.Check())
	require.NoError(t, l.Close())
}

func TestMissingLibrary(t *testing.T) {
	if os.Getenv(childTest) == "" {
		child(t, filepath.Join(t.TempDir(), "libnvidia-ml.so.1"))
		return
	}
	_, err := Open(Options{})
	require.ErrorIs(t, err, nvml.ErrLibraryNotFound)
	assert.Contains(t, err.Error(), libraryPackage)
}

// TestFileIsNotNVML opens a library that is another one.
func TestFileIsNotNVML(t *testing.T) {
	if os.Getenv(childTest) == "" {
		child(t, "libc.so.6")
		return
	}
	_, err := Open(Options{})
	require.ErrorIs(t, err, nvml.ErrNotSupported)
	assert.False(t, errors.Is(err, nvml.ErrLibraryNotFound))
}

var noContext context.Context

func TestWhatWasNeverMade(t *testing.T) {
	for _, l := range []*Library{{}} {
		v := reflect.ValueOf(l)
		for i := range v.NumMethod() {
			method := v.Method(i).Type()
			args := make([]reflect.Value, method.NumIn())
			for k := range args {
				args[k] = reflect.Zero(method.In(k))
			}
			call := v.Method(i).Call
			if method.IsVariadic() {
				call = v.Method(i).CallSlice
			}
			assert.NotPanics(t, func() { call(args) }, v.Type().Method(i).Name)
		}
	}
	l := open(t)
	w, err := l.Watch(nvml.EventXID, second)
	require.NoError(t, err)
	assert.NotPanics(t, func() {
		_, err := w.Next(noContext)
		assert.Error(t, err)
	})
}
