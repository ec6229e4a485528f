package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/topo"
)

// asTool makes the test binary behave as the tool: exec replaces the process.
const asTool = "TOPO_TEST_AS_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		os.Unsetenv(asTool)
		main()
	}
	os.Exit(testutil.Main(m))
}

// dgx is a DGX A100, see the head of the file.
func dgx(t *testing.T) string { return sample(t, "dgx-a100.txtar") }

func sample(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join("testdata", name)
	_, err := os.Stat(file)
	require.NoError(t, err)
	return file
}

// topoTool runs the tool in this process.
func topoTool(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(args, streams{strings.NewReader(stdin), &out, &errs})
	return status, out.String(), errs.String()
}

func succeed(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errs := topoTool(t, "", args...)
	require.Zero(t, status, "%v: %s", args, errs)
	require.Empty(t, errs)
	return out
}

// TestHere runs every kind of output on the machine that the test runs on, whatever
// it is.
func TestHere(t *testing.T) {
	if _, err := topo.Live(topo.ReadOptions{}); err != nil {
		status, _, errs := topoTool(t, "")
		assert.Equal(t, exitFailed, status)
		assert.Equal(t, 1, strings.Count(errs, "\n"))
		return
	}
	dir := t.TempDir()
	out := succeed(t)
	assert.NotEmpty(t, out)
	if m, err := readLive(); assert.NoError(t, err) && len(m.sys.HCAs) == 0 {
		assert.Contains(t, out, "RDMA devices: /sys/class/infiniband shows none")
	}
	for _, args := range [][]string{{"--nccl-env"}, {"--nccl-xml"}, {"--table"}, {"--json"}, {"--plan", "1"}, {"--pci"}} {
		assert.NotEmpty(t, succeed(t, args...), args)
	}
	svg := filepath.Join(dir, "machine.svg")
	assert.Empty(t, succeed(t, "-o", svg))
	assert.NoError(t, xml.Unmarshal(read(t, svg), new(struct{})))
	capture := filepath.Join(dir, "out.txtar")
	status, _, errs := topoTool(t, "", "--capture", capture, "--comment", "slow")
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "look through it")
	assert.Contains(t, string(read(t, capture)), "slow")
	assert.NotEmpty(t, succeed(t, "--from", capture))
	status, text, errs := topoTool(t, "", "--capture", "-")
	require.Zero(t, status, errs)
	status, _, errs = topoTool(t, text, "--from", "-", "--json")
	assert.Zero(t, status, errs)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}

func TestFrom(t *testing.T) {
	file := dgx(t)
	out := succeed(t, "--from", file)
	assert.Contains(t, out, "GPU0\t X \tNV12")
	assert.Contains(t, out, "\nNIC Legend:\n")
	assert.NotContains(t, out, "Not known", "a file is not asked for what it does not tell")
	assert.Contains(t, succeed(t, "--from", file, "--pci"), "GPU0\t X \tPXB")

	var doc struct{ Schema string }
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "--from", file, "--json")), &doc))
	assert.Equal(t, topo.DocumentSchema, doc.Schema)
	assert.Contains(t, succeed(t, "--from", file, "--nccl-xml"), "<system")
	for _, name := range []string{"x.svg", "x.dot"} {
		to := filepath.Join(t.TempDir(), name)
		assert.Empty(t, succeed(t, "--from", file, "-o", to))
		assert.NotEmpty(t, read(t, to))
	}

	// What the tool prints, it reads.
	status, again, errs := topoTool(t, out, "--from", "-")
	require.Zero(t, status, errs)
	assert.Equal(t, strings.SplitN(out, "\n\n", 2)[0], strings.SplitN(again, "\n\n", 2)[0])
}

func TestExplain(t *testing.T) {
	file := dgx(t)
	out := succeed(t, "--from", file, "--explain", "GPU0")
	assert.Contains(t, out, "node 3, CPUs 48-63,176-191")
	assert.Contains(t, out, "* mlx5_0 ")
	assert.Contains(t, out, "PIX, for NCCL PIX")
	assert.Contains(t, out, "Another is nearer or faster")
	gpu := succeed(t, "--from", file, "--explain", "0000:07:00.0")
	assert.Contains(t, gpu, "Paths:")
	hca := succeed(t, "--from", file, "--explain", "mlx5_0")
	assert.Contains(t, hca, "Port 1: ACTIVE, 200 Gb/s, InfiniBand")
	assert.Contains(t, hca, "* GPU0 ")
}

func TestPlan(t *testing.T) {
	out := succeed(t, "--from", dgx(t), "--plan", "8")
	assert.Regexp(t, `(?m)^0 +GPU0 +mlx5_0 +3 +48-63,176-191$`, out)
	assert.Regexp(t, `(?m)^7 +GPU7 +mlx5_\d +5 +80-95,208-223$`, out)
}

func TestNCCLEnvIsAScript(t *testing.T) {
	for line := range strings.Lines(succeed(t, "--from", dgx(t), "--nccl-env")) {
		assert.Regexp(t, `^(# .+|export NCCL_[A-Z_]+=\S+)\n$`, line)
	}
	assert.Equal(t, `'a b'`, shellQuote("a b"))
	assert.Equal(t, `'it'\''s'`, shellQuote("it's"))
	assert.Equal(t, `''`, shellQuote(""))
	assert.Equal(t, "=mlx5_0:1,mlx5_1", shellQuote("=mlx5_0:1,mlx5_1"))
}

// Every mistake is one line, with the right status.
func TestMistakes(t *testing.T) {
	file := dgx(t)
	other := filepath.Join(t.TempDir(), "other.txt")
	require.NoError(t, os.WriteFile(other, []byte("package main\n"), 0o644))
	for _, c := range []struct {
		status int
		args   []string
		words  []string
	}{
		{exitUsage, []string{"--fast"}, []string{"--fast", "--help"}},
		{exitUsage, []string{"matrix"}, []string{`"matrix" is no flag`}},
		{exitUsage, []string{"--plan", "0"}, []string{"--plan 0", "1 or more"}},
		{exitUsage, []string{"--plan", "x"}, []string{"--plan"}},
		{exitUsage, []string{"--json", "--nccl-env"}, []string{"--nccl-env and --json", "one of them"}},
		{exitUsage, []string{"-o", "x.png"}, []string{".svg or .dot"}},
		{exitUsage, []string{"--capture", "x", "--from", file}, []string{"--from"}},
		{exitUsage, []string{"--comment", "x"}, []string{"--capture"}},
		{exitUsage, []string{"exec"}, []string{"needs a program"}},
		{exitUsage, []string{"exec", "--rank", "2", "--ranks", "2", "--", "true"}, []string{"0 to 1"}},
		{exitUsage, []string{"exec", "--from", file, "--", "true"}, []string{"--dry-run"}},
		{exitFailed, []string{"--from", "no-such-file"}, []string{"no-such-file"}},
		{exitFailed, []string{"--from", other}, []string{"other.txt", "not a description"}},
		{exitFailed, []string{"--from", file, "--explain", "GPU9"}, []string{"GPU9", "GPU7", "mlx5_0"}},
		{exitFailed, []string{"--from", file, "--plan", "9"}, []string{"9 ranks", "8 GPUs"}},
		{exitFailed, []string{"--from", file, "-o", filepath.Join("no-such-folder", "x.svg")}, []string{"no-such-folder"}},
	} {
		status, out, errs := topoTool(t, "", c.args...)
		assert.Equal(t, c.status, status, "%v", c.args)
		assert.Empty(t, out, "%v", c.args)
		assert.Equal(t, 1, strings.Count(errs, "\n"), "%v: %s", c.args, errs)
		assert.True(t, strings.HasPrefix(errs, "topo: "), errs)
		for _, word := range c.words {
			assert.Contains(t, errs, word, "%v", c.args)
		}
	}
	status, out, errs := topoTool(t, "", "--help")
	assert.Zero(t, status)
	assert.Empty(t, errs)
	assert.Contains(t, out, "topo --explain GPU0")
}
