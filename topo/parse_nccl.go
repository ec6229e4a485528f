package topo

import (
	"fmt"
	"strconv"
	"strings"
)

// parseNCCL reads the XML that NCCL writes with NCCL_TOPO_DUMP_FILE and reads
// with NCCL_TOPO_FILE, and the files that clouds hand out for it. A switch is one
// element there, and host bridges do not exist. NCCL writes the greatest speed of
// a link and not the one it runs at, so that is what a link is taken for. Ranks,
// plugins' numbers and limits (rank, dev of a net, latency, maxconn, coll, rail,
// plane) belong to a run and not to the machine.
func parseNCCL(data []byte) (*System, error) {
	root, err := readXML(data)
	if err != nil {
		return nil, err
	}
	if version, ok := root.attr("version"); ok && version != "1" {
		return nil, root.errorf("version %q: NCCL reads version 1 only", clip(version))
	}
	r := &ncclReader{
		s: &System{}, lines: make(map[Address]int), nodes: make(map[int]*NUMANode),
		devs: make(map[int]bool), hcas: make(map[string]*HCA),
	}
	cpus := 0
	for _, cpu := range root.children {
		if cpu.name != "cpu" {
			continue
		}
		if cpus++; cpus > mostPaired {
			return nil, cpu.errorf("more than %d CPUs, which no machine has", mostPaired)
		}
		if err := r.cpu(cpu); err != nil {
			return nil, err
		}
	}
	if len(r.s.Nodes) == 0 && len(r.s.PCI) == 0 {
		return nil, root.errorf("no <cpu> with a device or a NUMA node in it")
	}
	if r.unnumbered {
		numberGPUs(r.s.GPUs)
	}
	r.resolvePeers()
	return r.s, nil
}

type ncclReader struct {
	s          *System
	host       string
	lines      map[Address]int
	nodes      map[int]*NUMANode
	devs       map[int]bool // the numbers that GPUs have
	hcas       map[string]*HCA
	unnumbered bool
}

func (r *ncclReader) cpu(e *element) error {
	if host, ok := e.attr("host_hash"); ok {
		if r.host != "" && r.host != host {
			return e.errorf("host_hash %q: the file describes several hosts, and one is wanted", clip(host))
		}
		r.host = host
	}
	id, ok, err := e.integer("numaid", -1, 1<<16)
	switch {
	case err != nil:
		return err
	case !ok:
		return e.errorf("no numaid: NCCL refuses a CPU without one")
	}
	if err := r.processor(e); err != nil {
		return err
	}
	var node *int
	if id >= 0 {
		node = &id
		if err := r.node(e, id); err != nil {
			return err
		}
	}
	for _, c := range e.children {
		switch c.name {
		case "pci":
			err = r.pci(c, nil, node)
		case "nic":
			// NCCL hangs what is no PCI device below the first CPU: that tells
			// nothing about its place.
			err = r.nic(c, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *ncclReader) processor(e *element) error {
	arch, _ := e.attr("arch")
	vendor := e.attrs["vendor"] // "  Shanghai  " keeps its spaces
	family, _, err := e.integer("familyid", 0, 1<<16)
	if err != nil {
		return err
	}
	model, _, err := e.integer("modelid", 0, 1<<16)
	if err != nil {
		return err
	}
	if r.s.Host.CPU == (CPUInfo{}) {
		r.s.Host.CPU = CPUInfo{Arch: arch, Vendor: vendor, Family: family, Model: model}
	}
	return nil
}

func (r *ncclReader) node(e *element, id int) error {
	n := r.nodes[id]
	if n == nil {
		n = &NUMANode{ID: id, Online: true}
		r.nodes[id] = n
		r.s.Nodes = append(r.s.Nodes, n)
	}
	mask, ok := e.attr("affinity")
	if !ok || mask == "" {
		return nil
	}
	cpus, _, err := ParseCPUMask(mask)
	if err != nil {
		return e.errorf("affinity: %v", err)
	}
	n.Mask = mask
	n.CPUs, n.CPUsKnown = n.CPUs.Union(cpus), true
	return nil
}

func (r *ncclReader) pci(e *element, parent *PCIDevice, node *int) error {
	busid, ok := e.attr("busid")
	if !ok {
		return e.errorf("no busid")
	}
	address, err := ParseAddress(busid)
	if err != nil {
		return e.errorf("busid: %v", err)
	}
	if line, twice := r.lines[address]; twice {
		return &InvalidError{Device: string(address), Reason: fmt.Sprintf(
			"it is the busid of two elements, on lines %d and %d: one address is one device, and NCCL would take the first", line, e.line)}
	}
	r.lines[address] = e.line
	d := &PCIDevice{Address: address, Placed: true, StatedNode: node}
	if parent != nil {
		d.Parent = parent.Address
	}
	if err := pciNumbers(e, d); err != nil {
		return err
	}
	if d.Link, err = ncclLink(e); err != nil {
		return err
	}
	if d.Class.IsBridge() || e.sub("pci") != nil {
		d.Bridge = WholeSwitch
	}
	r.s.PCI = append(r.s.PCI, d)
	if err := r.functions(e, d); err != nil {
		return err
	}
	for _, c := range e.children {
		if c.name != "pci" {
			continue
		}
		if err := r.pci(c, d, node); err != nil {
			return err
		}
	}
	return nil
}

// functions adds the GPU or the HCAs that a PCI function is.
func (r *ncclReader) functions(e *element, d *PCIDevice) error {
	nic := e.sub("nic")
	gpu := e.sub("gpu")
	switch {
	case gpu != nil || nic == nil && isNVIDIAGPU(d):
		return r.gpu(gpu, d)
	case nic != nil:
		return r.nic(nic, d.Address)
	case d.Class>>16 == 0x02 || d.Class.Base() == 0x0c06:
		// The files of clouds list the NICs for NCCL and leave the names to it.
		r.s.HCAs = append(r.s.HCAs, &HCA{Name: string(d.Address), PCI: []Address{d.Address}})
	}
	return nil
}

func (r *ncclReader) gpu(e *element, d *PCIDevice) error {
	g := &GPU{PCI: d.Address}
	r.s.GPUs = append(r.s.GPUs, g)
	if e == nil {
		r.unnumbered = true
		return nil
	}
	index, ok, err := e.integer("dev", -1, 1<<16)
	if err != nil {
		return err
	}
	if g.Index = index; !ok || index < 0 {
		r.unnumbered = true
	}
	// Dumps of several processes can each call their GPU 0.
	r.unnumbered = r.unnumbered || r.devs[index]
	r.devs[index] = true
	if g.ComputeCapability, _, err = e.integer("sm", 0, 1000); err != nil {
		return err
	}
	if g.GPUDirect, err = ncclFlag(e, "gdr"); err != nil {
		return err
	}
	for _, c := range e.children {
		if c.name == "c2c" {
			// Its bandwidth is NVML's affair.
			if g.C2CLinks, _, err = c.integer("count", 0, 1024); err != nil {
				return err
			}
		}
		if c.name != "nvlink" {
			continue
		}
		link, err := ncclNVLink(c)
		if err != nil {
			return err
		}
		if link.Count > 0 {
			g.NVLinks = append(g.NVLinks, link)
		}
	}
	return nil
}

// invisiblePeer is what NVML, and NCCL after it, call the far end of an NVLink
// that the virtual machine does not see: an NVSwitch.
const invisiblePeer = "fffffff:ffff:ff"

func ncclNVLink(e *element) (NVLink, error) {
	count, ok, err := e.integer("count", 0, 1024)
	if err != nil {
		return NVLink{}, err
	}
	if !ok {
		return NVLink{}, e.errorf("no count")
	}
	link := NVLink{Count: count}
	class := uint64(0)
	if class, _, err = e.hex("tclass", 24); err != nil {
		return NVLink{}, err
	}
	switch {
	case class == 0x068001:
		link.Peer = PeerCPU
	case class>>16 == 0x03 || class == 0x03:
		link.Peer = PeerGPU
	case class != 0:
		link.Peer = PeerSwitch
	}
	target, _ := e.attr("target")
	if target == invisiblePeer || target == "" {
		if link.Peer == PeerUnknown {
			link.Peer = PeerSwitch
		}
		return link, nil
	}
	if link.Address, err = ParseAddress(target); err != nil {
		return NVLink{}, e.errorf("target: %v", err)
	}
	return link, nil
}

// resolvePeers names the peers of NVLinks that came without a class.
func (r *ncclReader) resolvePeers() {
	gpus := make(map[Address]bool)
	for _, g := range r.s.GPUs {
		gpus[g.PCI] = true
	}
	for _, g := range r.s.GPUs {
		for i := range g.NVLinks {
			link := &g.NVLinks[i]
			if link.Peer == PeerUnknown && gpus[link.Address] {
				link.Peer = PeerGPU
			}
		}
	}
}

// nic adds the devices of a <nic>. address is "" for one that is no PCI function.
func (r *ncclReader) nic(e *element, address Address) error {
	for _, net := range e.children {
		if net.name != "net" {
			continue
		}
		name, _ := net.attr("name")
		if name == "" {
			return net.errorf("no name")
		}
		mbps, _, err := net.integer("speed", -1, 1<<30)
		if err != nil {
			return err
		}
		port, stated, err := net.integer("port", 0, 255)
		if err != nil {
			return err
		}
		if stated && port == 0 {
			// NCCL's socket transport has no ports; those of HCAs count from 1.
			dev := &Netdev{Name: name, PCI: address}
			if mbps > 0 {
				dev.SpeedMbps = &mbps
			}
			r.s.Netdevs = append(r.s.Netdevs, dev)
			continue
		}
		if err := r.hca(net, name, address, max(port, 1), mbps, stated || mbps > 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *ncclReader) hca(net *element, name string, address Address, port, mbps int, hasPort bool) error {
	h := r.hcas[name]
	switch {
	case h == nil:
		h = &HCA{Name: name}
		if address != "" {
			h.PCI = []Address{address}
		}
		r.s.HCAs = append(r.s.HCAs, h)
		r.hcas[name] = h
	case len(h.PCI) == 0 && address != "" || len(h.PCI) > 0 && h.PCI[0] != address:
		return &InvalidError{Device: name, Reason: fmt.Sprintf(
			"line %d gives the name a second time, to another PCI function", net.line)}
	}
	guid, ok, err := net.hex("guid", 64)
	if err != nil {
		return err
	}
	if ok && guid != 0 {
		h.SysImageGUID = guidFromNCCL(guid)
	}
	if h.GPUDirect, err = ncclFlag(net, "gdr"); err != nil {
		return err
	}
	for _, p := range h.Ports {
		if p.Number == port {
			return &InvalidError{Device: name, Reason: fmt.Sprintf("line %d gives port %d a second time", net.line, port)}
		}
	}
	if hasPort {
		p := Port{Number: port}
		if mbps > 0 {
			p.RateGbps = float64(mbps) / 1000
		}
		h.Ports = append(h.Ports, p)
	}
	return nil
}

// ncclFlag reads a 0 or 1, nil where it is absent.
func ncclFlag(e *element, key string) (*bool, error) {
	n, ok, err := e.integer(key, 0, 1<<16)
	if err != nil || !ok {
		return nil, err
	}
	flag := n != 0
	return &flag, nil
}

// guidFromNCCL turns NCCL's number into sysfs's form. NCCL prints the eight bytes
// as a little-endian machine reads them.
func guidFromNCCL(n uint64) string {
	var words []string
	for i := 0; i < 4; i++ {
		words = append(words, fmt.Sprintf("%02x%02x", byte(n), byte(n>>8)))
		n >>= 16
	}
	return strings.Join(words, ":")
}

// guidToNCCL is the inverse of guidFromNCCL, and false for what is no GUID.
func guidToNCCL(guid string) (uint64, bool) {
	digits := strings.ReplaceAll(guid, ":", "")
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || len(digits) != 16 || n == 0 {
		return 0, false
	}
	var swapped uint64
	for i := 0; i < 8; i++ {
		swapped = swapped<<8 | n&0xff
		n >>= 8
	}
	return swapped, true
}

// pciNumbers reads class and ids.
func pciNumbers(e *element, d *PCIDevice) error {
	if text, ok := e.attr("class"); ok && text != "" {
		class, err := parseClass(text)
		if err != nil {
			return e.errorf("class: %v", err)
		}
		d.Class = class
	}
	for _, id := range []struct {
		key   string
		field *ID
	}{
		{"vendor", &d.Vendor}, {"device", &d.Device},
		{"subsystem_vendor", &d.SubsystemVendor}, {"subsystem_device", &d.SubsystemDevice},
	} {
		n, _, err := e.hex(id.key, 16)
		if err != nil {
			return err
		}
		*id.field = ID(n)
	}
	return nil
}

// parseClass reads a class code of one to three bytes, "0x03", "0302",
// "0x030200"; what is missing at the end is 0.
func parseClass(text string) (Class, error) {
	digits := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "0x")
	n, err := strconv.ParseUint(digits, 16, 24)
	if err != nil || len(digits)%2 != 0 || len(digits) > 6 {
		return 0, fmt.Errorf("%q is not a class code, as in 0x030200", clip(text))
	}
	return Class(n) << (4 * (6 - len(digits))), nil
}

func ncclLink(e *element) (Link, error) {
	var l Link
	if text, ok := e.attr("link_speed"); ok {
		speed, _, err := ParseSpeed(text)
		if err != nil {
			return l, e.errorf("%v", err)
		}
		l.MaxSpeed = speed
	}
	if text, ok := e.attr("link_width"); ok && text != "" {
		width, _, err := ParseWidth(text)
		if err != nil {
			return l, e.errorf("%v", err)
		}
		l.MaxWidth = width
	}
	return l, nil
}
