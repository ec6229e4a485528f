package topo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// boxKind says what a box of a picture stands for.
type boxKind string

const (
	boxRoot     boxKind = "root"
	boxSwitch   boxKind = "switch"
	boxGPU      boxKind = "gpu"
	boxHCA      boxKind = "hca"
	boxNetdev   boxKind = "netdev"
	boxNVSwitch boxKind = "nvswitch"
	boxOther    boxKind = "other"
)

// box is a device or a bridge, with what hangs below it.
type box struct {
	kind     boxKind
	id       string // an address or a name, one of its kind in the picture
	title    string
	lines    []boxLine
	link     string // the PCIe link towards the box above, "" where not known
	bad      bool   // the link is degraded
	children []*box
}

type boxLine struct {
	text string
	bad  bool
}

// column is a NUMA node.
type column struct {
	title  string
	lines  []string
	boxes  []*box
	memory bool // it has no CPUs
}

// picture is a machine as it is drawn, before anything has a place on paper.
type picture struct {
	title    string
	subtitle string
	columns  []*column
	empty    []string // NUMA nodes without devices, where others have some
	fabric   fabric
	warnings []string
}

// fabric is what NVLinks join.
type fabric struct {
	all   Path // the one path between every pair of GPUs, PathUnknown where there is none
	pairs []fabricPair
}

type fabricPair struct {
	a, b string
	path Path
}

// painter makes a picture of a machine.
type painter struct {
	s        *System
	degraded map[string]bool // by address or name
	boxes    map[Address]*box
	columns  map[int]*column
	extra    []*column // of nodes that the machine does not list, and of none
}

// mostWarnings stand below a picture; a list of all is no drawing.
const mostWarnings = 8

// unknownNode is no node's number: the column of devices whose node is not known.
const unknownNode = -1

func newPicture(s *System) *picture {
	p := &painter{s: s, degraded: make(map[string]bool), boxes: make(map[Address]*box), columns: make(map[int]*column)}
	pic := &picture{title: "Topology from " + dash(s.Source), subtitle: hostWords(s.Host)}
	for i, w := range s.Warnings {
		if w.Code == WarnDegradedLink || w.Code == WarnSlotLimit {
			p.degraded[w.Device] = true
		}
		text := w.Text
		if w.Device != "" && !strings.Contains(text, w.Device) {
			text = w.Device + ": " + text
		}
		if i == mostWarnings {
			text = fmt.Sprintf("and %d more warnings", len(s.Warnings)-i)
		}
		if i <= mostWarnings {
			pic.warnings = append(pic.warnings, text)
		}
	}
	for _, n := range s.Nodes {
		c := &column{title: "NUMA node " + strconv.Itoa(n.ID)}
		switch {
		case n.MemoryOnly():
			c.memory = true
			c.lines = append(c.lines, p.memoryOf(n.ID))
		case n.CPUsKnown:
			c.lines = append(c.lines, "CPUs "+n.CPUs.String())
		}
		if n.Memory != nil {
			c.lines = append(c.lines, memoryText(n))
		}
		p.columns[n.ID] = c
		pic.columns = append(pic.columns, c)
	}
	p.devices()
	pic.columns = append(pic.columns, p.extra...)
	pic.setEmptyAside()
	pic.fabric = p.fabric()
	return pic
}

// memoryOf says whose memory a node without CPUs is.
func (p *painter) memoryOf(id int) string {
	var names []string
	for _, g := range p.s.GPUs {
		if g.MemoryNode != nil && *g.MemoryNode == id {
			names = append(names, g.Label())
		}
	}
	if len(names) == 0 {
		return "no CPUs: memory only"
	}
	return "no CPUs: memory of " + joinWords(names)
}

// setEmptyAside keeps columns for the nodes that have something in them.
func (pic *picture) setEmptyAside() {
	full := slices.DeleteFunc(slices.Clone(pic.columns), func(c *column) bool { return len(c.boxes) == 0 })
	if len(full) == 0 {
		return
	}
	for _, c := range pic.columns {
		if len(c.boxes) == 0 {
			lines := c.lines
			if !c.memory {
				lines = append(lines, "no GPU or HCA")
			}
			pic.empty = append(pic.empty, c.title+": "+strings.Join(lines, ", "))
		}
	}
	pic.columns = full
}

func hostWords(h Host) string {
	var words []string
	for _, w := range []string{h.CPU.Arch, h.CPU.Vendor} {
		if w != "" {
			words = append(words, w)
		}
	}
	if h.Virtual != "" {
		words = append(words, "virtual machine ("+h.Virtual+")")
	}
	if h.Container != "" {
		words = append(words, "container ("+h.Container+")")
	}
	if h.Flat {
		words = append(words, "PCIe switches are hidden: who shares one cannot be told")
	}
	return strings.Join(words, ", ")
}

// devices puts everything worth drawing into the columns: GPUs, RDMA devices,
// interfaces of their own, NVSwitches, and whatever has a degraded link.
func (p *painter) devices() {
	for _, g := range p.s.GPUs {
		p.place(p.gpu(g), g.PCI, g.NUMA)
	}
	for _, h := range p.s.HCAs {
		p.place(p.hca(h), firstAddress(h.PCI), h.NUMA)
	}
	for _, n := range p.s.Netdevs {
		if n.PCI != "" && len(n.RDMA) == 0 && !p.isHCA(n.PCI) {
			p.place(&box{kind: boxNetdev, id: n.Name, title: n.Name, lines: []boxLine{{text: string(n.PCI)}}}, n.PCI, n.NUMA)
		}
	}
	for _, d := range p.s.PCI {
		switch {
		case d.Vendor == vendorNVIDIA && d.Class.Base() == 0x0680, d.Name == nvswitchName:
			p.place(&box{kind: boxNVSwitch, id: string(d.Address), title: "NVSwitch", lines: []boxLine{{text: string(d.Address)}}}, d.Address, d.NUMA)
		case p.drawn(d.Address) || d.Bridge != NotBridge:
		case p.degraded[string(d.Address)], d.Class == 0 && p.s.Source == string(FormatNCCL):
			b := &box{kind: boxOther, id: string(d.Address), title: "PCI function", lines: []boxLine{{text: string(d.Address)}}}
			if d.Name != "" {
				b.lines = append(b.lines, boxLine{text: shortName(d.Name)})
			}
			p.place(b, d.Address, d.NUMA)
		}
	}
}

func (p *painter) isHCA(a Address) bool {
	return slices.ContainsFunc(p.s.HCAs, func(h *HCA) bool { return slices.Contains(h.PCI, a) })
}

func (p *painter) drawn(a Address) bool {
	return p.isHCA(a) ||
		slices.ContainsFunc(p.s.GPUs, func(g *GPU) bool { return g.PCI == a }) ||
		slices.ContainsFunc(p.s.Netdevs, func(n *Netdev) bool { return n.PCI == a })
}

func (p *painter) gpu(g *GPU) *box {
	b := &box{kind: boxGPU, id: g.Label(), title: g.Label()}
	if g.PCI != "" {
		b.lines = append(b.lines, boxLine{text: string(g.PCI)})
	}
	if g.Name != "" {
		b.lines = append(b.lines, boxLine{text: shortName(g.Name)})
	}
	if n := nvlinkWord(g); n != "" {
		b.lines = append(b.lines, boxLine{text: n + " NVLinks"})
	}
	return b
}

func (p *painter) hca(h *HCA) *box {
	b := &box{kind: boxHCA, id: h.Name, title: h.Name}
	if h.Kind != KindUnknown && h.Kind != KindPF {
		b.title += " (" + string(h.Kind) + ")"
	}
	if h.Management {
		b.title += " (fabric management)"
	}
	if len(h.PCI) > 0 {
		b.lines = append(b.lines, boxLine{text: joinAddresses(h.PCI)})
	}
	if len(h.PCI) > 0 && h.Name == string(h.PCI[0]) {
		b.title = "RDMA device"
	}
	for _, port := range h.Ports {
		usable, known := port.Usable()
		b.lines = append(b.lines, boxLine{text: portWords(port), bad: known && !usable})
	}
	if len(h.PCI) == 0 {
		if near := p.nearTo(h); near != "" {
			b.lines = append(b.lines, boxLine{text: near})
		}
	}
	return b
}

// shortName cuts what a database of PCI names says to what fits a box.
func shortName(name string) string {
	for _, vendor := range []string{"NVIDIA Corporation ", "NVIDIA "} {
		name = strings.TrimPrefix(name, vendor)
	}
	const most = 34
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return name
}

func portWords(port Port) string {
	words := []string{"port " + strconv.Itoa(port.Number)}
	if port.State != "" {
		words = append(words, string(port.State))
	}
	if port.RateGbps > 0 {
		words = append(words, number(port.RateGbps)+" Gb/s")
	}
	if port.LinkLayer != "" {
		words = append(words, string(port.LinkLayer))
	}
	return strings.Join(append(words, port.Netdevs...), " ")
}

// nearTo names the GPUs on the shortest path of an HCA that has no place in the
// tree, where a tool told that it is within a switch.
func (p *painter) nearTo(h *HCA) string {
	best := PathUnknown
	var names []string
	for _, g := range p.s.GPUs {
		path, _ := p.s.Path(g, h)
		switch {
		case path == PathUnknown || best.Closer(path):
		case path == best:
			names = append(names, g.Label())
		default:
			best, names = path, []string{g.Label()}
		}
	}
	if best != PIX && best != PXB && best != PHB {
		return ""
	}
	return best.String() + " to " + strings.Join(names, ", ")
}

// place hangs a box below its switch, its host bridge or its NUMA node.
func (p *painter) place(b *box, a Address, node NUMA) {
	d, ok := p.s.Device(a)
	if !ok {
		c := p.column(node)
		c.boxes = append(c.boxes, b)
		return
	}
	b.bad = p.degraded[string(a)] || p.degraded[b.id]
	b.link = drawnLink(d.Link, b.bad)
	p.hang(b, d, node)
}

func (p *painter) hang(b *box, d *PCIDevice, node NUMA) {
	for _, up := range p.s.bridgesAbove(d.Address) {
		if up.Bridge == RootPort || up.Bridge == SwitchDownstream {
			continue
		}
		above := p.boxes[up.Address]
		if above == nil {
			above = p.bridge(up)
			p.boxes[up.Address] = above
			p.hang(above, up, orNUMA(up.NUMA, node))
		}
		above.children = append(above.children, b)
		return
	}
	c := p.column(orNUMA(node, d.NUMA))
	root := p.s.root(d)
	if root == "" {
		c.boxes = append(c.boxes, b)
		return
	}
	for _, r := range c.boxes {
		if r.kind == boxRoot && r.id == root {
			r.children = append(r.children, b)
			return
		}
	}
	c.boxes = append(c.boxes, &box{kind: boxRoot, id: root, title: "host bridge " + root, children: []*box{b}})
}

func orNUMA(a, b NUMA) NUMA {
	if a.Node != nil {
		return a
	}
	return b
}

func (p *painter) bridge(d *PCIDevice) *box {
	title := "PCIe switch"
	if d.Bridge == PlainBridge {
		title = "PCI bridge"
	}
	b := &box{kind: boxSwitch, id: string(d.Address), title: title, lines: []boxLine{{text: string(d.Address)}}}
	b.bad = p.degraded[string(d.Address)]
	b.link = drawnLink(d.Link, b.bad)
	return b
}

func (p *painter) column(node NUMA) *column {
	id, ok := node.Known()
	if !ok {
		id = unknownNode
	}
	if c := p.columns[id]; c != nil {
		return c
	}
	c := &column{title: "NUMA node " + strconv.Itoa(id), lines: []string{"not listed by the machine"}}
	if !ok {
		c = &column{title: "NUMA node not known"}
	}
	p.columns[id] = c
	p.extra = append(p.extra, c)
	return c
}

// drawnLink writes a link with its rate. A healthy link is drawn with what it can
// do: a GPU at rest lowers its speed.
func drawnLink(l Link, bad bool) string {
	speed, width := l.MaxSpeed, l.MaxWidth
	if speed == 0 || bad && l.Speed > 0 {
		speed = l.Speed
	}
	if width == 0 || bad && l.Width > 0 {
		width = l.Width
	}
	text := speedWords(speed, width)
	if rate, ok := gbps(speed, width); ok {
		text += fmt.Sprintf(", %.1f GB/s", rate)
	}
	if most := speedWords(l.MaxSpeed, l.MaxWidth); bad && most != "" && most != speedWords(speed, width) {
		text += " of " + most
	}
	return text
}

// fabric finds what NVLinks join.
func (p *painter) fabric() fabric {
	var f fabric
	gpus := p.s.GPUs
	same := len(gpus) > 1
	for i, a := range gpus {
		for _, b := range gpus[i+1:] {
			path, _ := p.s.Path(a, b)
			if _, ok := path.NVLinks(); ok {
				f.pairs = append(f.pairs, fabricPair{a: a.Label(), b: b.Label(), path: path})
			}
		}
	}
	same = same && len(f.pairs) == len(gpus)*(len(gpus)-1)/2
	for _, pair := range f.pairs {
		same = same && pair.path == f.pairs[0].path
	}
	if same {
		f.all = f.pairs[0].path
	}
	return f
}

// words says what the fabric is, a line for each number of links.
func (f fabric) words(gpus int) []string {
	if n, ok := f.all.NVLinks(); ok {
		return []string{fmt.Sprintf("NVLink: each of the %d GPUs reaches every other over %d links (%s)", gpus, n, f.all)}
	}
	byPath := make(map[Path][]string)
	var paths []Path
	for _, pair := range f.pairs {
		if byPath[pair.path] == nil {
			paths = append(paths, pair.path)
		}
		byPath[pair.path] = append(byPath[pair.path], pair.a+"-"+pair.b)
	}
	slices.SortFunc(paths, func(a, b Path) int { return int(b) - int(a) })
	lines := make([]string, len(paths))
	for i, path := range paths {
		lines[i] = "NVLink " + path.String() + ": " + strings.Join(byPath[path], ", ")
	}
	return lines
}
