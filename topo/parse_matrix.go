package topo

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	gpuLabel = regexp.MustCompile(`^GPU(\d{1,4})$`)
	nicLabel = regexp.MustCompile(`^NIC\d{1,4}$`)
	// anyLabel is what stands for a device: old versions have its name.
	anyLabel = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)
	// nicMapping is one entry of the one-line form that replaces the legend in
	// some reports: "NIC0=mlx5_0 (NUMA 0)".
	nicMapping = regexp.MustCompile(`\b(NIC\d+)=([^\s,()]+)(?:\s*\(NUMA (\d+)\))?`)
)

// The columns to the right of the matrix.
const (
	columnCPU    = "CPU Affinity"
	columnNUMA   = "NUMA Affinity"
	columnGPUID  = "GPU NUMA ID"
	maxMatrix    = 128
	matrixSource = "nvidia-smi"
)

func notMatrix(data []byte) string {
	for _, line := range textLines(data[:min(len(data), 1<<16)]) {
		if _, ok := matrixHeader(line); ok {
			return ""
		}
	}
	return "no line of GPU0, GPU1, ... with CPU Affinity or NIC columns"
}

// header is the first line of a matrix.
type header struct {
	labels  []string
	cpu     bool
	numa    bool
	gpuNUMA bool
}

// matrixHeader reads a line as a header, and false where it is none. The first
// label is GPU0, or NIC0 in our own matrix of a machine without GPUs; a row also
// begins with one, but goes on with a path.
func matrixHeader(line string) (header, bool) {
	var h header
	text := strings.TrimSpace(line)
	for _, column := range []struct {
		name string
		have *bool
	}{{columnGPUID, &h.gpuNUMA}, {columnNUMA, &h.numa}, {columnCPU, &h.cpu}} {
		if rest, ok := strings.CutSuffix(text, column.name); ok {
			*column.have = true
			text = strings.TrimSpace(rest)
		}
	}
	h.labels = strings.Fields(text)
	if len(h.labels) == 0 || !gpuLabel.MatchString(h.labels[0]) && !(h.cpu && nicLabel.MatchString(h.labels[0])) {
		return header{}, false
	}
	if !h.cpu && (len(h.labels) == 1 || !gpuLabel.MatchString(h.labels[1]) && !nicLabel.MatchString(h.labels[1])) {
		return header{}, false
	}
	seen := make(map[string]bool)
	for _, l := range h.labels {
		if _, err := ParsePath(l); err == nil || seen[l] || !anyLabel.MatchString(l) {
			return header{}, false
		}
		seen[l] = true
	}
	return h, true
}

// parseMatrix reads what nvidia-smi topo -m (or -mp) prints, of any version: with
// mlx5_N or NICn as labels, with or without the columns for NUMA, with tabs or
// with the spaces that a terminal made of them. GPUs have no PCI address in it;
// the paths are taken as told.
func parseMatrix(data []byte) (*System, error) {
	lines := textLines(data)
	m := matrixReader{s: &System{}, names: make(map[string]string), nodes: make(map[string]int), rows: make(map[string]matrixRow)}
	start := -1
	for i, line := range lines {
		if h, ok := matrixHeader(line); ok {
			m.header, start = h, i
			break
		}
	}
	if start < 0 {
		return nil, fmt.Errorf("no header line")
	}
	if len(m.header.labels) > maxMatrix {
		return nil, fmt.Errorf("line %d: %d devices are more than any machine has", start+1, len(m.header.labels))
	}
	m.legend(lines)
	for i := start + 1; i < len(lines); i++ {
		fields := strings.Fields(lines[i])
		if len(fields) == 0 || !m.isLabel(fields[0]) {
			if len(fields) == 0 && len(m.rows) == 0 {
				continue
			}
			break
		}
		if err := m.row(lines[i], fields); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	for _, label := range m.header.labels {
		// The rows of NICs repeat what the columns say, and reports leave them out.
		if _, ok := m.rows[label]; !ok && gpuLabel.MatchString(label) {
			return nil, fmt.Errorf("line %d names %s and no row follows for it: the text is cut off", start+1, label)
		}
	}
	return m.system()
}

type matrixRow struct {
	paths []Path
	cpus  string
	numa  string
	own   string // GPU NUMA ID
}

type matrixReader struct {
	s      *System
	header header
	names  map[string]string // what NICn is called
	nodes  map[string]int    // the NUMA node of NICn where a report tells it
	rows   map[string]matrixRow
}

func (m *matrixReader) isLabel(word string) bool {
	for _, l := range m.header.labels {
		if l == word {
			return true
		}
	}
	return false
}

// legend finds the names of the NICs, wherever they stand.
func (m *matrixReader) legend(lines []string) {
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.HasSuffix(fields[0], ":") && nicLabel.MatchString(strings.TrimSuffix(fields[0], ":")) {
			m.names[strings.TrimSuffix(fields[0], ":")] = fields[1]
			continue
		}
		if !strings.HasPrefix(strings.TrimSpace(line), "NIC mapping:") {
			continue
		}
		for _, match := range nicMapping.FindAllStringSubmatch(line, -1) {
			m.names[match[1]] = match[2]
			if n, err := strconv.Atoi(match[3]); err == nil {
				m.nodes[match[1]] = n
			}
		}
	}
}

func (m *matrixReader) row(line string, fields []string) error {
	label := fields[0]
	if _, twice := m.rows[label]; twice {
		return fmt.Errorf("a second row %s", label)
	}
	n := len(m.header.labels)
	if len(fields) < n+1 {
		return fmt.Errorf("row %s has %d paths, the header %d devices", label, len(fields)-1, n)
	}
	var row matrixRow
	for i, word := range fields[1 : n+1] {
		path, err := ParsePath(word)
		if err != nil && word != "N/A" {
			return fmt.Errorf("row %s, column %s: %w", label, m.header.labels[i], err)
		}
		if (m.header.labels[i] == label) != (path == LOC) {
			return fmt.Errorf("row %s, column %s: X stands where a device meets itself and nowhere else", label, m.header.labels[i])
		}
		row.paths = append(row.paths, path)
	}
	if gpuLabel.MatchString(label) {
		m.affinity(&row, line, fields[n+1:])
	}
	m.rows[label] = row
	return nil
}

// affinity reads what stands right of the paths. Between tabs an empty cell can
// be seen; among spaces it can only be guessed.
func (m *matrixReader) affinity(row *matrixRow, line string, words []string) {
	h := m.header
	if strings.Contains(line, "\t") {
		cells := strings.Split(strings.Trim(line, " "), "\t")
		// The label, then a cell for each device.
		if rest := cells[1:]; len(rest) >= len(h.labels) {
			words = rest[len(h.labels):]
		}
		for i := range words {
			words[i] = strings.TrimSpace(words[i])
		}
		if len(words) > 0 && h.cpu {
			row.cpus, words = words[0], words[1:]
		}
		if h.gpuNUMA && len(words) > 1 {
			row.own, words = words[len(words)-1], words[:len(words)-1]
		}
		for _, w := range words {
			if w != "" && h.numa {
				row.numa = w
				break
			}
		}
		return
	}
	if h.gpuNUMA && len(words) > 0 {
		row.own, words = words[len(words)-1], words[:len(words)-1]
	}
	switch {
	case len(words) == 2:
		row.cpus, row.numa = words[0], words[1]
	case len(words) == 1 && (h.cpu && !h.numa || strings.ContainsAny(words[0], "-,")):
		row.cpus = words[0]
	case len(words) == 1:
		row.numa = words[0]
	}
}

// system makes the GPUs and HCAs out of the rows.
func (m *matrixReader) system() (*System, error) {
	labels := m.header.labels
	for _, label := range labels {
		row := m.rows[label]
		if g := gpuLabel.FindStringSubmatch(label); g != nil {
			index, _ := strconv.Atoi(g[1])
			if err := m.gpu(index, row); err != nil {
				return nil, fmt.Errorf("row %s: %w", label, err)
			}
			continue
		}
		h := &HCA{Name: m.name(label)}
		for _, other := range m.s.HCAs {
			if other.Name == h.Name {
				return nil, &InvalidError{Device: h.Name, Reason: "two columns have the name"}
			}
		}
		h.StatedNode = m.statedNode(label)
		m.s.HCAs = append(m.s.HCAs, h)
	}
	for i, a := range labels {
		for j := i + 1; j < len(labels); j++ {
			p, told := m.path(a, j)
			back, toldBack := m.path(labels[j], i)
			if !told {
				p = back
			}
			if told && toldBack && p != back {
				return nil, &InvalidError{Device: a + " and " + labels[j], Reason: fmt.Sprintf(
					"the matrix says %s one way and %s the other", p, back)}
			}
			if p != PathUnknown {
				m.s.Stated = append(m.s.Stated, StatedPath{A: m.name(a), B: m.name(labels[j]), Path: p, By: matrixSource})
			}
		}
	}
	return m.s, nil
}

// path is what the row of a device says in a column, and false where there is no
// such row.
func (m *matrixReader) path(label string, column int) (Path, bool) {
	row, ok := m.rows[label]
	if !ok {
		return PathUnknown, false
	}
	return row.paths[column], true
}

func (m *matrixReader) name(label string) string {
	if name, ok := m.names[label]; ok {
		return name
	}
	return label
}

func (m *matrixReader) gpu(index int, row matrixRow) error {
	g := &GPU{Index: index}
	if row.cpus != "" && row.cpus != "N/A" {
		cpus, err := ParseCPUList(row.cpus)
		if err != nil {
			return err
		}
		g.StatedCPUs = cpus
	}
	g.StatedNode = m.statedNode(g.Label())
	if own := m.node(row.own); own != nil {
		g.MemoryNode = own
	}
	m.s.GPUs = append(m.s.GPUs, g)
	return nil
}

// node reads a NUMA node, nil for N/A, for nothing and for a list of several.
func (m *matrixReader) node(text string) *int {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil
	}
	id := int(n)
	if !hasNode(m.s.Nodes, id) {
		m.s.Nodes = append(m.s.Nodes, &NUMANode{ID: id, Online: true})
	}
	return &id
}

// statedNode is the node that the text tells for a device, or that of one which
// the device shares a node with: every path but SYS stays within one.
func (m *matrixReader) statedNode(label string) *int {
	if node := m.ownNode(label); node != nil {
		return node
	}
	column := slices.Index(m.header.labels, label)
	for i, other := range m.header.labels {
		p, ok := m.path(other, column)
		if !ok {
			p, _ = m.path(label, i)
		}
		switch p {
		case PIX, PXB, PHB, NODE, PHBOrNODE:
			if node := m.ownNode(other); node != nil {
				return node
			}
		}
	}
	return nil
}

func (m *matrixReader) ownNode(label string) *int {
	if n, ok := m.nodes[label]; ok {
		return m.node(strconv.Itoa(n))
	}
	return m.node(m.rows[label].numa)
}
