package topo

import (
	"fmt"
	"slices"
	"strings"
)

// Setting is an environment variable for NCCL, with the reason for its value or
// for having none.
type Setting struct {
	Name string `json:"name"`
	// Value is meaningful where Set is true. Otherwise the variable is better
	// left alone, and Reason says why.
	Value  string `json:"value,omitempty"`
	Set    bool   `json:"set"`
	Reason string `json:"reason"`
}

// String returns "NAME=VALUE", and "" where the variable is not to be set.
func (s Setting) String() string {
	if !s.Set {
		return ""
	}
	return s.Name + "=" + s.Value
}

func set(name, value, reason string, args ...any) Setting {
	return Setting{Name: name, Value: value, Set: true, Reason: fmt.Sprintf(reason, args...)}
}

func leave(name, reason string, args ...any) Setting {
	return Setting{Name: name, Reason: fmt.Sprintf(reason, args...)}
}

// NCCLEnv returns the variables that make NCCL use this machine as its topology
// suggests: NCCL_IB_HCA, NCCL_SOCKET_IFNAME, NCCL_IB_GID_INDEX (for RoCE only; it
// is never read on InfiniBand) and NCCL_NET_GDR_LEVEL always stand in the list,
// set or with the reason for leaving them; NCCL_TOPO_FILE and NCCL_IB_MERGE_VFS
// where a virtual machine needs them.
func (s *System) NCCLEnv() []Setting {
	e := ncclEnv{s: s}
	hca := e.hca()
	list := []Setting{hca, e.socket(), e.gidIndex(), e.gdrLevel()}
	if file, ok := e.topologyFile(); ok {
		list = append(list, file)
	}
	if merge, ok := e.mergeVFs(); ok {
		list = append(list, merge)
	}
	return list
}

type ncclEnv struct {
	s      *System
	chosen []*HCA
	layer  LinkLayer // of the chosen ports, "" where it is not known
}

// usablePorts are the ports of an HCA that may carry data, of the layer that was
// chosen.
func (e *ncclEnv) usablePorts(h *HCA) []Port {
	var ports []Port
	for _, p := range h.Ports {
		if usable, known := p.Usable(); known && !usable {
			continue
		}
		if e.layer == "" || p.LinkLayer == "" || p.LinkLayer == e.layer {
			ports = append(ports, p)
		}
	}
	return ports
}

func (e *ncclEnv) hca() Setting {
	const name = "NCCL_IB_HCA"
	if len(e.s.HCAs) == 0 {
		return leave(name, "No RDMA device is seen: NCCL uses sockets.")
	}
	e.choose()
	other := e.oneLayer()
	if len(e.chosen) == 0 {
		return leave(name, "No RDMA device has an active port that programs here can open: NCCL uses sockets.")
	}
	// NCCL reads no more than this many words.
	const most = 32
	var words, left []string
	for _, h := range e.chosen {
		if len(h.PCI) > 0 && h.Name == string(h.PCI[0]) || nicLabel.MatchString(h.Name) {
			return leave(name, "The source does not tell the names of the RDMA devices.")
		}
		ports := e.usablePorts(h)
		if len(h.Ports) <= 1 {
			words = append(words, h.Name)
			continue
		}
		for _, p := range ports {
			words = append(words, fmt.Sprintf("%s:%d", h.Name, p.Number))
		}
	}
	if len(words) > most {
		return leave(name, "All %d ports are as near, and NCCL reads %d names at most.", len(words), most)
	}
	for _, h := range e.s.HCAs {
		if !slices.Contains(e.chosen, h) {
			left = append(left, h.Name)
		}
	}
	reason := "These are the nearest usable RDMA devices of the GPUs"
	if len(e.s.GPUs) == 0 {
		reason = "These are the usable RDMA devices"
	}
	reason += "; the = in front keeps mlx5_1 from matching mlx5_10 too."
	if len(left) > 0 {
		reason += " Left out, as farther, slower or not usable: " + strings.Join(left, ", ") + "."
	}
	return set(name, "="+strings.Join(words, ","), "%s", reason+other)
}

// choose takes the best HCAs of every GPU, or all usable ones where there is no
// GPU.
func (e *ncclEnv) choose() {
	take := func(h *HCA) {
		if h.UverbsPresent != nil && !*h.UverbsPresent || h.Management || slices.Contains(e.chosen, h) {
			return
		}
		if len(h.Ports) == 0 || len(e.usablePorts(h)) > 0 {
			e.chosen = append(e.chosen, h)
		}
	}
	for _, g := range e.s.GPUs {
		for _, c := range e.s.HCAsFor(g) {
			if h, ok := c.Device.(*HCA); ok && c.Best && c.Usable {
				take(h)
			}
		}
	}
	if len(e.s.GPUs) == 0 {
		for _, h := range e.s.HCAs {
			take(h)
		}
	}
	slices.SortStableFunc(e.chosen, func(a, b *HCA) int {
		return slices.Index(e.s.HCAs, a) - slices.Index(e.s.HCAs, b)
	})
}

// oneLayer keeps to one link layer: NCCL does not mix them.
func (e *ncclEnv) oneLayer() string {
	count := make(map[LinkLayer]int)
	for _, h := range e.chosen {
		for _, p := range e.usablePorts(h) {
			count[p.LinkLayer]++
		}
	}
	if count[InfiniBand] == 0 && count[Ethernet] == 0 {
		return ""
	}
	e.layer = InfiniBand
	if count[Ethernet] > count[InfiniBand] {
		e.layer = Ethernet
	}
	e.chosen = slices.DeleteFunc(e.chosen, func(h *HCA) bool { return len(h.Ports) > 0 && len(e.usablePorts(h)) == 0 })
	if count[InfiniBand] == 0 || count[Ethernet] == 0 {
		return ""
	}
	return fmt.Sprintf(" Only %s ports are in it: NCCL uses one kind at a time.", e.layer)
}

// virtualNames begin the names of interfaces that lead to no other host.
var virtualNames = []string{"lo", "docker", "veth", "br-", "virbr", "cni", "flannel", "cali", "dummy", "ifb", "tap", "tun"}

func (e *ncclEnv) socket() Setting {
	const name = "NCCL_SOCKET_IFNAME"
	if len(e.s.Netdevs) == 0 {
		return leave(name, "No network interface is seen.")
	}
	member := make(map[string]bool)
	for _, n := range e.s.Netdevs {
		for _, lower := range n.Lower {
			member[lower] = true
		}
	}
	var plain, rdma []string
	for _, n := range e.s.Netdevs {
		virtual := slices.ContainsFunc(virtualNames, func(p string) bool { return strings.HasPrefix(n.Name, p) })
		if virtual || member[n.Name] || n.Up == nil || !*n.Up {
			continue
		}
		if slices.ContainsFunc(e.chosen, func(h *HCA) bool { return slices.Contains(n.RDMA, h.Name) }) {
			rdma = append(rdma, n.Name)
		} else {
			plain = append(plain, n.Name)
		}
	}
	switch {
	case len(plain) == 1:
		return set(name, "="+plain[0], "It is the only interface that is up and carries no RDMA traffic of the GPUs; NCCL starts up over it.")
	case len(plain) > 1:
		return set(name, "="+plain[0], "It is up and carries no RDMA traffic of the GPUs; NCCL starts up over it. So are %s: take the one that reaches the other hosts.",
			joinWords(plain[1:]))
	case len(rdma) > 0:
		return set(name, "="+rdma[0], "All interfaces that are up belong to RDMA devices; this is the first. NCCL starts up over it.")
	}
	return leave(name, "No interface to other hosts is known to be up.")
}

func (e *ncclEnv) gidIndex() Setting {
	const name = "NCCL_IB_GID_INDEX"
	switch {
	case len(e.chosen) == 0:
		return leave(name, "No RDMA device is used.")
	case e.layer == InfiniBand:
		return leave(name, "The ports are InfiniBand, where NCCL never reads it.")
	case e.layer == "":
		return leave(name, "The source does not tell whether the ports are InfiniBand or RoCE.")
	}
	var common []int
	var seen []string
	first := true
	for _, h := range e.chosen {
		for _, p := range e.usablePorts(h) {
			if len(p.GIDs) == 0 {
				return leave(name, "The GID table of %s port %d is not known.", h.Name, p.Number)
			}
			indexes := routableGIDs(p)
			seen = append(seen, fmt.Sprintf("%s:%d %v", h.Name, p.Number, indexes))
			if first {
				common, first = indexes, false
				continue
			}
			common = slices.DeleteFunc(common, func(i int) bool { return !slices.Contains(indexes, i) })
		}
	}
	if len(common) == 0 {
		return leave(name, "The RoCE v2 GIDs with a routable address have no index in common (%s): NCCL 2.21 and later finds them itself.", strings.Join(seen, ", "))
	}
	return set(name, fmt.Sprint(common[0]), "At this index all ports in use have a RoCE v2 GID of a routable address. NCCL 2.21 and later finds it without.")
}

// routableGIDs are the indexes of RoCE v2 GIDs: those of IPv4 addresses, or of
// global IPv6 addresses where there is none.
func routableGIDs(p Port) []int {
	ipv4, ipv6 := []int{}, []int{}
	for _, g := range p.GIDs {
		switch {
		case g.Type != "RoCE v2":
		case strings.HasPrefix(g.GID, "0000:0000:0000:0000:0000:ffff:"):
			ipv4 = append(ipv4, g.Index)
		case !strings.HasPrefix(strings.ToLower(g.GID), "fe80:"):
			ipv6 = append(ipv6, g.Index)
		}
	}
	if len(ipv4) > 0 {
		return ipv4
	}
	return ipv6
}

func (e *ncclEnv) gdrLevel() Setting {
	const name = "NCCL_NET_GDR_LEVEL"
	if len(e.chosen) == 0 || len(e.s.GPUs) == 0 {
		return leave(name, "There is no GPU with an RDMA device to move data between.")
	}
	worst, pair := NCCLUnknown, ""
	for _, g := range e.s.GPUs {
		if g.GPUDirect != nil && !*g.GPUDirect {
			return leave(name, "%s has no GPUDirect: load nvidia-peermem, or use a driver with dma-buf.", g.Label())
		}
		for _, c := range e.s.HCAsFor(g) {
			h, ok := c.Device.(*HCA)
			if !ok || !c.Best || !slices.Contains(e.chosen, h) {
				continue
			}
			if h.GPUDirect != nil && !*h.GPUDirect {
				return leave(name, "%s has no GPUDirect: load nvidia-peermem, or use a driver with dma-buf.", h.Name)
			}
			if c.NCCLPath == NCCLUnknown {
				return leave(name, "The path from %s to %s is not known.", g.Label(), h.Name)
			}
			if c.NCCLPath > worst {
				worst, pair = c.NCCLPath, fmt.Sprintf("%s reaches %s over %s", g.Label(), h.Name, c.Path)
			}
		}
	}
	switch {
	case worst == NCCLUnknown:
		return leave(name, "No path from a GPU to an RDMA device is known.")
	case worst.GPUDirect():
		return leave(name, "Every GPU is near enough to its RDMA devices (%s at most) for NCCL to use GPUDirect by default.", worst)
	case worst == NCCLPHB && e.s.Host.Flat:
		return set(name, "PHB", "This virtual machine hides its switches, so NCCL takes every path for PHB and uses GPUDirect up to PXB only. PHB allows it; measure with and without.")
	case worst == NCCLPHB:
		return set(name, "PHB", "%s, and by default NCCL uses GPUDirect up to PXB only. PHB allows it through the host bridge (NCCL knows no NODE and would ignore that word); measure with and without.", pair)
	}
	return leave(name, "%s: GPUDirect between NUMA nodes is rarely faster than a copy through memory. SYS would allow it.", pair)
}

// topologyFile answers for virtual machines only.
func (e *ncclEnv) topologyFile() (Setting, bool) {
	const name = "NCCL_TOPO_FILE"
	h := e.s.Host
	switch {
	case h.TopologyFile == virtualTopology:
		return leave(name, "NCCL reads /%s without being told.", virtualTopology), true
	case h.TopologyFile != "":
		return set(name, "/"+strings.TrimPrefix(h.TopologyFile, "/"), "It tells the PCIe switches that this virtual machine hides."), true
	case h.Flat:
		return leave(name, "This virtual machine shows no PCIe switches; if the cloud offers a topology file, name it here."), true
	}
	return Setting{}, false
}

// mergeVFs answers where NCCL would look for a device at slot 0 of its bus and
// no NIC is there: in a virtual machine that got a virtual function of another
// slot.
func (e *ncclEnv) mergeVFs() (Setting, bool) {
	if e.s.Host.Virtual == "" {
		return Setting{}, false
	}
	for _, h := range e.chosen {
		if len(h.PCI) == 0 {
			continue
		}
		first := Address(h.PCI[0].Bus() + ":00.0")
		if d, ok := e.s.Device(first); ok && d.Class>>16 == 0x02 || strings.HasPrefix(string(h.PCI[0]), h.PCI[0].Bus()+":00.") {
			continue
		}
		return set("NCCL_IB_MERGE_VFS", "0", "%s is at %s and NCCL would take %s for its place, where this virtual machine has no NIC.", h.Name, h.PCI[0], first), true
	}
	return Setting{}, false
}
