package topo

// System is a machine as it was read: its NUMA nodes, PCI functions, GPUs, RDMA
// devices and network interfaces, and what is wrong with them. It is a plain
// value: whoever builds one fills the lists and calls Finish, which sorts and
// checks them. After that it does not change, and is safe for concurrent use.
type System struct {
	// Source says where the facts come from: "live", "sysfs", or the name of
	// the format that was parsed.
	Source string `json:"source"`

	Host    Host         `json:"host"`
	Nodes   []*NUMANode  `json:"nodes"`   // by number
	PCI     []*PCIDevice `json:"pci"`     // by address
	GPUs    []*GPU       `json:"gpus"`    // by index
	HCAs    []*HCA       `json:"hcas"`    // in natural order of their names
	Netdevs []*Netdev    `json:"netdevs"` // in natural order of their names

	// Stated are paths that a tool told (nvidia-smi topo -m, NVML) and that were
	// not worked out from the PCI tree.
	Stated []StatedPath `json:"stated,omitempty"`

	Warnings []Warning `json:"warnings,omitempty"`

	// Lookups, made by Finish.
	devices map[Address]*PCIDevice
	nodes   map[int]*NUMANode
	netdevs map[string]*Netdev
	labels  map[string]Endpoint // GPUs and HCAs
	told    map[[2]string]*StatedPath
}

// Host is what the machine says about itself as a whole.
type Host struct {
	CPU CPUInfo `json:"cpu"`

	// OnlineCPUs are the CPUs that can run, nil where that is not known.
	OnlineCPUs CPUSet `json:"onlineCPUs,omitempty"`

	// Virtual is the kind of virtual machine ("KVM", "Microsoft Hyper-V",
	// "hypervisor" where it does not say), "" where none is seen.
	Virtual string `json:"virtual,omitempty"`
	// Container is the kind of container ("docker", "kubernetes", "container"
	// where it does not say), "" where none is seen.
	Container string `json:"container,omitempty"`

	// Flat says that the PCI tree shows no bridge between GPUs, HCAs and the
	// root of a virtual machine, so that nothing follows from it.
	Flat bool `json:"flat,omitempty"`
	// TopologyFile is the file that told the tree where the machine's own does
	// not: NCCL_TOPO_FILE or virtualTopology.xml. "" where there is none.
	TopologyFile string `json:"topologyFile,omitempty"`
}

// CPUInfo is what /proc/cpuinfo and NCCL's XML say about the processors. A field
// is zero where it is not known; no processor has a family of 0.
type CPUInfo struct {
	Arch   string `json:"arch,omitempty"`   // x86_64, arm64, ppc64
	Vendor string `json:"vendor,omitempty"` // GenuineIntel, AuthenticAMD
	Family int    `json:"family,omitempty"`
	Model  int    `json:"model,omitempty"`
}

// NUMANode is a node of the memory system.
type NUMANode struct {
	ID     int  `json:"id"`
	Online bool `json:"online"`
	// CPUs of the node. A node that has only memory (the memory of a GPU on
	// POWER9 or Grace, CXL) has none: nothing can run there.
	CPUs CPUSet `json:"cpus"`
	// CPUsKnown is false where the source does not tell the CPUs; then an empty
	// list means nothing.
	CPUsKnown bool `json:"cpusKnown"`
	// Mask is the affinity mask as the source wrote it, "" where it wrote none or
	// wrote the CPUs in another form.
	Mask string `json:"mask,omitempty"`
	// Memory in bytes, nil where it is not known.
	Memory *uint64 `json:"memory,omitempty"`
	// Distances to the nodes, by node number: 10 is local. It is nil where they
	// are not known.
	Distances map[int]int `json:"distances,omitempty"`
}

// MemoryOnly reports whether the node is known to have no CPU.
func (n *NUMANode) MemoryOnly() bool { return n.CPUsKnown && len(n.CPUs) == 0 }

// BridgeKind says what a PCI bridge is a part of.
type BridgeKind string

const (
	// NotBridge is an endpoint.
	NotBridge BridgeKind = ""
	// RootPort leads from the host bridge to one device or switch. It is part
	// of no switch.
	RootPort BridgeKind = "root port"
	// SwitchUpstream is the port of a switch towards the CPU.
	SwitchUpstream BridgeKind = "switch upstream port"
	// SwitchDownstream is a port of a switch away from the CPU. Its parent is
	// the switch's upstream port.
	SwitchDownstream BridgeKind = "switch downstream port"
	// WholeSwitch stands for all ports of a switch, as in NCCL's XML, where a
	// switch is one element.
	WholeSwitch BridgeKind = "switch"
	// PlainBridge is any other bridge: PCIe to PCI, or virtual.
	PlainBridge BridgeKind = "bridge"
)

// PCIDevice is one PCI function. Bridges are functions too.
type PCIDevice struct {
	Address Address `json:"address"`
	// Parent is the bridge above, "" for a function on a root bus and where the
	// place is not known.
	Parent Address `json:"parent,omitempty"`
	// Root is the host bridge, "pci0000:00", and "" where it is not known: NCCL's
	// XML does not tell it.
	Root string `json:"root,omitempty"`
	// Placed says that the tree above is known: a function without Parent is on
	// its root bus. It is false where only the address was told.
	Placed bool `json:"placed"`

	Bridge BridgeKind `json:"bridge,omitempty"`
	// Class is the class code of three bytes, 0x030200 for a GPU without display,
	// and 0 where it is not known.
	Class           Class  `json:"class,omitempty"`
	Vendor          ID     `json:"vendor,omitempty"`
	Device          ID     `json:"device,omitempty"`
	SubsystemVendor ID     `json:"subsystemVendor,omitempty"`
	SubsystemDevice ID     `json:"subsystemDevice,omitempty"`
	Name            string `json:"name,omitempty"`   // in words, where the source has it
	Driver          string `json:"driver,omitempty"` // "" where none is bound or seen

	Link Link `json:"link"`

	// StatedNode is the NUMA node as the source gave it for this very function,
	// nil for -1 or nothing. NUMA is what Finish made of it.
	StatedNode *int `json:"statedNode,omitempty"`
	NUMA       NUMA `json:"numa"`
	// LocalCPUs as the kernel lists them, nil where it does not.
	LocalCPUs CPUSet `json:"localCPUs,omitempty"`

	PhysFn Address `json:"physfn,omitempty"` // of a virtual function: its physical one
	VFs    int     `json:"vfs,omitempty"`    // virtual functions that are enabled
}

// NUMA is a device's NUMA node, with the evidence.
type NUMA struct {
	// Node is nil where it is not known. It is never a made-up 0.
	Node *int `json:"node"`
	// From says how it is known, or why it is not: "numa_node of 0000:00:01.1".
	From string `json:"from,omitempty"`

	weak bool // nothing but that the host has no other node
}

// Known returns the node, and false where it is not known.
func (n NUMA) Known() (int, bool) {
	if n.Node == nil {
		return 0, false
	}
	return *n.Node, true
}

// GPU is a graphics processor.
type GPU struct {
	// Index counts the GPUs as nvidia-smi does. Without NVML it is the order of
	// the PCI addresses, which is what nvidia-smi shows unless told otherwise.
	Index int     `json:"index"`
	PCI   Address `json:"pci"` // "" where the source has none
	UUID  string  `json:"uuid,omitempty"`
	Name  string  `json:"name,omitempty"`
	NUMA  NUMA    `json:"numa"`
	// StatedNode is a NUMA node that a tool told for the GPU (NVML's memory
	// affinity, the matrix of nvidia-smi), nil where none did.
	StatedNode *int `json:"statedNode,omitempty"`
	// StatedCPUs are the CPUs that a tool told for the GPU, nil where none did.
	StatedCPUs CPUSet `json:"statedCPUs,omitempty"`
	// MemoryNode is the NUMA node that the GPU's own memory forms (POWER9,
	// Grace), nil where it forms none. It says nothing about locality.
	MemoryNode *int `json:"memoryNode,omitempty"`

	NVLinks []NVLink `json:"nvlinks,omitempty"`
	MIG     []MIG    `json:"mig,omitempty"`
	// C2CLinks counts the chip-to-chip links to the CPU of a superchip (Grace), 0
	// where there are none or none are known.
	C2CLinks int `json:"c2cLinks,omitempty"`

	ComputeCapability int   `json:"computeCapability,omitempty"` // 90 for 9.0; 0 where not known
	GPUDirect         *bool `json:"gpudirect,omitempty"`         // nil where not known

	// DeviceFile is the file that programs open, "/dev/nvidia0", "" where its
	// number is not known. DeviceFilePresent is nil where nobody looked.
	DeviceFile        string `json:"deviceFile,omitempty"`
	DeviceFilePresent *bool  `json:"deviceFilePresent,omitempty"`
}

// LinkPeer is what an NVLink ends at.
type LinkPeer string

const (
	PeerGPU     LinkPeer = "GPU"
	PeerSwitch  LinkPeer = "NVSwitch"
	PeerCPU     LinkPeer = "CPU"
	PeerUnknown LinkPeer = ""
)

// NVLink is the bundle of active NVLinks from a GPU to one peer.
type NVLink struct {
	Peer    LinkPeer `json:"peer"`
	Address Address  `json:"address,omitempty"` // of the peer, "" where it has none or is not known
	Count   int      `json:"count"`             // active links
	Version int      `json:"version,omitempty"` // of NVLink, 0 where not known
}

// MIG is a slice of a GPU. It shares the GPU's place.
type MIG struct {
	UUID string `json:"uuid"`
	Name string `json:"name,omitempty"`
}

// HCAKind says what an RDMA device is.
type HCAKind string

const (
	KindUnknown  HCAKind = ""
	KindPF       HCAKind = "PF"       // a physical function
	KindVF       HCAKind = "VF"       // a virtual function
	KindBond     HCAKind = "bond"     // several functions behind one device
	KindSoftware HCAKind = "software" // rxe, siw: stands on a network interface
)

// HCA is an RDMA device.
type HCA struct {
	Name string  `json:"name"` // mlx5_0
	Kind HCAKind `json:"kind,omitempty"`
	// PCI are the functions behind the device, its own first: one, both of a
	// bond, none of a software device that stands on no PCI function.
	PCI    []Address `json:"pci,omitempty"`
	Parent string    `json:"parent,omitempty"` // the netdev that a software device stands on
	NUMA   NUMA      `json:"numa"`
	// StatedNode is a NUMA node that a tool told for the device, nil where none
	// did.
	StatedNode *int `json:"statedNode,omitempty"`

	NodeGUID     string `json:"nodeGUID,omitempty"` // as sysfs writes it
	SysImageGUID string `json:"sysImageGUID,omitempty"`
	Model        string `json:"model,omitempty"` // MT4129
	Firmware     string `json:"firmware,omitempty"`
	BoardID      string `json:"boardID,omitempty"`

	Ports []Port `json:"ports"`

	// Uverbs is the name of the device file under /dev/infiniband, "uverbs0",
	// "" where the kernel has none. UverbsPresent is nil where nobody looked: in
	// a container the name can be there and the file missing.
	Uverbs        string `json:"uverbs,omitempty"`
	UverbsPresent *bool  `json:"uverbsPresent,omitempty"`

	// Management says that the function serves a machine's NVSwitch fabric and
	// not its users: it is neither chosen nor counted.
	Management bool  `json:"management,omitempty"`
	GPUDirect  *bool `json:"gpudirect,omitempty"` // nil where not known
}

// PortState is the logical state of a port in the kernel's word, ACTIVE, DOWN,
// INIT, ARMED; "" where it is not known.
type PortState string

const (
	PortActive PortState = "ACTIVE"
	PortDown   PortState = "DOWN"
	PortInit   PortState = "INIT"
	PortArmed  PortState = "ARMED"
)

// LinkLayer is what a port speaks: InfiniBand or Ethernet (RoCE, iWARP); ""
// where it is not known.
type LinkLayer string

const (
	InfiniBand LinkLayer = "InfiniBand"
	Ethernet   LinkLayer = "Ethernet"
)

// Port is a port of an RDMA device.
type Port struct {
	Number    int       `json:"number"` // from 1
	State     PortState `json:"state,omitempty"`
	PhysState string    `json:"physState,omitempty"` // LinkUp
	LinkLayer LinkLayer `json:"linkLayer,omitempty"`
	// RateGbps is the rate in Gb/s as the kernel tells it, 0 where it is not
	// known. 200 Gb/s are 25 GB/s. The rate of a bond may be that of one port.
	RateGbps float64 `json:"rateGbps,omitempty"`
	// Netdevs are the interfaces of the port, none where no interface is seen, as
	// when it lives in another network namespace.
	Netdevs []string `json:"netdevs,omitempty"`
	GIDs    []GID    `json:"gids,omitempty"` // entries in use, by index
}

// Usable reports whether the port can carry data now, and false for ok where the
// source does not tell its state.
func (p Port) Usable() (usable, ok bool) { return p.State == PortActive, p.State != "" }

// GID is an entry of a port's GID table.
type GID struct {
	Index  int    `json:"index"`
	GID    string `json:"gid"`            // as sysfs writes it
	Type   string `json:"type,omitempty"` // "RoCE v2", "IB/RoCE v1"
	Netdev string `json:"netdev,omitempty"`
}

// Netdev is a network interface.
type Netdev struct {
	Name  string   `json:"name"`
	PCI   Address  `json:"pci,omitempty"`   // "" for one that stands on no PCI function
	Lower []string `json:"lower,omitempty"` // of a bond, bridge or VLAN: what it stands on
	Up    *bool    `json:"up,omitempty"`    // operstate, nil where not known
	MAC   string   `json:"mac,omitempty"`
	// Type is the kernel's ARPHRD number, 1 for Ethernet, 32 for InfiniBand, nil
	// where it is not known.
	Type *int `json:"type,omitempty"`
	// SpeedMbps is nil where it is not known: the link is down.
	SpeedMbps *int `json:"speedMbps,omitempty"`
	// RDMA are the devices that the interface belongs to.
	RDMA []string `json:"rdma,omitempty"`
	NUMA NUMA     `json:"numa"`
}

// StatedPath is a path that a tool told. A and B are labels: "GPU0", or the name
// of an RDMA device.
type StatedPath struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Path Path   `json:"path"`
	By   string `json:"by"` // "nvidia-smi", "NVML"
}

// Warning is something about the machine that its owner should know.
type Warning struct {
	Code   WarningCode `json:"code"`
	Device string      `json:"device,omitempty"` // what it is about: an address, a name
	Text   string      `json:"text"`             // one sentence, with the remedy where one is known
}

// WarningCode names a kind of warning, so that programs need not read its text.
type WarningCode string
