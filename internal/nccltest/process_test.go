//go:build linux && cgo

package nccltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// job of processes with the variables that torchrun sets.
func processes(t *testing.T, n int, tool Tool, args string, env ...string) []*program {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	var list []*program
	ctx := patient(t)
	for rank := range n {
		p := newProgram(ctx, tool, args, append([]string{
			fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("WORLD_SIZE=%d", n), fmt.Sprintf("LOCAL_RANK=%d", rank),
			"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port,
		}, env...)...)
		require.NoError(t, p.cmd.Start())
		list = append(list, p)
	}
	return list
}

func TestTwoProcesses(t *testing.T) {
	fakes(t)
	for _, args := range []string{"", "-g 2", "-t 2", "-I 1", "-R 2 -G 2", "--mode auto", "-a 0", "-p 1"} {
		for _, tool := range []Tool{AllReduce, AllToAllV} {
			list := processes(t, 2, tool, args+" -b 1K -e 64K -f 8 -n 3 -T 60 --spread")
			for rank, p := range list {
				require.Zero(t, p.wait(t), "%s %s, rank %d: %s%s", tool.Name, args, rank, p.stdout.String(), p.stderr.String())
			}
			assert.Empty(t, list[1].stdout.String())
			out := list[0].stdout.String()
			rows := parseTable(out, strings.Contains(args, "-I"))
			require.Len(t, rows, 3, out)
			for _, row := range rows {
				assert.Zero(t, *row.halves[0].wrong)
			}
			assert.Equal(t, 2, strings.Count(strings.Split(out, "Using devices")[1], "on "+paddedHostname(t))/gpusOf(args))
		}
	}
}

func gpusOf(args string) int {
	if strings.Contains(args, "2") && (strings.HasPrefix(args, "-g") || strings.HasPrefix(args, "-t")) {
		return 2
	}
	return 1
}

func paddedHostname(t *testing.T) string {
	name, err := hostname()
	require.NoError(t, err)
	return fmt.Sprintf("%10s", name)
}

func TestSplitProcesses(t *testing.T) {
	fakes(t)
	list := processes(t, 4, AllGather, "-b 1K -e 1K -n 2 -T 60", envSplit+"=MOD 2")
	for _, p := range list {
		require.Zero(t, p.wait(t), p.stderr.String())
	}
	out := list[0].stdout.String()
	for _, want := range []string{"Rank  0 Group  0", "Rank  0 Group  1", "Rank  1 Group  0", "Rank  1 Group  1"} {
		assert.Contains(t, out, want)
	}
	// Two ranks in each group: the share of one is half.
	rows := parseTable(out, false)
	require.Len(t, rows, 1)
	assert.EqualValues(t, 128, rows[0].count)
}

func TestProcessesWithOtherFlagsAreRefused(t *testing.T) {
	fakes(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	var list []*program
	for rank, args := range []string{"-n 2", "-n 3"} {
		p := newProgram(patient(t), AllReduce, args, fmt.Sprintf("RANK=%d", rank), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT="+port)
		require.NoError(t, p.cmd.Start())
		list = append(list, p)
	}
	for _, p := range list {
		assert.Equal(t, 1, p.wait(t))
	}
	assert.Contains(t, list[0].stderr.String()+list[1].stderr.String(), "give all the same")
}

// started waits until a program prints rows.
func started(t *testing.T, read func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(parseTable(read(), false)) == 0; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "no row was printed: %s", read())
	}
}

// fileOutput has a program print to a file, which can be read meanwhile.
func fileOutput(t *testing.T, p *program) func() string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(name)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	p.cmd.Stdout = f
	return func() string {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(data)
	}
}

func TestSignalEndsTheRun(t *testing.T) {
	fakes(t)
	for sig, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		p := newProgram(patient(t), AllReduce, "-t 2 -b 4K -e 4K -N 0")
		read := fileOutput(t, p)
		require.NoError(t, p.cmd.Start())
		started(t, read)
		require.NoError(t, p.cmd.Process.Signal(sig))
		assert.Equal(t, status, p.wait(t))
		assert.Contains(t, p.stderr.String(), "all_reduce_perf: ended by a signal")
	}
}

func TestDeadProcessEndsTheOthers(t *testing.T) {
	fakes(t)
	list := processes(t, 2, AllReduce, "-b 4K -e 4K -N 0")
	// Both are through with the start once the first has begun its output.
	control := fakes(t)
	require.True(t, control.WaitCount(fakegpu.CollectivesDone, control.Count(fakegpu.CollectivesDone)+100))
	require.NoError(t, list[1].cmd.Process.Kill())
	assert.Equal(t, -1, list[1].wait(t))
	assert.Equal(t, 1, list[0].wait(t))
	assert.Equal(t, 1, strings.Count(list[0].stderr.String(), "\n"), list[0].stderr.String())
	assert.Contains(t, list[0].stderr.String(), "all_reduce_perf: process 0 of 2, on ")
}

// TestTimeout holds a collective, and the start of a communicator.
func TestTimeout(t *testing.T) {
	for _, knob := range []fakegpu.Knob{fakegpu.CollectiveHold, fakegpu.InitHold, fakegpu.StreamHold} {
		control := fakes(t)
		control.Set(knob, 1)
		p := newProgram(patient(t), AllReduce, "-g 2 -b 8 -e 8 -T 1", endEnv+"=1s")
		assert.Equal(t, 1, p.run(t))
		assert.Contains(t, p.stderr.String(), "nothing has come forward for 1s (-T/--timeout)")
		control.Set(knob, 0)
	}
}

// TestAsyncErrorEndsTheRun, and names the rank.
func TestAsyncErrorEndsTheRun(t *testing.T) {
	control := fakes(t)
	control.Set(fakegpu.CollectiveHold, 1)
	control.Set(fakegpu.AsyncRanks, 1<<1)
	control.Set(fakegpu.AsyncError, 6)
	p := newProgram(patient(t), AllReduce, "-t 2 -b 8 -e 8")
	assert.Equal(t, 1, p.run(t))
	assert.Contains(t, p.stderr.String(), "rank 1 of 2")
}

func TestStatusOfResults(t *testing.T) {
	fakes(t)
	p := newProgram(patient(t), AllReduce, "-g 2 -b 1K -e 1K -n 2", envMinBandwidth+"=1e6")
	assert.Equal(t, 7, p.run(t))
	assert.Regexp(t, `# Avg bus bandwidth    : \S+ FAILED\n`, p.stdout.String())
	p = newProgram(patient(t), AllReduce, "-g 2 -b 1K -e 1K -n 2", envMinBandwidth+"=0")
	assert.Zero(t, p.run(t))
	assert.Regexp(t, `# Avg bus bandwidth    : \S+ OK\n`, p.stdout.String())
}

func TestDevices(t *testing.T) {
	fakes(t)
	p := newProgram(patient(t), AllReduce, "-g 2 -b 8 -e 8", envDevice+"=2")
	require.Zero(t, p.run(t), p.stderr.String())
	assert.Contains(t, p.stdout.String(), "device  3 [")
	p = newProgram(patient(t), AllReduce, "-g 5 -b 8 -e 8")
	assert.Equal(t, 1, p.run(t))
	assert.Contains(t, p.stderr.String(), "GPU 4 is asked for and 4 were found")
	p = newProgram(patient(t), HyperCube, "-g 3 -b 8 -e 8")
	assert.Equal(t, 1, p.run(t))
	assert.Contains(t, p.stderr.String(), "a power of two of ranks, not 3")
	p = newProgram(patient(t), Broadcast, "-g 2 -r 2 -b 8 -e 8")
	assert.Equal(t, 1, p.run(t))
	assert.Contains(t, p.stderr.String(), "-r/--root: 2: the ranks are 0 to 1")
}

func TestSizesPastTheMemoryAreReduced(t *testing.T) {
	fakes(t)
	p := newProgram(patient(t), AllReduce, "-g 2 -b 8 -e 4G -f 1000000000 -w 0 -n 1 -c 0", "GF1_FAKE_GPU_MEMORY=3072")
	require.Zero(t, p.run(t), p.stderr.String())
	assert.Contains(t, p.stdout.String(), "#\n# Reducing maxBytes to 536870912 due to memory limitation\n")
	assert.Contains(t, p.stdout.String(), "maxBytes 4294967296 ")
	assert.NotContains(t, p.stdout.String(), "checked on the host")
}

// TestHostChecksWhereKernelsDoNotLoad: it is slower, and says so.
func TestHostChecksWhereKernelsDoNotLoad(t *testing.T) {
	gpu := fakes(t)
	require.NoError(t, gpu.Fail("cuModuleLoadDataEx", int(cuda.ErrorNoBinaryForGPU), 0, 1000))
	for _, tool := range Tools() {
		var stdout, stderr bytes.Buffer
		cfg := parse(t, tool, "-d all -o all -g 2 -b 1K -e 1K -n 2")
		require.NoError(t, Run(patient(t), cfg, &stdout, &stderr), tool.Name)
		assert.Regexp(t, "\n# gofabric: data is made and checked on the host: .*CUDA_ERROR_NO_BINARY_FOR_GPU", stdout.String())
	}
}

// TestOlderReleases does without what they lack.
func TestOlderReleases(t *testing.T) {
	fakes(t)
	for release, args := range map[string]string{"2.18.1": "", "2.23.4": "-d all -o all", "2.27.3": "-R 2"} {
		libraries, err := fakegpu.Build("", fakegpu.Options{NCCL: release})
		require.NoError(t, err)
		for _, tool := range Tools() {
			p := newProgram(patient(t), tool, args+" -g 2 -b 1K -e 1K -n 2", "GOFABRIC_LIBCUDA="+libraries.CUDA, "GOFABRIC_LIBNCCL="+libraries.NCCL)
			assert.Zero(t, p.run(t), "%s on %s: %s", tool.Name, release, p.stderr.String())
			assert.NotContains(t, p.stdout.String(), "f8e4m3")
		}
	}
	libraries, err := fakegpu.Build("", fakegpu.Options{NCCL: "2.23.4"})
	require.NoError(t, err)
	p := newProgram(patient(t), AllReduce, "-g 2 -b 1K -e 1K -n 2 -R 2", "GOFABRIC_LIBCUDA="+libraries.CUDA, "GOFABRIC_LIBNCCL="+libraries.NCCL)
	require.Zero(t, p.run(t), p.stderr.String())
	assert.Contains(t, p.stdout.String(), "# -R 2 needs NCCL 2.27.3, and this is 2.23.4: -R 1 is used\n")
}

func TestJSON(t *testing.T) {
	fakes(t)
	name := filepath.Join(t.TempDir(), "out.json")
	for i, args := range []string{"", "-C 1 --mode auto", "-I 1 --json_env"} {
		p := newProgram(patient(t), AllReduce, args+" -g 2 -b 1K -e 4K -f 4 -n 3 -J "+name, "A_SECRET=1")
		require.Zero(t, p.run(t), p.stderr.String())
		file := name
		if i > 0 {
			file = fmt.Sprintf("%s.%d", name, i-1)
		}
		assert.True(t, strings.HasPrefix(p.stdout.String(), "# Writing JSON output to "+file+"\n"))
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var doc map[string]any
		require.NoError(t, json.Unmarshal(data, &doc))
		for _, key := range []string{"version", "start_time", "args", "env", "nccl_version", "config", "results", "out_of_bounds", "average_bus_bandwidth", "errors", "end_time"} {
			assert.Contains(t, doc, key)
		}
		assert.EqualValues(t, 3, doc["version"])
		assert.Equal(t, map[string]any{"count": 0.0, "okay": "true"}, doc["out_of_bounds"])
		results := doc["results"].([]any)
		require.Len(t, results, 2)
		first := results[0].(map[string]any)
		assert.Equal(t, "    -1", first["root"])
		time := "time"
		if i == 1 {
			time = "cpu_time"
			assert.NotEmpty(t, first["mode"])
		}
		for _, key := range []string{time, "alg_bw", "bus_bw", "nwrong"} {
			assert.Contains(t, first["out_of_place"], key)
		}
		assert.Equal(t, i == 2, first["in_place_per_iter"] != nil)
		assert.Equal(t, i == 2, strings.Contains(string(data), "A_SECRET"))
	}
	p := newProgram(patient(t), AllReduce, "-g 2 -b 8 -e 8 -J /nowhere/a.json")
	assert.Equal(t, 1, p.run(t))
	assert.Contains(t, p.stderr.String(), "-J/--output_file")
}

// TestCompare has this program stand for the C tool.
func TestCompare(t *testing.T) {
	fakes(t)
	p := newProgram(patient(t), AllReduce, "-g 2 -b 8 -e 512 -f 8 -n 2 --pairs 2 --issue threads --compare "+os.Args[0])
	require.Zero(t, p.run(t), p.stderr.String())
	assert.Regexp(t, `(?m)^ +64  float sum +in-place +[0-9.]+ +[0-9.]+  [0-9.]+ +[0-9.]+ +$`, p.stdout.String())
	assert.Contains(t, p.stdout.String(), "# median over the rows: ours/C ")
	p = newProgram(patient(t), AllReduce, "-g 9 --compare "+os.Args[0])
	assert.Equal(t, 1, p.run(t))
	assert.Contains(t, p.stderr.String(), "ended with status 1")
	p = newProgram(patient(t), AllReduce, "--compare "+os.Args[0], "RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=1")
	assert.Equal(t, 1, p.run(t))
	assert.Contains(t, p.stderr.String(), "--compare: works in one process")
}
