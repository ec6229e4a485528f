package topo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
	"github.com/gofabric/gofabric/internal/testutil"
)

// The machines in testdata/machines are real ones, written down in the form of a
// capture. Beside the machine each file holds the right answers, "expect", one a
// line; each kind of answer is a subtest. "originals" names a file that the same
// answers are asked of when GOFABRIC_TOPOLOGY_FIXTURES points at the folder with
// the originals, and which kinds it can answer.
const machines = "testdata/machines"

func machine(t testing.TB, name string) archive {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(machines, name+".txtar"))
	require.NoError(t, err)
	return parseArchive(data)
}

func machineNames(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(machines, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".txtar")
	}
	return files
}

func TestMachines(t *testing.T) {
	for _, name := range machineNames(t) {
		t.Run(name, func(t *testing.T) {
			a := machine(t, name)
			s, format, err := Parse(a.format())
			require.Equal(t, FormatCapture, format)
			askAll(t, s, err, a, nil)
		})
	}
}

func TestMachinesOriginals(t *testing.T) {
	dir := os.Getenv("GOFABRIC_TOPOLOGY_FIXTURES")
	if dir == "" {
		testutil.Skip(t, "GOFABRIC_TOPOLOGY_FIXTURES does not name the folder with the originals")
	}
	for _, name := range machineNames(t) {
		a := machine(t, name)
		text, ok := a.file("originals")
		if !ok {
			continue // the original has no form that a program reads
		}
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(string(text))
			s, err := original(t, filepath.Join(dir, words[0]))
			askAll(t, s, err, a, words[1:])
		})
	}
}

func original(t *testing.T, file string) (*System, error) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	if filepath.Base(file) != "sysfs-listing.txt" {
		s, _, err := Parse(data)
		return s, err
	}
	var lines []string
	for _, line := range strings.Split(strings.ReplaceAll(string(data), "\x00", ""), "\n") {
		if !strings.Contains(line, "/counters/") && !strings.Contains(line, "/hw_counters/") {
			lines = append(lines, line)
		}
	}
	tree, err := sysfs.ParseTree(strings.Join(lines, "\n"))
	require.NoError(t, err)
	return Read(tree, ReadOptions{})
}

// askAll asks each kind of answer that the file expects, or those of only.
func askAll(t *testing.T, s *System, err error, a archive, only []string) {
	text, ok := a.file("expect")
	require.True(t, ok, "the machine has no right answers")
	kinds, asked := map[string][][]string{}, []string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		kind := words[0]
		if kinds[kind] == nil {
			asked = append(asked, kind)
		}
		kinds[kind] = append(kinds[kind], words[1:])
	}
	if kinds["refused"] == nil && kinds["warn"] == nil {
		asked = append(asked, "warn") // none, then
	}
	count := 0
	for _, kind := range asked {
		if only != nil && !slices.Contains(only, kind) {
			continue
		}
		count++
		t.Run(kind, func(t *testing.T) {
			// For the table of .ci/topo-fixtures: our answer is this one if the
			// test passes.
			for _, words := range kinds[kind] {
				t.Logf("right answer: %s", strings.Join(words, " "))
			}
			if kind == "refused" {
				var invalid *InvalidError
				require.ErrorAs(t, err, &invalid)
				assert.Equal(t, kinds[kind][0][0], invalid.Device)
				assert.NotEmpty(t, invalid.Reason)
				return
			}
			require.NoError(t, err)
			if kind == "matrix" {
				askMatrix(t, s, a, kinds[kind])
				return
			}
			ask(t, s, kind, kinds[kind])
		})
	}
	require.NotZero(t, count)
}

func ask(t *testing.T, s *System, kind string, lines [][]string) {
	if kind == "warn" {
		askWarnings(t, s, lines)
		return
	}
	for _, words := range lines {
		switch kind {
		case "paths":
			askPaths(t, s, words, func(a, b Endpoint) string { p, _ := s.Path(a, b); return p.String() })
		case "pci":
			askPaths(t, s, words, func(a, b Endpoint) string { p, _ := s.PCIPath(a, b); return p.String() })
		case "nccl":
			askPaths(t, s, words, func(a, b Endpoint) string { p, _ := s.NCCLPath(a, b); return p.String() })
		case "best":
			g := find(t, s, words[0]).(*GPU)
			assert.Equal(t, words[1:], bestOf(t, s.HCAsFor(g)), "HCAs for %s", words[0])
		case "gpus":
			h := find(t, s, words[0]).(*HCA)
			assert.Equal(t, words[1:], bestOf(t, s.GPUsFor(h)), "GPUs for %s", words[0])
		case "plan":
			askPlan(t, s, words)
		case "node":
			node := find(t, s, words[0]).numa()
			assert.Equal(t, words[1], nodeText(node), "%s: %s", words[0], node.From)
		case "cpus":
			assert.Equal(t, words[1], s.CPUsFor(find(t, s, words[0])).CPUs.String(), words[0])
		default:
			askCount(t, s, kind, words)
		}
	}
}

// askMatrix compares with what nvidia-smi printed on the machine itself.
func askMatrix(t *testing.T, s *System, a archive, lines [][]string) {
	for _, words := range lines {
		want, ok := a.file(words[0])
		require.True(t, ok, words[0])
		var b bytes.Buffer
		require.NoError(t, s.Matrix(&b, MatrixOptions{PCI: len(words) > 1}))
		assert.Equal(t, strings.TrimRight(string(want), "\n"), strings.TrimRight(stripEscapes(b.String()), "\n"), words[0])
	}
}

func askCount(t *testing.T, s *System, kind string, words []string) {
	switch kind {
	case "compute-nodes":
		assert.Equal(t, words[0], strconv.Itoa(s.ComputeNodes()))
	case "hcas":
		assert.Equal(t, words[0], strconv.Itoa(len(s.HCAs)))
	case "node-cpus":
		id, err := strconv.Atoi(words[0])
		require.NoError(t, err)
		n, ok := s.Node(id)
		require.True(t, ok, "node %d", id)
		require.True(t, n.CPUsKnown)
		if words[1] == "none" {
			assert.True(t, n.MemoryOnly())
		} else {
			assert.Equal(t, words[1], n.CPUs.String())
		}
	case "memory-node":
		g := find(t, s, words[0]).(*GPU)
		require.NotNil(t, g.MemoryNode)
		assert.Equal(t, words[1], strconv.Itoa(*g.MemoryNode))
	case "link":
		d, ok := s.Device(Address(words[0]))
		require.True(t, ok)
		assert.Equal(t, words[1], number(d.Link.MaxSpeed))
		assert.Equal(t, words[2], strconv.Itoa(d.Link.MaxWidth))
	case "port":
		p := portOf(t, s, words)
		assert.Equal(t, words[2:], []string{string(p.State), string(p.LinkLayer), number(p.RateGbps)})
	case "gid":
		assert.Equal(t, words[2:], strings.Fields(strings.Trim(fmt.Sprint(routableGIDs(portOf(t, s, words))), "[]")))
	default:
		assert.Fail(t, "a machine expects an unknown kind of answer", kind)
	}
}

func portOf(t *testing.T, s *System, words []string) Port {
	t.Helper()
	for _, p := range find(t, s, words[0]).(*HCA).Ports {
		if strconv.Itoa(p.Number) == words[1] {
			return p
		}
	}
	require.Fail(t, "no such port", words)
	return Port{}
}

func askPaths(t *testing.T, s *System, words []string, path func(a, b Endpoint) string) {
	a := find(t, s, words[0])
	for _, pair := range words[1:] {
		name, want, ok := strings.Cut(pair, "=")
		require.True(t, ok, pair)
		b := find(t, s, name)
		assert.Equal(t, want, path(a, b), "%s to %s", words[0], name)
		assert.Equal(t, want, path(b, a), "%s to %s", name, words[0])
	}
}

func askPlan(t *testing.T, s *System, words []string) {
	plan, err := s.Plan(len(s.GPUs))
	require.NoError(t, err)
	for _, r := range plan.Ranks {
		if r.GPU.Label() != words[0] {
			continue
		}
		var names []string
		for _, h := range r.HCAs {
			names = append(names, h.Name)
		}
		assert.Equal(t, words[1:], names, r.Explain())
		assert.NotEmpty(t, r.Explain())
		return
	}
	assert.Fail(t, "no rank has the GPU", words[0])
}

// askWarnings wants exactly the warnings that are listed; "-" is any device.
func askWarnings(t *testing.T, s *System, lines [][]string) {
	left := slices.Clone(s.Warnings)
	for _, words := range lines {
		i := slices.IndexFunc(left, func(w Warning) bool {
			return string(w.Code) == words[0] && (words[1] == "-" || w.Device == words[1])
		})
		if assert.GreaterOrEqual(t, i, 0, "no warning %v", words) {
			assert.NotEmpty(t, left[i].Text)
			left = slices.Delete(left, i, i+1)
		}
	}
	for _, w := range left {
		assert.Fail(t, "a warning too many", "%s %s: %s", w.Code, w.Device, w.Text)
	}
}

func bestOf(t *testing.T, choices []Choice) []string {
	t.Helper()
	var names []string
	for _, c := range choices {
		assert.Contains(t, c.Explain(), c.Device.Label())
		if c.Best {
			names = append(names, c.Device.Label())
		}
	}
	return names
}

func find(t testing.TB, s *System, label string) Endpoint {
	t.Helper()
	e, err := s.Find(label)
	require.NoError(t, err)
	return e
}

// TestMachinesAreComplete keeps the folder from shrinking unseen.
func TestMachinesAreComplete(t *testing.T) {
	assert.GreaterOrEqual(t, len(machineNames(t)), 23)
	for _, name := range machineNames(t) {
		a := machine(t, name)
		assert.True(t, strings.HasPrefix(string(a.comment), captureHead+"\n"), name)
		_, ok := a.file("expect")
		assert.True(t, ok, "%s has no right answers", name)
	}
}
