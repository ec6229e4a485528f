package topo

import "fmt"

// resolveNUMA finds the node of every device. The order of evidence: the
// function's own numa_node, those of the bridges above it, what a tool told for
// the device (NVML's memory affinity), and that a host with one node has no
// other. Without evidence the node stays unknown.
func (s *System) resolveNUMA() {
	for _, d := range s.PCI {
		d.NUMA = s.functionNUMA(d)
	}
	for _, g := range s.GPUs {
		g.NUMA = s.deviceNUMA(addresses(g.PCI), g.StatedNode, "told for "+g.Label())
	}
	for _, h := range s.HCAs {
		h.NUMA = s.deviceNUMA(h.PCI, h.StatedNode, "told for "+h.Name)
	}
	for _, n := range s.Netdevs {
		n.NUMA = s.deviceNUMA(s.netdevFunctions(n.Name), nil, "")
	}
}

func (s *System) functionNUMA(d *PCIDevice) NUMA {
	if d.StatedNode != nil {
		return NUMA{Node: d.StatedNode, From: "numa_node of " + string(d.Address)}
	}
	// A virtual function lies where its physical one does.
	if pf := s.devices[d.PhysFn]; pf != nil && pf.StatedNode != nil {
		return NUMA{Node: pf.StatedNode, From: "numa_node of its physical function " + string(pf.Address)}
	}
	for _, b := range s.bridgesAbove(d.Address) {
		if b.StatedNode != nil {
			return NUMA{Node: b.StatedNode, From: "numa_node of the bridge " + string(b.Address)}
		}
	}
	if n := s.onlyNode(); n != nil {
		return *n
	}
	return NUMA{From: "numa_node is -1 or missing for it and for every bridge above"}
}

// onlyNode is the node of a host that has no other, nil elsewhere and where the
// nodes are not known.
func (s *System) onlyNode() *NUMA {
	if len(s.Nodes) != 1 || !s.Nodes[0].Online {
		return nil
	}
	return &NUMA{Node: &s.Nodes[0].ID, From: fmt.Sprintf("the host has one NUMA node, %d", s.Nodes[0].ID), weak: true}
}

func (s *System) deviceNUMA(functions []Address, stated *int, by string) NUMA {
	why := "it has no place on PCI"
	for _, a := range functions {
		d := s.devices[a]
		if d == nil {
			continue
		}
		if d.NUMA.Node != nil && !d.NUMA.weak {
			return d.NUMA
		}
		why = d.NUMA.From
	}
	if stated != nil {
		return NUMA{Node: stated, From: by}
	}
	if n := s.onlyNode(); n != nil {
		return *n
	}
	return NUMA{From: why}
}

// NodeDistance returns the distance between two NUMA nodes in the kernel's
// units: 10 is the node itself. ok is false where it is not known.
func (s *System) NodeDistance(a, b int) (distance int, ok bool) {
	if n, found := s.Node(a); found && n.Distances != nil {
		distance, ok = n.Distances[b]
		return distance, ok
	}
	return 0, false
}

// sameNode reports whether two nodes are known and equal; known is false where
// either is not.
func sameNode(a, b NUMA) (same, known bool) {
	x, ok1 := a.Known()
	y, ok2 := b.Known()
	return x == y, ok1 && ok2
}

// ComputeNodes counts the NUMA nodes that have CPUs. Nodes that are only memory (a
// GPU's on POWER9 or Grace) do not count.
func (s *System) ComputeNodes() int {
	n := 0
	for _, node := range s.Nodes {
		if !node.MemoryOnly() {
			n++
		}
	}
	return n
}
