package topo

import "fmt"

// Affinity is where the threads and buffers that serve a device belong.
type Affinity struct {
	// Node is the NUMA node, nil where it is not known.
	Node *int
	// CPUs of the node that are online, nil where they are not known.
	CPUs CPUSet

	why string
}

// Explain says in a sentence or two how the node and the CPUs were found.
func (a Affinity) Explain() string { return a.why }

// CPUsFor tells the CPUs for the threads that serve a device: those of its NUMA
// node that are online. For a node without CPUs (a GPU's memory) they are those
// of the nearest node that has some. Where the node is not known, they are what a
// tool told, or nil.
func (s *System) CPUsFor(e Endpoint) Affinity {
	if absent(e) {
		return Affinity{why: absentText}
	}
	id, known := e.numa().Known()
	if !known {
		if g, ok := e.(*GPU); ok && len(g.StatedCPUs) > 0 {
			return Affinity{nil, s.online(g.StatedCPUs), fmt.Sprintf("The NUMA node of %s is not known; its CPUs %s were told.", e.Label(), g.StatedCPUs)}
		}
		return Affinity{nil, nil, fmt.Sprintf("The NUMA node of %s is not known: %s.", e.Label(), e.numa().From)}
	}
	why := fmt.Sprintf("%s is on NUMA node %d (%s).", e.Label(), id, e.numa().From)
	node, listed := s.Node(id)
	if listed && node.MemoryOnly() {
		if near := s.nearestWithCPUs(id); near != nil {
			why += fmt.Sprintf(" That node has no CPUs; node %d is the nearest that has.", near.ID)
			node, id = near, near.ID
		}
	}
	a := Affinity{Node: &id, why: why}
	switch g, isGPU := e.(*GPU); {
	case listed && node.CPUsKnown && len(node.CPUs) > 0:
		a.CPUs = s.online(node.CPUs)
	case isGPU && len(g.StatedCPUs) > 0:
		a.CPUs = s.online(g.StatedCPUs)
	default:
		a.why += " Its CPUs are not known."
	}
	if a.CPUs != nil && len(a.CPUs) == 0 {
		a.CPUs = nil
		a.why += " None of its CPUs is online."
	}
	return a
}

// MemoryFor tells the NUMA node for the host buffers that a device reads and
// writes: its own, or the nearest with CPUs where that one is the memory of a GPU.
// The CPUs of the answer are CPUsFor's.
func (s *System) MemoryFor(e Endpoint) Affinity { return s.CPUsFor(e) }

func (s *System) online(cpus CPUSet) CPUSet {
	if s.Host.OnlineCPUs == nil {
		return cpus
	}
	return cpus.Intersect(s.Host.OnlineCPUs)
}

func (s *System) nearestWithCPUs(id int) *NUMANode {
	var best *NUMANode
	least := 0
	for _, n := range s.Nodes {
		if !n.CPUsKnown || len(n.CPUs) == 0 {
			continue
		}
		d, ok := s.NodeDistance(id, n.ID)
		if !ok {
			d = 1 << 16
		}
		if best == nil || d < least {
			best, least = n, d
		}
	}
	return best
}
