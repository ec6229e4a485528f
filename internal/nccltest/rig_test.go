//go:build linux && cgo

package nccltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmltest"
	"github.com/stretchr/testify/require"
)

// toolEnv makes the test binary one of the programs.
const toolEnv = "GOFABRIC_TEST_TOOL"

// endEnv gives a program of toolEnv another endBound.
const endEnv = "GOFABRIC_TEST_END_BOUND"

// fakeGPUs is how many devices the fakes have.
const fakeGPUs = "4"

// patience bounds every wait of a test; what is tested ends long before.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	if name := os.Getenv(toolEnv); name != "" {
		i := slices.IndexFunc(Tools(), func(tool Tool) bool { return tool.Name == name })
		if text := os.Getenv(endEnv); text != "" {
			var err error
			if endBound, err = time.ParseDuration(text); err != nil {
				panic(err)
			}
		}
		os.Exit(Main(Tools()[i], os.Args[1:], os.Stdout, os.Stderr, testGPUs))
	}
	run := func() int { return testutil.Main(m, nothingOpen) }
	if realGPU() {
		os.Exit(run())
	}
	if err := os.Setenv("GF1_FAKE_GPUS", fakeGPUs); err != nil {
		panic(err)
	}
	os.Exit(fakegpu.Main(fakegpu.Options{}, run))
}

// nvmlEnv makes a program of toolEnv have NVML, which finds two H200s.
const nvmlEnv = "GOFABRIC_TEST_NVML"

// testGPUs are the links that the programs find.
func testGPUs() (GPUSource, error) {
	if os.Getenv(nvmlEnv) == "" {
		return nil, nvml.ErrLibraryNotFound
	}
	host := nvmltest.H200Pair()
	for i := range host.Data.Inventory {
		info, err := cuda.Info(i)
		if err != nil {
			return nil, err
		}
		if host.Data.Inventory[i].PCIAddress, err = nvml.ParsePCIAddress(info.PCIAddress); err != nil {
			return nil, err
		}
	}
	return openHost{host}, nil
}

// realGPU: the tests that need no control over the fakes run on the machine's own
// GPUs and libraries.
func realGPU() bool { return os.Getenv("GOFABRIC_GPU") != "" }

// fakes gives a test the fakes' controls. On real GPUs it is skipped.
func fakes(t testing.TB) *fakegpu.Control {
	t.Helper()
	if realGPU() {
		testutil.Skip(t, "needs the fake libraries")
	}
	return fakegpu.Use(t)
}

// widest is the way of drives that has several threads and several GPUs in each.
const widest = "-t 2 -g 2"

// drives lists ways to drive up to four GPUs, as far as there are as many.
func drives(t testing.TB) (list []string) {
	t.Helper()
	count, err := cuda.DeviceCount()
	require.NoError(t, err)
	if count == 0 {
		testutil.Skip(t, "there is no GPU")
	}
	for args, gpus := range map[string]int{"-g 1": 1, "-g 2": 2, "-t 2": 2, "-g 4": 4, "-t 4": 4, widest: 4} {
		if gpus <= count {
			list = append(list, args)
		}
	}
	return list
}

func nothingOpen() error {
	for _, o := range life.Open() {
		return fmt.Errorf("%s, made by\n%s", o.Name, o.Stack)
	}
	return nil
}

// perform runs a test in this process.
func perform(t testing.TB, cfg Config) (string, error) {
	t.Helper()
	if !realGPU() {
		fakegpu.Use(t)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, stderr bytes.Buffer
	err := Run(ctx, cfg, &out, &stderr)
	if t.Failed() || testing.Verbose() && err != nil {
		t.Logf("%s%s", out.String(), stderr.String())
	}
	return out.String(), err
}

// program is a tool in a process of its own.
type program struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func newProgram(ctx context.Context, tool Tool, args string, env ...string) *program {
	p := &program{cmd: exec.CommandContext(ctx, os.Args[0], strings.Fields(args)...)}
	p.cmd.Env = append(append(os.Environ(), toolEnv+"="+tool.Name), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	return p
}

// wait returns the exit status.
func (p *program) wait(t testing.TB) int {
	t.Helper()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil {
		require.True(t, errors.As(err, &exit), "%v", err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *program) run(t testing.TB) int {
	t.Helper()
	require.NoError(t, p.cmd.Start())
	return p.wait(t)
}

func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}
