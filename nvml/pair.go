package nvml

import "fmt"

// Pair is what lies between two GPUs. Absent values are nil.
type Pair struct {
	// Ancestor is the nearest thing on PCI that both hang on. NVLinks do not
	// change it.
	Ancestor *Ancestor `json:"ancestor,omitempty"`
	// Whether the first GPU may read and write the second's memory, by NVLink
	// or else by PCI, and whether it may do so by NVLink, with atomics, by PCI.
	Read    *P2PStatus `json:"read,omitempty"`
	Write   *P2PStatus `json:"write,omitempty"`
	NVLink  *P2PStatus `json:"nvlink,omitempty"`
	Atomics *P2PStatus `json:"atomics,omitempty"`
	PCI     *P2PStatus `json:"pci,omitempty"`
}

// Ancestor is the nearest common ancestor of two GPUs on PCI, with NVML's
// numbers: a greater one is further.
type Ancestor int

// NVML's ancestors and the words of nvidia-smi topo -m for them.
const (
	AncestorInternal   Ancestor = 0  // two GPUs of one board
	AncestorSingle     Ancestor = 10 // PIX: one PCI switch
	AncestorMultiple   Ancestor = 20 // PXB: several switches, no host bridge
	AncestorHostBridge Ancestor = 30 // PHB: a host bridge
	AncestorNode       Ancestor = 40 // NODE: host bridges of one NUMA node
	AncestorSystem     Ancestor = 50 // SYS: the link between NUMA nodes
)

// String returns the word of nvidia-smi topo -m. It prints PIX for
// AncestorInternal too.
func (a Ancestor) String() string {
	switch a {
	case AncestorInternal, AncestorSingle:
		return "PIX"
	case AncestorMultiple:
		return "PXB"
	case AncestorHostBridge:
		return "PHB"
	case AncestorNode:
		return "NODE"
	case AncestorSystem:
		return "SYS"
	}
	return fmt.Sprintf("ancestor %d", int(a))
}

// P2PStatus says whether one GPU reaches another, and why not.
type P2PStatus int

// NVML's answers.
const (
	P2POK                  P2PStatus = 0
	P2PChipsetNotSupported P2PStatus = 1
	P2PGPUNotSupported     P2PStatus = 2
	P2PNoPath              P2PStatus = 3 // the I/O hub's topology does not allow it
	P2PDisabled            P2PStatus = 4 // by a setting of the driver
	P2PNotSupported        P2PStatus = 5
	P2PUnknown             P2PStatus = 6
)

var p2pTexts = map[P2PStatus]string{
	P2POK:                  "OK",
	P2PChipsetNotSupported: "not supported by the chipset",
	P2PGPUNotSupported:     "not supported by the GPU",
	P2PNoPath:              "not possible through this I/O hub",
	P2PDisabled:            "disabled by a setting of the driver",
	P2PNotSupported:        "not supported",
	P2PUnknown:             "unknown",
}

// String returns the status in words: "OK", "not supported by the GPU".
func (s P2PStatus) String() string {
	if text, ok := p2pTexts[s]; ok {
		return text
	}
	return fmt.Sprintf("P2P status %d", int(s))
}
