//go:build linux && cgo

package nccltest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPlotAndLimitCheck runs the programs, in one process and in two.
func TestPlotAndLimitCheck(t *testing.T) {
	fakes(t)
	dir := t.TempDir()
	older, svg := filepath.Join(dir, "older.json"), filepath.Join(dir, "a.svg")
	p := newProgram(patient(t), AllReduce, "-g 2 -b 1K -e 64K -f 8 -n 2 -J "+older)
	require.Zero(t, p.run(t), p.stderr.String())

	const limits = "# gofabric: limit check: NVLink 4.0, 18 links x 25 GB/s = 450 GB/s in each direction (NVML)\n"
	args := "-b 1K -e 64K -f 8 -n 2 --limit-check --plot " + svg + " --plot-with " + older
	for _, two := range []bool{false, true} {
		var list []*program
		if two {
			list = processes(t, 2, AllReduce, args+" -T 60", nvmlEnv+"=1")
		} else {
			list = []*program{newProgram(patient(t), AllReduce, "-g 2 "+args, nvmlEnv+"=1")}
			require.NoError(t, list[0].cmd.Start())
		}
		for _, p := range list {
			require.Zero(t, p.wait(t), p.stderr.String())
		}
		out := list[0].stdout.String()
		assert.Contains(t, out, limits)
		assert.Contains(t, out, "NOT JUDGED: such a path, or such a run over it, was not measured\n", "below 2 MiB nothing was measured")
		assert.Len(t, parseTable(out, false), 3)
		data, err := os.ReadFile(svg)
		require.NoError(t, err)
		assert.Equal(t, 8, strings.Count(string(data), `class="series"`))
		assert.Contains(t, string(data), "450 GB/s")
		require.NoError(t, os.Remove(svg))
	}

	// The fakes are no H200s.
	p = newProgram(patient(t), AllReduce, "-g 2 -b 4M -e 4M -n 1 -w 0 -c 0 --limit-check", nvmlEnv+"=1")
	assert.Equal(t, exitResults, p.run(t), p.stderr.String())
	assert.Contains(t, p.stdout.String(), "# gofabric: 2 results judged, 2 too low: FAILED\n")
	assert.Contains(t, p.stderr.String(), "2 results have less than 90 % of the bus bandwidth")

	for env, want := range map[string]string{
		nvmlEnv + "=":          "# gofabric: limit check: unknown: " + strings.TrimSpace(paddedHostname(t)) + ": ",
		"NCCL_P2P_DISABLE=1":   "# gofabric: limit check: unknown: NCCL_P2P_DISABLE=1 keeps NCCL from NVLink\n",
		envSplitMask + "=0x0":  limits,
		"NCCL_TESTS_DEVICE=-1": limits,
	} {
		p = newProgram(patient(t), AllReduce, "-g 2 -b 1K -e 1K -n 2 --limit-check", nvmlEnv+"=1", env)
		require.Zero(t, p.run(t), p.stderr.String())
		assert.Contains(t, p.stdout.String(), want)
	}

	// One that does not look.
	list := processes(t, 2, AllReduce, "-b 1K -e 1K -n 2 -T 60", nvmlEnv+"=1", envSplit+"=MOD 2")
	for _, p := range list {
		require.Zero(t, p.wait(t), p.stderr.String())
	}
	assert.NotContains(t, list[0].stdout.String(), "limit")
	list = processes(t, 2, AllReduce, "-b 1K -e 1K -n 2 -T 60 --limit-check", nvmlEnv+"=1", envSplit+"=MOD 2")
	for _, p := range list {
		require.Zero(t, p.wait(t), p.stderr.String())
	}
	assert.Contains(t, list[0].stdout.String(), "unknown: several communicators work at once (NCCL_TESTS_SPLIT)")
}
