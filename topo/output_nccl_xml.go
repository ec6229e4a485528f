package topo

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// longestValue is what NCCL's reader takes as the value of an attribute.
const longestValue = 250

// NCCLXML writes the machine as a topology file for NCCL_TOPO_FILE: what NCCL
// itself would write with NCCL_TOPO_DUMP_FILE, as far as it is known here. NCCL
// fills in what is left out. As NCCL does, it makes one element of a switch,
// leaves host bridges, root ports and devices without a GPU or a NIC out, writes
// the greatest speed and width of a link and not what it runs at, and puts the
// functions of one card together. There is no XML declaration, and no comment:
// NCCL's reader takes neither kindly. Chip-to-chip links are left to NCCL, which
// asks NVML for their bandwidth.
func (s *System) NCCLXML(w io.Writer) error {
	b := bufio.NewWriter(w)
	x := newNCCLTree(s)
	b.WriteString("<system version=\"1\">\n")
	for _, cpu := range x.cpus() {
		x.writeCPU(b, cpu)
	}
	b.WriteString("</system>\n")
	return b.Flush()
}

// ncclTree is the machine reduced to what stands in NCCL's file.
type ncclTree struct {
	s        *System
	children map[Address][]Address // of a switch; of "" for none above
	gpus     map[Address]*GPU
	nets     map[Address][]ncclNet
	words    int  // of an affinity mask
	number   bool // GPUs need their numbers written
}

// ncclNet is one <net>.
type ncclNet struct {
	name string
	hca  *HCA // nil for a network interface
	port int
	mbps int
}

func newNCCLTree(s *System) *ncclTree {
	x := &ncclTree{s: s, children: make(map[Address][]Address), gpus: make(map[Address]*GPU), nets: make(map[Address][]ncclNet)}
	for _, g := range s.GPUs {
		if g.PCI != "" {
			x.gpus[g.PCI] = g
			x.add(g.PCI)
		}
	}
	for _, h := range s.HCAs {
		x.addHCA(h)
	}
	for _, n := range s.Netdevs {
		x.addNetdev(n)
	}
	for _, d := range s.PCI {
		// Such a file can leave it to NCCL to find out what a function is.
		if s.Source == string(FormatNCCL) && d.Class == 0 && d.Bridge == NotBridge {
			x.add(d.Address)
		}
	}
	x.number = x.needNumbers()
	for _, list := range x.children {
		slices.SortFunc(list, Address.Compare)
	}
	for _, n := range s.Nodes {
		if len(n.CPUs) > 0 {
			x.words = max(x.words, n.CPUs[len(n.CPUs)-1]/32+1)
		}
		x.words = max(x.words, (maskDigits(n.Mask)+7)/8)
	}
	return x
}

// add puts a function and the switches above it into the tree.
func (x *ncclTree) add(a Address) {
	if d, ok := x.s.Device(a); !ok || !d.Placed {
		return // NCCL finds its place itself
	}
	above := x.above(a)
	if slices.Contains(x.children[above], a) {
		return
	}
	x.children[above] = append(x.children[above], a)
	if above != "" {
		x.add(above)
	}
}

// above is the switch over a function in NCCL's file, "" where there is none.
func (x *ncclTree) above(a Address) Address {
	for _, b := range x.s.bridgesAbove(a) {
		if b.Bridge != RootPort && b.Bridge != SwitchDownstream {
			return b.Address
		}
	}
	return ""
}

// card is the function under which NCCL puts a device: the first of its card, and
// for a virtual function that of the physical one.
func (x *ncclTree) card(a Address) Address {
	if d, ok := x.s.Device(a); ok && d.PhysFn != "" {
		if _, ok := x.s.Device(d.PhysFn); ok {
			a = d.PhysFn
		}
	}
	first := Address(a.Slot() + ".0")
	if d, ok := x.s.Device(first); ok && x.gpus[first] == nil && d.Class>>16 == 0x02 {
		return first
	}
	return a
}

func (x *ncclTree) addHCA(h *HCA) {
	if len(h.PCI) == 0 || h.Management {
		return
	}
	place := x.card(h.PCI[0])
	x.add(place)
	if h.Name == string(h.PCI[0]) {
		return // no name but its address: NCCL knows it
	}
	if len(h.Ports) == 0 {
		x.nets[place] = append(x.nets[place], ncclNet{name: h.Name, hca: h})
	}
	for _, p := range h.Ports {
		if usable, known := p.Usable(); known && !usable {
			continue
		}
		// NCCL numbers the ports of a card, not of a device.
		number := p.Number
		for slices.ContainsFunc(x.nets[place], func(n ncclNet) bool { return n.port == number }) {
			number++
		}
		x.nets[place] = append(x.nets[place], ncclNet{name: h.Name, hca: h, port: number, mbps: int(math.Round(p.RateGbps * 1000))})
	}
}

// addNetdev adds an interface that belongs to no RDMA device: what NCCL's sockets
// use.
func (x *ncclTree) addNetdev(n *Netdev) {
	if n.PCI == "" || len(n.RDMA) > 0 || x.gpus[n.PCI] != nil {
		return
	}
	for _, h := range x.s.HCAs {
		if slices.Contains(h.PCI, n.PCI) {
			return
		}
	}
	x.add(n.PCI)
	net := ncclNet{name: n.Name}
	if n.SpeedMbps != nil {
		net.mbps = *n.SpeedMbps
	}
	x.nets[n.PCI] = append(x.nets[n.PCI], net)
}

// ncclCPU is one <cpu>.
type ncclCPU struct {
	id       int // -1 where the node is not known
	node     *NUMANode
	children []Address
}

func (x *ncclTree) cpus() []ncclCPU {
	byNode := make(map[int]*ncclCPU)
	// NCCL lists no node without CPUs. But beside devices of an unknown node, a
	// single node in the file would look like the host's only one.
	all := slices.ContainsFunc(x.children[""], func(a Address) bool { _, known := x.numa(a); return !known })
	for _, n := range x.s.Nodes {
		if all || !n.MemoryOnly() {
			byNode[n.ID] = &ncclCPU{id: n.ID, node: n}
		}
	}
	for _, a := range x.children[""] {
		id, ok := x.numa(a)
		if !ok {
			id = -1
		}
		if byNode[id] == nil {
			byNode[id] = &ncclCPU{id: id}
		}
		byNode[id].children = append(byNode[id].children, a)
	}
	list := make([]ncclCPU, 0, len(byNode))
	for _, c := range byNode {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b ncclCPU) int {
		if (a.id < 0) != (b.id < 0) {
			return b.id - a.id // the unknown one last
		}
		return a.id - b.id
	})
	return list
}

// numa is the node of a function, or of a GPU or an HCA below it where NVML knew
// what the bridge does not.
func (x *ncclTree) numa(a Address) (int, bool) {
	if d, ok := x.s.Device(a); ok {
		if id, known := d.NUMA.Known(); known {
			return id, true
		}
	}
	if g := x.gpus[a]; g != nil {
		return g.NUMA.Known()
	}
	for _, n := range x.nets[a] {
		if n.hca != nil {
			if id, known := n.hca.NUMA.Known(); known {
				return id, true
			}
		}
	}
	for _, c := range x.children[a] {
		if id, known := x.numa(c); known {
			return id, true
		}
	}
	return 0, false
}

func (x *ncclTree) writeCPU(b *bufio.Writer, c ncclCPU) {
	attrs := []string{"numaid", strconv.Itoa(c.id)}
	if c.node != nil && c.node.CPUsKnown {
		mask := c.node.CPUs.Mask()
		for n := strings.Count(mask, ",") + 1; n < x.words; n++ {
			mask = "00000000," + mask
		}
		if len(mask) <= longestValue {
			attrs = append(attrs, "affinity", mask)
		}
	}
	info := x.s.Host.CPU
	attrs = append(attrs, text("arch", info.Arch)...)
	attrs = append(attrs, text("vendor", info.Vendor)...)
	if info.Vendor != "" && info.Family != 0 {
		attrs = append(attrs, "familyid", strconv.Itoa(info.Family), "modelid", strconv.Itoa(info.Model))
	}
	writeElement(b, 1, "cpu", attrs, len(c.children) > 0, func() {
		for _, a := range c.children {
			x.writePCI(b, 2, a)
		}
	})
}

func (x *ncclTree) writePCI(b *bufio.Writer, depth int, a Address) {
	attrs := []string{"busid", string(a)}
	d, ok := x.s.Device(a)
	if ok {
		attrs = append(attrs, x.pciAttributes(d)...)
	}
	gpu, nets, children := x.gpus[a], x.nets[a], x.children[a]
	withGPU := gpu != nil && x.number
	writeElement(b, depth, "pci", attrs, withGPU || len(nets)+len(children) > 0, func() {
		if withGPU {
			x.writeGPU(b, depth+1, gpu)
		}
		if len(nets) > 0 {
			writeElement(b, depth+1, "nic", nil, true, func() {
				for _, n := range nets {
					writeElement(b, depth+2, "net", n.attributes(), false, nil)
				}
			})
		}
		for _, c := range children {
			x.writePCI(b, depth+1, c)
		}
	})
}

func (x *ncclTree) pciAttributes(d *PCIDevice) []string {
	var attrs []string
	if d.Class != 0 {
		attrs = append(attrs, "class", d.Class.String())
	}
	for _, id := range []struct {
		key   string
		value ID
	}{
		{"vendor", d.Vendor}, {"device", d.Device},
		{"subsystem_vendor", d.SubsystemVendor}, {"subsystem_device", d.SubsystemDevice},
	} {
		if id.value != 0 {
			attrs = append(attrs, id.key, id.value.String())
		}
	}
	speed, width := d.Link.MaxSpeed, d.Link.MaxWidth
	// The port above is the other end of the link, and the slower end counts.
	if up, ok := x.s.Device(d.Parent); ok && (up.Bridge == RootPort || up.Bridge == SwitchDownstream) {
		speed, width = lesser(speed, up.Link.MaxSpeed), lesserInt(width, up.Link.MaxWidth)
	}
	if speed == 0 {
		speed = d.Link.Speed
	}
	if width == 0 {
		width = d.Link.Width
	}
	// NCCL wants both. What is not known it writes, and reads, as "" and 0: then it
	// reckons with 16 lanes of its default speed.
	text := ""
	if speed > 0 {
		// NCCL compares the text: a speed has one decimal, and the word PCIe.
		text = strconv.FormatFloat(speed, 'f', 1, 64) + " GT/s PCIe"
	}
	return append(attrs, "link_speed", text, "link_width", strconv.Itoa(width))
}

// needNumbers tells whether the GPUs are to be described. Where nothing is known
// of any and their numbers are the order of their addresses, NCCL is left to find
// the rest.
func (x *ncclTree) needNumbers() bool {
	byAddress := slices.SortedFunc(maps.Keys(x.gpus), Address.Compare)
	for i, a := range byAddress {
		if g := x.gpus[a]; g.Index != i || x.describes(g) {
			return true
		}
	}
	return false
}

// describes tells whether more is known of a GPU than that it is one.
func (x *ncclTree) describes(g *GPU) bool {
	return g.ComputeCapability > 0 || g.GPUDirect != nil || len(x.nvlinks(g)) > 0
}

func (x *ncclTree) writeGPU(b *bufio.Writer, depth int, g *GPU) {
	attrs := []string{"dev", strconv.Itoa(g.Index)}
	if g.ComputeCapability > 0 {
		attrs = append(attrs, "sm", strconv.Itoa(g.ComputeCapability))
	}
	attrs = append(attrs, flag("gdr", g.GPUDirect)...)
	links := x.nvlinks(g)
	writeElement(b, depth, "gpu", attrs, len(links) > 0, func() {
		for _, l := range links {
			writeElement(b, depth+1, "nvlink", l, false, nil)
		}
	})
}

// nvlinks are the attributes of a GPU's links, none where a peer is not known:
// NCCL looks itself when the file has none, and believes the file when it has.
func (x *ncclTree) nvlinks(g *GPU) [][]string {
	var list [][]string
	for _, l := range g.NVLinks {
		target, class := string(l.Address), ""
		switch l.Peer {
		case PeerGPU:
			class = "0x030200"
			if d, ok := x.s.Device(l.Address); ok && d.Class>>16 == 0x03 {
				class = d.Class.String()
			}
		case PeerSwitch:
			class = "0x068000"
		case PeerCPU:
			class = "0x068001"
		}
		if target == "" && l.Peer != PeerGPU {
			target = invisiblePeer
		}
		if class == "" || target == "" {
			return nil
		}
		list = append(list, []string{"target", target, "count", strconv.Itoa(l.Count), "tclass", class})
	}
	return list
}

func (n ncclNet) attributes() []string {
	attrs := []string{"name", n.name}
	if n.mbps > 0 {
		attrs = append(attrs, "speed", strconv.Itoa(n.mbps))
	}
	if n.port > 0 || n.hca == nil {
		attrs = append(attrs, "port", strconv.Itoa(n.port))
	}
	if n.hca == nil {
		return attrs
	}
	if guid, ok := guidToNCCL(n.hca.SysImageGUID); ok {
		attrs = append(attrs, "guid", fmt.Sprintf("0x%x", guid))
	}
	return append(attrs, flag("gdr", n.hca.GPUDirect)...)
}

func text(key, value string) []string {
	if value == "" {
		return nil
	}
	return []string{key, value}
}

func flag(key string, value *bool) []string {
	switch {
	case value == nil:
		return nil
	case *value:
		return []string{key, "1"}
	}
	return []string{key, "0"}
}

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\t", "&#9;", "\r", "&#13;")

// writeElement writes one element and what body writes inside it.
func writeElement(b *bufio.Writer, depth int, name string, attrs []string, full bool, body func()) {
	indent := strings.Repeat("  ", depth)
	b.WriteString(indent + "<" + name)
	for i := 0; i+1 < len(attrs); i += 2 {
		b.WriteString(" " + attrs[i] + `="` + xmlEscaper.Replace(attrs[i+1]) + `"`)
	}
	if !full {
		b.WriteString("/>\n")
		return
	}
	b.WriteString(">\n")
	body()
	b.WriteString(indent + "</" + name + ">\n")
}
