package topo

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
)

const matrixSample = "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n" +
	"GPU0\t X \tNV18\tPIX\tSYS\t0-31,64-95\t0\t\tN/A\n" +
	"GPU1\tNV18\t X \tSYS\tNODE\t\t1\t\t10\n" +
	"NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t\n" +
	"NIC1\tSYS\tNODE\tSYS\t X \t\t\t\t\n" +
	"\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: rocep49s0\n\n"

const matrixOldSample = "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\n" +
	"GPU0\t X \tSOC\tPHB\t0-7\n" +
	"GPU1\tSOC\t X \tPHB\t8-15\n" +
	"mlx5_0\tPHB\tPHB\t X \t\n"

const matrixSpacesSample = `        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NODE    PIX     0-31    0               N/A
GPU1    NODE     X      NODE    32-63   N/A             N/A
NIC0    PIX     NODE     X

NIC Legend:

  NIC0: mlx5_bond_0
`

func TestMatrixText(t *testing.T) {
	s := parseAs(t, FormatMatrix, matrixSample)
	require.Len(t, s.GPUs, 2)
	g := s.GPUs[0]
	assert.Equal(t, "0-31,64-95", g.StatedCPUs.String())
	assert.Equal(t, ref(0), g.StatedNode, "node 0 is a node")
	assert.Nil(t, g.MemoryNode)
	assert.Nil(t, s.GPUs[1].StatedCPUs, "an empty cell is unknown")
	assert.Equal(t, ref(1), s.GPUs[1].StatedNode)
	assert.Equal(t, ref(10), s.GPUs[1].MemoryNode)
	require.Len(t, s.HCAs, 2)
	assert.Equal(t, "rocep49s0", s.HCAs[1].Name)
	assert.Equal(t, ref(1), s.HCAs[1].StatedNode, "NODE to a GPU of node 1")
	p, _ := s.Path(s.GPUs[0], s.GPUs[1])
	assert.Equal(t, NV(18), p)
	p, _ = s.Path(s.GPUs[1], s.HCAs[1])
	assert.Equal(t, NODE, p)
}

func TestMatrixTextOfOldVersions(t *testing.T) {
	s := parseAs(t, FormatMatrix, matrixOldSample)
	assert.Equal(t, "mlx5_0", s.HCAs[0].Name)
	assert.Equal(t, "8-15", s.GPUs[1].StatedCPUs.String())
	_, known := s.GPUs[1].NUMA.Known()
	assert.False(t, known, "there is no column for it")
	p, _ := s.Path(s.GPUs[0], s.GPUs[1])
	assert.Equal(t, SYS, p, "SOC is the old word")
}

func TestMatrixTextWithSpaces(t *testing.T) {
	s := parseAs(t, FormatMatrix, matrixSpacesSample)
	assert.Equal(t, ref(0), s.GPUs[0].StatedNode)
	assert.Equal(t, "32-63", s.GPUs[1].StatedCPUs.String())
	assert.Equal(t, ref(0), s.GPUs[1].StatedNode, "N/A, but NODE to a GPU of node 0")
	assert.Equal(t, "mlx5_bond_0", s.HCAs[0].Name)
}

func TestMatrixTextWithoutNUMA(t *testing.T) {
	s := parseAs(t, FormatMatrix, "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-7\t\tN/A\t\tN/A\n")
	assert.Equal(t, "0-7", s.GPUs[0].StatedCPUs.String())
	assert.Nil(t, s.GPUs[0].StatedNode, "N/A is unknown, and not 0")
	assert.Equal(t, "GPU0\t X \t0-7\t\tN/A\t\tN/A", strings.Split(matrixText(t, s), "\n")[1])
}

func TestMatrixTextWithARangeOfNodes(t *testing.T) {
	s := parseAs(t, FormatMatrix, "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0,64\t0-3\n")
	assert.Nil(t, s.GPUs[0].StatedNode, "four nodes are not one")
}

func TestMatrixTextWithAMapping(t *testing.T) {
	s := parseAs(t, FormatMatrix, "\tGPU0\tNIC0\tNIC1\nGPU0\tX\tNODE\tSYS\n\nNIC mapping: NIC0=mlx5_0 (NUMA 0), NIC1=mlx5_1 (NUMA 1)\n")
	assert.Equal(t, ref(0), s.GPUs[0].StatedNode)
	assert.Equal(t, ref(1), s.HCAs[1].StatedNode)
	p, _ := s.Path(s.HCAs[0], s.HCAs[1])
	assert.Equal(t, SYS, p, "the rows of NICs may be missing")
}

func TestMatrixTextRefuses(t *testing.T) {
	for name, change := range map[string][2]string{
		"cut off":    {"GPU1\tNV18\t X \tSYS\tNODE\t\t1\t\t10\n", ""},
		"short row":  {"GPU1\tNV18\t X \tSYS\tNODE\t\t1\t\t10\n", "GPU1\tNV18\t X \n"},
		"word":       {"PIX\tSYS\t0-31", "PIZ\tSYS\t0-31"},
		"X outside":  {"NV18\tPIX", " X \tPIX"},
		"no X":       {"GPU0\t X ", "GPU0\tSYS"},
		"two ways":   {"NIC0\tPIX", "NIC0\tPXB"},
		"two rows":   {"NIC0\tPIX", "GPU0\tPIX"},
		"CPUs":       {"0-31,64-95", "some"},
		"same names": {"NIC1: rocep49s0", "NIC1: mlx5_0"},
	} {
		text := strings.Replace(matrixSample, change[0], change[1], 1)
		require.NotEqual(t, matrixSample, text, name)
		_, format, err := Parse([]byte(text))
		assert.Equal(t, FormatMatrix, format, name)
		assert.Error(t, err, name)
	}
}

func matrixText(t *testing.T, s *System) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.Matrix(&b, MatrixOptions{}))
	return b.String()
}

func TestMatrixIsWhatItWasReadFrom(t *testing.T) {
	s := parseAs(t, FormatMatrix, matrixSample)
	var b bytes.Buffer
	require.NoError(t, s.Matrix(&b, MatrixOptions{Escapes: true, NoLegend: true}))
	want, _, _ := strings.Cut(matrixSample, "\nLegend")
	assert.Equal(t, want, b.String())
}

func TestMatrixOptions(t *testing.T) {
	s := dgxA100(t)
	var b bytes.Buffer
	require.NoError(t, s.Matrix(&b, MatrixOptions{PCI: true}))
	assert.NotContains(t, b.String(), "NV")
	assert.Contains(t, b.String(), "GPU0\t X \tPXB\tSYS")
	assert.Contains(t, matrixText(t, s), "  NV#  = ")
}

func TestMatrixExplainsItsOwnWords(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	m.node(1, "4-7")
	m.gpu("pci0000:00", "0000:01:00.0", Link{}, nil)
	m.hca("pci0000:10", "0000:11:00.0", "mlx5_0", Link{}, nil)
	text := matrixText(t, m.finish())
	assert.Contains(t, text, "GPU0\t X \t?\t\t\t\tN/A\n")
	assert.Contains(t, text, "  ?    = Not known\n")
	assert.Contains(t, matrixText(t, parseAs(t, FormatNCCL,
		`<system version="1"><cpu numaid="0"><pci busid="1:00.0" class="0x03"/><pci busid="2:00.0" class="0x02"/></cpu></system>`)),
		"  PHB/NODE = ")
}

func TestMatrixWithoutGPUsReadsBack(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	m.hca("pci0000:10", "0000:11:00.0", "mlx5_0", Link{}, ref(0))
	m.hca("pci0000:10", "0000:12:00.0", "mlx5_1", Link{}, ref(0))
	s := parseAs(t, FormatMatrix, matrixText(t, m.finish()))
	p, _ := s.Path(s.HCAs[0], s.HCAs[1])
	assert.Equal(t, PHB, p)
}

// TestMatrixOriginals compares with what nvidia-smi printed on real machines, as a
// terminal shows it: with spaces for tabs and without those at the end of a line.
func TestMatrixOriginals(t *testing.T) {
	dir := os.Getenv("GOFABRIC_TOPOLOGY_FIXTURES")
	if dir == "" {
		testutil.Skip(t, "GOFABRIC_TOPOLOGY_FIXTURES does not name the folder with the originals")
	}
	for _, name := range []string{"asus-esc8000a-2xepyc-4xada-2xcx7", "a800-roce-4nic"} {
		data, err := os.ReadFile(filepath.Join(dir, name, "topo-m.txt"))
		require.NoError(t, err)
		s, _, err := Parse(data)
		require.NoError(t, err)
		want := strings.Split(strings.TrimRight(strings.ReplaceAll(string(data), "\r", ""), "\n"), "\n")
		got := strings.Split(strings.TrimRight(matrixText(t, s), "\n"), "\n")
		require.Len(t, got, len(want), name)
		old := !strings.Contains(want[0], columnGPUID)
		for i, line := range got {
			if old { // from before the last column
				line = strings.TrimSuffix(strings.TrimSuffix(line, columnGPUID), "N/A")
			}
			assert.Equal(t, want[i], asTerminal(line), "%s, line %d", name, i+1)
		}
	}
}

// asTerminal turns tabs into spaces up to the next eighth column.
func asTerminal(line string) string {
	var b strings.Builder
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Repeat(" ", 8-b.Len()%8))
	}
	return strings.TrimRight(b.String(), " ")
}

func FuzzParseMatrix(f *testing.F) { fuzzFormat(f, FormatMatrix) }
