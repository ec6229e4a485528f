//go:build linux && cgo

package nccltest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nccl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// correct checks that a run was right in every row, and returns the rows.
func correct(t *testing.T, tool Tool, args string) []tableRow {
	t.Helper()
	cfg := parse(t, tool, args)
	out, err := perform(t, cfg)
	require.NoError(t, err, "%s %s", tool.Name, args)
	rows := parseTable(out, cfg.PerIter)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		for i, half := range row.halves {
			if i == 1 && tool.collective.garbled {
				assert.Nil(t, half.wrong)
				continue
			}
			require.NotNil(t, half.wrong)
			assert.Zero(t, *half.wrong, "%s %s: %+v", tool.Name, args, row)
		}
	}
	assert.Contains(t, out, "# Out of bounds values : 0 OK\n")
	return rows
}

// TestEveryToolWithEveryTypeAndReduction drives one, two and four GPUs by
// threads, by one thread, and both.
func TestEveryToolWithEveryTypeAndReduction(t *testing.T) {
	for _, tool := range Tools() {
		t.Run(tool.Name, func(t *testing.T) {
			ops := 1
			if tool.collective.reduces || tool.collective.labelled {
				ops = len(values.Ops())
			}
			for _, gpus := range drives(t) {
				if testutil.Race && gpus != widest {
					continue // it has the goroutines of all the others
				}
				rows := correct(t, tool, gpus+" -b 1000 -e 1000 -n 2 -d all -o all -r 0")
				assert.Len(t, rows, ops*len(nccl.DataTypes()), gpus)
			}
		})
	}
}

// modeTools are the tools that TestEveryMode runs. What runs beside what is the
// mode's, so that the race detector gets one tool of each form: one operation, a
// group of operations, and groups one after the other.
func modeTools() []Tool {
	if testutil.Race {
		return []Tool{AllReduce, AllToAll, HyperCube}
	}
	return Tools()
}

// TestEveryMode runs the ways to issue, register and wait.
func TestEveryMode(t *testing.T) {
	for _, mode := range []string{
		"-R 1", "-R 2", "-G 3", "-R 2 -G 2", "-m 4", "-z 1", "-z 2", "-z 3", "-z 3 -m 2", "-I 1 -K 2", "-z 3 -I 1", "-u 3", "-p 1",
		"-y 1", "-N 2", "-w 0", "-w 3", "-c 2", "-a 0", "-a 2", "-a 3", "-x 1", "-M 1", "-C 1", "-S 1", "-i 3000",
		"--issue threads", "--mode auto", "--spread", "-T 60", "-r -1",
	} {
		for _, tool := range modeTools() {
			if mode == "-m 4" && tool.collective.stages != nil || mode == "-z 3 -m 2" && tool.collective.stages != nil {
				continue
			}
			for _, gpus := range []string{"-g 2", "-t 2"} {
				t.Run(fmt.Sprintf("%s %s %s", tool.Name, mode, gpus), func(t *testing.T) {
					correct(t, tool, mode+" "+gpus+" -b 2K -e 8K -n 4")
				})
			}
		}
	}
}

// TestSmallestSizes: shares of a few bytes are rounded down to none.
func TestSmallestSizes(t *testing.T) {
	for _, tool := range Tools() {
		rows := correct(t, tool, "-g 2 -b 1 -e 64 -f 8 -n 2 -w 0")
		assert.Len(t, rows, 3, tool.Name)
	}
}

// TestOneAlteredElementIsReported flips one bit of one rank's result, before the
// check of the GPU and before that of the host.
func TestOneAlteredElementIsReported(t *testing.T) {
	for _, tool := range []Tool{AllReduce, AllGather, SendRecv} {
		for _, dt := range nccl.DataTypes() {
			for _, host := range []bool{false, true} {
				cfg := parse(t, tool, fmt.Sprintf("-g 2 -b 4K -e 4K -n 1 -d %v", dt))
				cfg.between = func(r *rank, tr *trial) error {
					if host {
						if err := checkOnHost(r); err != nil {
							return err
						}
					}
					if r.index != 1 || tr.inPlace {
						return nil
					}
					return flip(r, uint64(dt.Size())*7)
				}
				out, err := perform(t, cfg)
				var result *ResultError
				require.ErrorAs(t, err, &result)
				assert.Equal(t, 1, result.OutOfBounds)
				rows := parseTable(out, false)
				require.Len(t, rows, 1)
				require.NotNil(t, rows[0].halves[0].wrong)
				assert.EqualValues(t, 1, *rows[0].halves[0].wrong, "%s %v host %v", tool.Name, dt, host)
				assert.Contains(t, out, "# Out of bounds values : 1 FAILED\n")
			}
		}
	}
}

// checkOnHost puts the host's check in the place of the GPU's.
func checkOnHost(r *rank) error {
	if _, ok := r.verifier.(*hostVerifier); ok {
		return nil
	}
	err := r.verifier.Close()
	if err != nil {
		return err
	}
	r.verifier, err = newHostVerifier(r.dev, func() {})
	return err
}

// flip changes a bit of the receive buffer.
func flip(r *rank, at uint64) error {
	gpu, err := r.recv.Span().At(at, 1)
	if err != nil {
		return err
	}
	one := make([]byte, 1)
	if err := r.stream.CopyToHost(context.Background(), one, gpu); err != nil {
		return err
	}
	one[0] ^= 1
	return r.stream.CopyToDevice(context.Background(), gpu, one)
}

// TestAutoNamesTheWay looks at the extra column.
func TestAutoNamesTheWay(t *testing.T) {
	out, err := perform(t, parse(t, AllReduce, "-g 2 -b 8 -e 512 -f 8 -n 2 --mode auto"))
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Fields(line)
		assert.Contains(t, []string{"eager", "registered", "symmetric", "graph", "symmetric+graph"}, fields[len(fields)-1])
		rows++
	}
	assert.Equal(t, 3, rows)
	assert.Contains(t, out, "#wrong   mode\n")
}

// TestScriptsReadBoth reads our output and the C tool's with the same few lines,
// as scripts do: columns by number, and the footer by its words.
func TestScriptsReadBoth(t *testing.T) {
	read := func(text string) (sizes []string, average string) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "#") {
				if f := strings.Fields(line); len(f) > 5 && f[1] == "Avg" {
					average = f[5]
				}
				continue
			}
			if f := strings.Fields(line); len(f) == 13 {
				sizes = append(sizes, f[0]+" "+f[2]+" "+f[8]+f[12])
			}
		}
		return sizes, average
	}
	data, err := os.ReadFile("testdata/h200x2-nccl-tests-t2.txt")
	require.NoError(t, err)
	out, err := perform(t, parse(t, AllReduce, "-t 2 -b 8 -e 16M -f 4 -n 1 -w 0"))
	require.NoError(t, err)
	theirs, _ := read(string(data))
	ours, average := read(out)
	assert.Equal(t, theirs, ours)
	assert.NotEmpty(t, average)
}

func TestMatrixOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "matrix")
	require.NoError(t, os.WriteFile(file, []byte("100 200 150\n\n 50 100 75\n300 150 1e3"), 0o600))
	env := []string{envMatrix, file, envSummary, "1", envScale, "2"}
	cfg := parse(t, AllToAllV, "-g 3 -b 4K -e 4K -n 2", env...)
	assert.Equal(t, [][]uint64{{192, 400, 288}, {96, 192, 144}, {592, 288, 2000}}, cfg.pattern.matrix)
	out, err := perform(t, cfg)
	require.NoError(t, err)
	rows := parseTable(out, false)
	require.Len(t, rows, 1)
	assert.EqualValues(t, 2880, rows[0].size)
	assert.Zero(t, rows[0].count)
	assert.Zero(t, *rows[0].halves[0].wrong)
	assert.Contains(t, out, "#   rank=2 send_bytes=2880 recv_bytes=2432 ")
	for args, want := range map[string]string{
		"-g 4 -b 4K -e 4K": "the matrix has 3 rows, and there are 4 ranks",
		"-g 3 -b 2K -e 4K": "-b and -e must be the same",
		"-g 3 -b 1K -e 1K": "a rank sends or receives 2880 bytes",
	} {
		_, err := perform(t, parse(t, AllToAllV, args, env...))
		assert.ErrorContains(t, err, want)
	}
	_, err = ParseArgs(AllToAllV, nil, environment(envMatrix, file+"x"))
	var usage *UsageError
	assert.ErrorAs(t, err, &usage)
}
