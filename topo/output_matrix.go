package topo

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// MatrixOptions says how a matrix is written. The zero value is what
// nvidia-smi topo -m prints into a file.
type MatrixOptions struct {
	// Escapes underlines the header with terminal escape codes, as nvidia-smi does.
	Escapes bool
	// PCI shows the PCI paths of GPUs that NVLinks join, as nvidia-smi topo -mp.
	PCI bool
	// NoLegend leaves the explanations below the matrix out.
	NoLegend bool
}

const (
	underline = "\x1b[4m"
	plainText = "\x1b[0m"
)

// Matrix writes how all GPUs and RDMA devices of the machine reach each other,
// character by character as nvidia-smi topo -m does: tabs between the columns, X
// for the device itself, NV# for bonded NVLinks, then CPU and NUMA affinity and
// the node that a GPU's memory forms. RDMA devices are NIC0, NIC1, ... in the
// order of their names, with a legend. Two words are not nvidia-smi's and come
// with an explanation of their own: PHB/NODE, where the source does not tell
// host bridges apart, and ? where nothing is known.
func (s *System) Matrix(w io.Writer, o MatrixOptions) error {
	b := bufio.NewWriter(w)
	m := newMatrix(s, o)
	if len(m.labels) == 0 {
		b.WriteString("No GPU and no RDMA device is seen here.\n")
		return b.Flush()
	}
	m.header(b)
	for i := range m.labels {
		m.row(b, i)
	}
	if !o.NoLegend {
		m.legend(b)
	}
	return b.Flush()
}

type matrix struct {
	s       *System
	options MatrixOptions
	labels  []string
	devices []Endpoint
	paths   [][]Path
}

func newMatrix(s *System, o MatrixOptions) *matrix {
	m := &matrix{s: s, options: o}
	for _, g := range s.GPUs {
		m.labels = append(m.labels, g.Label())
		m.devices = append(m.devices, g)
	}
	for i, h := range s.HCAs {
		m.labels = append(m.labels, "NIC"+strconv.Itoa(i))
		m.devices = append(m.devices, h)
	}
	for _, a := range m.devices {
		row := make([]Path, len(m.devices))
		for j, b := range m.devices {
			if o.PCI {
				row[j], _ = s.PCIPath(a, b)
			} else {
				row[j], _ = s.Path(a, b)
			}
		}
		m.paths = append(m.paths, row)
	}
	return m
}

func (m *matrix) header(b *bufio.Writer) {
	b.WriteByte('\t')
	if m.options.Escapes {
		b.WriteString(underline)
	}
	for _, l := range m.labels {
		b.WriteString(l + "\t")
	}
	b.WriteString(columnCPU + "\t" + columnNUMA + "\t" + columnGPUID)
	if m.options.Escapes {
		b.WriteString(plainText)
	}
	b.WriteByte('\n')
}

func (m *matrix) row(b *bufio.Writer, i int) {
	b.WriteString(m.labels[i])
	for _, p := range m.paths[i] {
		if p == LOC {
			b.WriteString("\t X ")
			continue
		}
		b.WriteString("\t" + p.String())
	}
	cpus, node, own := "", "", ""
	if g, ok := m.devices[i].(*GPU); ok {
		cpus, node, own = m.s.affinity(g)
	}
	b.WriteString("\t" + cpus + "\t" + node + "\t\t" + own + "\n")
}

// affinity returns the three cells of a GPU. Where the kernel says -1 and CPUs
// are known, nvidia-smi writes N/A after one more tab; where nothing is known, it
// writes nothing.
func (s *System) affinity(g *GPU) (cpus, node, own string) {
	set := g.StatedCPUs
	id, known := g.NUMA.Known()
	if n, ok := s.Node(id); set == nil && known && ok && n.CPUsKnown {
		set = n.CPUs
		if s.Host.OnlineCPUs != nil {
			set = set.Intersect(s.Host.OnlineCPUs)
		}
	}
	cpus = set.String()
	switch {
	case known:
		node = strconv.Itoa(id)
	case cpus != "":
		node = "\tN/A"
	}
	own = "N/A"
	if g.MemoryNode != nil {
		own = strconv.Itoa(*g.MemoryNode)
	}
	return cpus, node, own
}

const matrixLegend = `
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
`

func (m *matrix) legend(b *bufio.Writer) {
	b.WriteString(matrixLegend)
	if !m.options.PCI {
		b.WriteString("  NV#  = Connection traversing a bonded set of # NVLinks\n")
	}
	if m.has(PHBOrNODE) {
		b.WriteString("  PHB/NODE = One NUMA node; the source does not tell whether one PCIe Host Bridge or several are traversed\n")
	}
	if m.has(PathUnknown) {
		b.WriteString("  ?    = Not known\n")
	}
	if len(m.s.HCAs) == 0 {
		return
	}
	b.WriteString("\nNIC Legend:\n\n")
	for i, h := range m.s.HCAs {
		fmt.Fprintf(b, "  NIC%d: %s\n", i, strings.ReplaceAll(h.Name, "\n", " "))
	}
	b.WriteByte('\n')
}

func (m *matrix) has(p Path) bool {
	for _, row := range m.paths {
		for _, q := range row {
			if p == q {
				return true
			}
		}
	}
	return false
}
