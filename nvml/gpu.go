package nvml

// System is what a machine runs. An empty string or nil was not told.
type System struct {
	Driver string `json:"driver,omitempty"` // "580.159.04"
	NVML   string `json:"nvml,omitempty"`   // "13.580.159.04"
	// CUDA is the newest CUDA that the driver runs: 13000 is 13.0.
	CUDA *int `json:"cuda,omitempty"`
	// Library is the file that answered; empty for a source without one.
	Library string `json:"library,omitempty"`
}

// GPU is one board as it does not change while the machine runs. Absent values
// are nil or empty.
type GPU struct {
	Index  int    `json:"index"` // in NVML's order
	UUID   string `json:"uuid"`  // "GPU-…", 40 characters
	Name   string `json:"name,omitempty"`
	Serial string `json:"serial,omitempty"`
	// PCIAddress has the form of ParsePCIAddress: "0000:1b:00.0".
	PCIAddress string `json:"pci_address,omitempty"`
	// PCIVendor and PCIDevice are the ids of PCI's configuration space:
	// 0x10de, 0x2335.
	PCIVendor *uint16 `json:"pci_vendor,omitempty"`
	PCIDevice *uint16 `json:"pci_device,omitempty"`
	// Minor is N of /dev/nvidiaN.
	Minor *int `json:"minor,omitempty"`
	// ComputeCapability is {9, 0} on Hopper.
	ComputeCapability *[2]int `json:"compute_capability,omitempty"`

	// Nodes are the NUMA nodes that the driver calls near, ascending. More
	// than one: the driver does not tell which is nearest.
	Nodes []int `json:"numa_nodes,omitempty"`
	// CPUs are the processors that the driver calls near. The set can be
	// wrong: check it against the CPUs that are online.
	CPUs CPUSet `json:"cpus,omitempty"`
	// MemoryNode is the NUMA node that the GPU's own memory is, on machines
	// where it is one (Grace). It has no CPUs and says nothing on locality.
	MemoryNode *int `json:"memory_node,omitempty"`

	// Memory is the board's memory in bytes.
	Memory *uint64 `json:"memory,omitempty"`
	// PCIeMax is what GPU and slot together can do; PCIeOwn what the GPU can.
	// What runs now stands in Status: an idle GPU slows its link down.
	PCIeMax PCIe `json:"pcie_max"`
	PCIeOwn PCIe `json:"pcie_own"`
	// C2CLinks counts the chip-to-chip links to the CPU of a superchip.
	C2CLinks *int `json:"c2c_links,omitempty"`
	// Fabric is the NVLink fabric that the GPU belongs to, where there is one.
	Fabric *Fabric `json:"fabric,omitempty"`
	// MIG is nil on a GPU that cannot be partitioned.
	MIG *MIG `json:"mig,omitempty"`
}

// NUMANode returns the NUMA node that is near, if the driver names exactly one.
func (g GPU) NUMANode() (node int, ok bool) {
	if len(g.Nodes) != 1 {
		return 0, false
	}
	return g.Nodes[0], true
}

// PCIe is a PCI Express link.
type PCIe struct {
	Generation *int `json:"generation,omitempty"` // 5 is 32 GT/s per lane
	Width      *int `json:"width,omitempty"`      // lanes
}

// pcieLaneRates are the payload rates of one lane and direction in GB/s, from
// generation 1: line rate less the encoding.
var pcieLaneRates = []float64{0.25, 0.5, 0.984375, 1.96875, 3.9375, 7.5625}

// Rate returns the link's rate per direction in GB/s (10^9 bytes): 31.5 for
// generation 4 with 16 lanes. ok is false if either is unknown.
func (p PCIe) Rate() (rate float64, ok bool) {
	if p.Generation == nil || p.Width == nil || *p.Generation < 1 || *p.Generation > len(pcieLaneRates) {
		return 0, false
	}
	return pcieLaneRates[*p.Generation-1] * float64(*p.Width), true
}

// Fabric is the membership of a GPU in an NVLink fabric: one machine's NVSwitch
// board, or many machines' on a GB200 or GB300 rack.
type Fabric struct {
	// Cluster is the fabric's UUID; empty where the driver gives none, as on
	// one machine's NVSwitch board.
	Cluster string `json:"cluster,omitempty"`
	// Clique: GPUs of one cluster and clique reach each other by NVLink.
	Clique uint32 `json:"clique"`
	// State is "not started", "in progress" or "completed". CUDA waits for
	// "completed".
	State string `json:"state"`
}

// MIG is the partitioning of a GPU.
type MIG struct {
	Enabled bool `json:"enabled"`
	// Pending is the mode after the next reset.
	Pending bool        `json:"pending"`
	Devices []MIGDevice `json:"devices,omitempty"`
}

// MIGDevice is one partition. Its place in the machine is its GPU's.
type MIGDevice struct {
	Index           int     `json:"index"` // within the GPU
	UUID            string  `json:"uuid"`  // "MIG-…"
	Name            string  `json:"name,omitempty"`
	GPUInstance     *int    `json:"gpu_instance,omitempty"`
	ComputeInstance *int    `json:"compute_instance,omitempty"`
	Memory          *uint64 `json:"memory,omitempty"` // bytes
}
