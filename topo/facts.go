package topo

import (
	"fmt"
	"slices"
	"strings"
)

// GPUFacts are what NVML knows about a machine's GPUs and /sys does not, as plain
// values. Package nvml's lists translate to them field by field.
type GPUFacts struct {
	GPUs  []GPUFact    `json:"gpus"`
	Pairs []StatedPath `json:"pairs,omitempty"` // NVML's common ancestors, labels "GPU0"
}

// GPUFact is what NVML knows about one GPU.
type GPUFact struct {
	Index int     `json:"index"`
	PCI   Address `json:"pci"`
	UUID  string  `json:"uuid,omitempty"`
	Name  string  `json:"name,omitempty"`
	// Node is the NUMA node of the memory affinity, nil where NVML tells none or
	// several. NVML's NUMA node id is not it: that is MemoryNode.
	Node       *int     `json:"node,omitempty"`
	CPUs       CPUSet   `json:"cpus,omitempty"`
	MemoryNode *int     `json:"memoryNode,omitempty"`
	NVLinks    []NVLink `json:"nvlinks,omitempty"` // active ones, by peer
	C2CLinks   int      `json:"c2cLinks,omitempty"`
	MIG        []MIG    `json:"mig,omitempty"`
	// ComputeCapability is 90 for 9.0, and 0 where it is not known.
	ComputeCapability int `json:"computeCapability,omitempty"`
	// Minor is N of /dev/nvidiaN, nil where it is not known.
	Minor *int `json:"minor,omitempty"`
}

// GPUSource gives facts about the GPUs. It is asked once for each reading. Facts
// beside an error count: the error is what could not be read. Package fromnvml
// makes a source of NVML.
type GPUSource interface {
	GPUFacts() (GPUFacts, error)
}

// GPUFacts makes the facts a source of themselves.
func (f GPUFacts) GPUFacts() (GPUFacts, error) { return f, nil }

// addFacts lays NVML's facts over the GPUs that /sys showed: by PCI address, and
// with NVML's order, which is the one of nvidia-smi.
func (r *reading) addFacts(source GPUSource) {
	s := r.sys
	if source == nil {
		return
	}
	facts, err := source.GPUFacts()
	if err != nil {
		s.warn(WarnUnreadable, "NVML", "NVML could not be asked for everything: %s.", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if len(facts.GPUs) == 0 {
		return
	}
	known := map[Address]*GPU{}
	for _, g := range s.GPUs {
		known[g.PCI] = g
	}
	var ordered []*GPU
	for _, f := range facts.GPUs {
		address, err := ParseAddress(string(f.PCI))
		if f.PCI != "" && err != nil {
			s.warn(WarnUnreadable, "NVML", "%v.", err)
			continue
		}
		g := known[address]
		if g == nil || address == "" {
			g = &GPU{PCI: address}
			seen := slices.ContainsFunc(s.PCI, func(d *PCIDevice) bool { return d.Address == address })
			if address != "" && !seen {
				s.PCI = append(s.PCI, &PCIDevice{Address: address, Vendor: vendorNVIDIA})
			}
			if address != "" {
				r.driverFacts(g)
			}
		}
		delete(known, address)
		g.take(f)
		ordered = append(ordered, g)
	}
	// What NVML does not list (another vendor's, or one that it cannot open)
	// comes after what it lists.
	next := 0
	for _, g := range ordered {
		next = max(next, g.Index+1)
	}
	for _, g := range s.GPUs {
		if known[g.PCI] != nil {
			g.Index = next
			next++
			ordered = append(ordered, g)
		}
	}
	s.GPUs = ordered
	s.Stated = append(s.Stated, facts.Pairs...)
}

func (g *GPU) take(f GPUFact) {
	g.Index = f.Index
	if f.UUID != "" {
		g.UUID = f.UUID
	}
	if f.Name != "" {
		g.Name = f.Name
	}
	g.StatedNode, g.StatedCPUs = f.Node, f.CPUs
	if f.MemoryNode != nil {
		g.MemoryNode = f.MemoryNode
	}
	g.NVLinks, g.C2CLinks, g.MIG = f.NVLinks, f.C2CLinks, f.MIG
	g.ComputeCapability = f.ComputeCapability
	if f.Minor != nil {
		g.DeviceFile = fmt.Sprintf("/dev/nvidia%d", *f.Minor)
	}
}
