package topo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseHwloc reads the XML that lstopo writes, of hwloc 1, 2 and 3. hwloc tells a
// link's rate only, so speed and width are the widest split that gives the rate;
// which functions lie below which is told exactly. hwloc 1 has NUMA nodes around
// the packages, later ones beside them: the nodeset of the object that holds a
// host bridge says which node it belongs to in both.
func parseHwloc(data []byte) (*System, error) {
	root, err := readXML(data)
	if err != nil {
		return nil, err
	}
	r := &hwlocReader{s: &System{}, gp: make(map[string]Address), nvml: make(map[*GPU]int)}
	r.version, _ = root.attr("version")
	for _, c := range root.children {
		if c.name == "object" {
			if err := r.object(c, hwlocPlace{}); err != nil {
				return nil, err
			}
		}
	}
	if len(r.s.Nodes) == 0 && len(r.s.PCI) == 0 {
		return nil, root.errorf("no NUMA node and no PCI device in it; lstopo keeps PCI devices with --whole-io (or --filter io:all)")
	}
	if r.s.Host.CPU.Arch == "" {
		r.s.Host.CPU.Arch = hwlocInfo(root, "Architecture")
	}
	r.number()
	for _, c := range root.children {
		switch name, _ := c.attr("name"); {
		case c.name == "distances2" && name == "NUMALatency":
			err = r.latencies(c)
		case c.name == "distances2hetero" && name == "NVLinkBandwidth",
			c.name == "distances2" && name == "NVLinkBandwidth":
			err = r.nvlinks(c)
		}
		if err != nil {
			return nil, err
		}
	}
	return r.s, nil
}

// nvswitchName is what hwloc calls an NVSwitch.
const nvswitchName = "NVSwitch"

// hwlocPlace is what an object inherits from those around it.
type hwlocPlace struct {
	node *int       // the NUMA node, when it is one
	root string     // the host bridge, "" outside one
	pci  *PCIDevice // the bridge or function above
}

type hwlocReader struct {
	s       *System
	version string
	gp      map[string]Address // gp_index of a PCI device or a thing on it
	nvml    map[*GPU]int       // the number NVML gave
}

func (r *hwlocReader) object(e *element, at hwlocPlace) error {
	kind, _ := e.attr("type")
	if text, ok := e.attr("nodeset"); ok {
		// A device below an object with several nodes belongs to none of them.
		nodes, err := hwlocSet(text)
		if err != nil {
			return e.errorf("nodeset: %v", err)
		}
		at.node = nil
		if len(nodes) == 1 {
			at.node = &nodes[0]
		}
	}
	var err error
	switch kind {
	case "Machine":
		err = r.machine(e)
	case "Package", "Socket":
		r.processor(e)
	case "NUMANode", "Node":
		err = r.node(e)
	case "Bridge", "PCIDev":
		err = r.pci(e, kind, &at)
	case "OSDev":
		err = r.osdev(e, at)
	}
	if err != nil {
		return err
	}
	for _, c := range e.children {
		if c.name != "object" {
			continue
		}
		if err := r.object(c, at); err != nil {
			return err
		}
	}
	return nil
}

// hwlocInfo returns the value of an <info>, "" where there is none.
func hwlocInfo(e *element, name string) string {
	for _, c := range e.children {
		if n, _ := c.attr("name"); c.name == "info" && n == name {
			v, _ := c.attr("value")
			return v
		}
	}
	return ""
}

func (r *hwlocReader) machine(e *element) error {
	if arch := hwlocInfo(e, "Architecture"); arch != "" {
		r.s.Host.CPU.Arch = arch
	}
	if text, ok := e.attr("cpuset"); ok {
		cpus, err := hwlocSet(text)
		if err != nil {
			return e.errorf("cpuset: %v", err)
		}
		r.s.Host.OnlineCPUs = cpus
	}
	return nil
}

func (r *hwlocReader) processor(e *element) {
	c := &r.s.Host.CPU
	if c.Vendor != "" {
		return
	}
	c.Vendor = hwlocInfo(e, "CPUVendor")
	c.Family, _ = strconv.Atoi(hwlocInfo(e, "CPUFamilyNumber"))
	c.Model, _ = strconv.Atoi(hwlocInfo(e, "CPUModelNumber"))
}

func (r *hwlocReader) node(e *element) error {
	id, ok, err := e.integer("os_index", 0, 1<<16)
	if err != nil {
		return err
	}
	if !ok {
		return e.errorf("a NUMA node without os_index")
	}
	for _, n := range r.s.Nodes {
		if n.ID == id {
			return &InvalidError{Device: "node " + strconv.Itoa(id), Reason: fmt.Sprintf("line %d describes it a second time", e.line)}
		}
	}
	n := &NUMANode{ID: id, Online: true}
	if text, ok := e.attr("cpuset"); ok {
		if n.CPUs, err = hwlocSet(text); err != nil {
			return e.errorf("cpuset: %v", err)
		}
		n.CPUsKnown = true
	}
	if text, ok := e.attr("local_memory"); ok {
		bytes, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return e.errorf("local_memory=%q is not a number of bytes", clip(text))
		}
		n.Memory = &bytes
	}
	r.s.Nodes = append(r.s.Nodes, n)
	return nil
}

// hwlocSet reads a bitmap: words of 32 bits with 0x each, where an empty one is
// 0. A set that goes on for ever ("0xf...f") is refused: nothing here has one.
func hwlocSet(text string) (CPUSet, error) {
	words := strings.Split(text, ",")
	for i, w := range words {
		if w = strings.TrimPrefix(w, "0x"); w == "" {
			w = "0"
		}
		// hwloc does not pad the first word, the kernel does.
		words[i] = strings.Repeat("0", max(0, 8-len(w))) + w
	}
	set, _, err := ParseCPUMask(strings.Join(words, ","))
	return set, err
}

func (r *hwlocReader) pci(e *element, kind string, at *hwlocPlace) error {
	if bridge, _ := e.attr("bridge_type"); kind == "Bridge" && strings.HasPrefix(bridge, "0-") {
		at.root, at.pci = hwlocRoot(e), nil
		return nil
	}
	busid, ok := e.attr("pci_busid")
	if !ok {
		return e.errorf("a PCI object without pci_busid")
	}
	address, err := ParseAddress(busid)
	if err != nil {
		return e.errorf("pci_busid: %v", err)
	}
	if _, twice := r.gp[string(address)]; twice {
		return &InvalidError{Device: string(address), Reason: fmt.Sprintf("line %d describes it a second time: one address is one device", e.line)}
	}
	r.gp[string(address)] = address
	d := &PCIDevice{Address: address, Root: at.root, Placed: true, StatedNode: at.node, Name: hwlocInfo(e, "PCIDevice")}
	if at.pci != nil {
		d.Parent = at.pci.Address
	}
	if err := hwlocIDs(e, d); err != nil {
		return err
	}
	if subtype, _ := e.attr("subtype"); d.Name == "" {
		d.Name = subtype
	}
	if kind == "Bridge" && d.Class == 0 {
		d.Class = classBridge
	}
	if text, ok := e.attr("pci_link_speed"); ok {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || rate < 0 || rate > 1e6 || math.IsNaN(rate) {
			return e.errorf("pci_link_speed=%q is not a rate in GB/s", clip(text))
		}
		d.Link = linkOfRate(rate)
	}
	if index, ok := e.attr("gp_index"); ok {
		r.gp["PCIDev:"+index] = address
	}
	r.s.PCI = append(r.s.PCI, d)
	if isNVIDIAGPU(d) {
		r.s.GPUs = append(r.s.GPUs, &GPU{PCI: address, Name: d.Name})
	}
	at.pci = d
	return nil
}

// hwlocRoot names the host bridge by the first bus below it, as the kernel does:
// "0000:[2b-3b]" is pci0000:2b.
func hwlocRoot(e *element) string {
	text, _ := e.attr("bridge_pci")
	domain, buses, _ := strings.Cut(text, ":[")
	first, _, ok := strings.Cut(buses, "-")
	if _, hex := hexDigits(domain, 1, 8, math.MaxUint32); !ok || !hex {
		return ""
	}
	if _, hex := hexDigits(first, 1, 2, 0xff); !hex {
		return ""
	}
	return "pci" + strings.ToLower(domain+":"+first)
}

// hwlocIDs reads "0302 [10de:1db8] [10de:131d] a1".
func hwlocIDs(e *element, d *PCIDevice) error {
	text, ok := e.attr("pci_type")
	if !ok {
		return nil
	}
	bad := e.errorf("pci_type=%q: want class, ids and subsystem ids, as in \"0302 [10de:1db8] [10de:131d] a1\"", clip(text))
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return bad
	}
	class, err := parseClass(fields[0])
	if err != nil {
		return bad
	}
	d.Class = class
	if d.Vendor, d.Device, ok = bracketedIDs(fields[1]); !ok {
		return bad
	}
	if d.SubsystemVendor, d.SubsystemDevice, ok = bracketedIDs(fields[2]); !ok {
		return bad
	}
	return nil
}

// bracketedIDs reads "[10de:1db8]".
func bracketedIDs(text string) (vendor, device ID, ok bool) {
	inner, opened := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	a, b, colon := strings.Cut(inner, ":")
	v, ok1 := hexDigits(a, 4, 4, 0xffff)
	w, ok2 := hexDigits(b, 4, 4, 0xffff)
	return ID(v), ID(w), opened && closed && colon && ok1 && ok2
}

// linkOfRate splits a rate in GB/s into speed and width: the widest link of at
// most 16 lanes that has it. It is unknown where none has.
func linkOfRate(rate float64) Link {
	for _, width := range []int{16, 12, 8, 4, 2, 1} {
		for _, speed := range []float64{2.5, 5, 8, 16, 32, 64} {
			if full, _ := gbps(speed, width); math.Abs(full-rate) < 0.01*full {
				return Link{Speed: speed, Width: width}
			}
		}
	}
	return Link{}
}

// The kinds of operating system devices: a number in hwloc 1 and 2, a set of bits
// in hwloc 3.
const (
	hwlocOther = iota
	hwlocGPU
	hwlocNet
	hwlocFabric
)

func (r *hwlocReader) osKind(e *element) int {
	n, _, err := e.integer("osdev_type", 0, 1<<16)
	if err != nil {
		return hwlocOther
	}
	if major, _, _ := strings.Cut(r.version, "."); len(major) == 1 && major >= "3" {
		switch {
		case n&0x20 != 0:
			return hwlocFabric
		case n&0x10 != 0:
			return hwlocNet
		case n&0x0c != 0:
			return hwlocGPU
		}
		return hwlocOther
	}
	switch n {
	case 1, 5:
		return hwlocGPU
	case 2:
		return hwlocNet
	case 3:
		return hwlocFabric
	}
	return hwlocOther
}

func (r *hwlocReader) osdev(e *element, at hwlocPlace) error {
	name, _ := e.attr("name")
	var address Address
	if at.pci != nil {
		address = at.pci.Address
		if index, ok := e.attr("gp_index"); ok {
			r.gp["OSDev:"+index] = address
		}
	}
	if name == "" {
		return e.errorf("an OSDev without a name")
	}
	switch r.osKind(e) {
	case hwlocGPU:
		r.gpuName(e, name, address)
	case hwlocNet:
		dev := &Netdev{Name: name, PCI: address, MAC: hwlocInfo(e, "Address")}
		r.s.Netdevs = append(r.s.Netdevs, dev)
	case hwlocFabric:
		r.s.HCAs = append(r.s.HCAs, hwlocHCA(e, name, address))
	}
	return nil
}

// gpuName takes the number out of nvml0 and what NVML said with it.
func (r *hwlocReader) gpuName(e *element, name string, address Address) {
	number, ok := strings.CutPrefix(name, "nvml")
	n, err := strconv.ParseUint(number, 10, 16)
	if !ok || err != nil {
		return
	}
	for _, g := range r.s.GPUs {
		if g.PCI == address && address != "" {
			r.nvml[g] = int(n)
			g.UUID = hwlocInfo(e, "NVIDIAUUID")
			if model := hwlocInfo(e, "GPUModel"); model != "" {
				g.Name = model
			}
		}
	}
}

// number gives the GPUs NVML's numbers where all have one.
func (r *hwlocReader) number() {
	seen := make(map[int]bool)
	for _, g := range r.s.GPUs {
		if n, ok := r.nvml[g]; ok {
			g.Index, seen[n] = n, true
		}
	}
	if len(seen) != len(r.s.GPUs) {
		numberGPUs(r.s.GPUs)
	}
}

func hwlocHCA(e *element, name string, address Address) *HCA {
	h := &HCA{Name: name, NodeGUID: hwlocInfo(e, "NodeGUID"), SysImageGUID: hwlocInfo(e, "SysImageGUID")}
	if address != "" {
		h.PCI = []Address{address}
	}
	for number := 1; number < 256; number++ {
		prefix := "Port" + strconv.Itoa(number)
		state := hwlocInfo(e, prefix+"State")
		if state == "" {
			break
		}
		p := Port{Number: number}
		switch state {
		case "1":
			p.State = PortDown
		case "2":
			p.State = PortInit
		case "3":
			p.State = PortArmed
		case "4":
			p.State = PortActive
		}
		for index := 0; index < 256; index++ {
			gid := hwlocInfo(e, prefix+"GID"+strconv.Itoa(index))
			if gid == "" {
				break
			}
			p.GIDs = append(p.GIDs, GID{Index: index, GID: gid})
		}
		h.Ports = append(h.Ports, p)
	}
	return h
}
