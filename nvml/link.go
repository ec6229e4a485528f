package nvml

import (
	"fmt"
	"math"
)

// Link is one NVLink of a GPU.
type Link struct {
	Number int `json:"number"`
	// Active is nil where the driver does not tell.
	Active  *bool        `json:"active,omitempty"`
	Version *LinkVersion `json:"version,omitempty"`
	// Peer is the PCI address of the other end; empty where the driver does
	// not tell, as in virtual machines without the switches.
	Peer     string   `json:"peer,omitempty"`
	PeerType PeerType `json:"peer_type,omitempty"`
	// Raw is the line rate per direction in GB/s as NVML prints it: 26.562 on
	// Hopper. It holds what runs now.
	Raw *float64 `json:"raw,omitempty"`
}

// Up reports whether the link is known to be active.
func (l Link) Up() bool { return l.Active != nil && *l.Active }

// Rate returns the payload rate per direction in GB/s (10^9 bytes): the line
// rate less what the link's encoding takes. 25 on Hopper. ok is false without
// a line rate, or with a version of NVLink that this package does not know.
func (l Link) Rate() (rate float64, ok bool) {
	if l.Raw == nil || l.Version == nil {
		return 0, false
	}
	share, ok := linkPayload[*l.Version]
	// NVML cuts the line rate to whole MB/s: 26.562 is 26.5625.
	return math.Round(*l.Raw*share*1000) / 1000, ok
}

// LinkVersion is NVML's number for a version of NVLink, which is not the
// version: 6 is NVLink 4.0.
type LinkVersion int

// The versions that NVML knows.
const (
	NVLink1  LinkVersion = 1 // Pascal
	NVLink2  LinkVersion = 2 // Volta
	NVLink22 LinkVersion = 3
	NVLink3  LinkVersion = 4 // Ampere
	NVLink31 LinkVersion = 5
	NVLink4  LinkVersion = 6 // Hopper
	NVLink5  LinkVersion = 7 // Blackwell
	NVLink6  LinkVersion = 8
)

var linkVersions = map[LinkVersion]string{
	NVLink1: "1.0", NVLink2: "2.0", NVLink22: "2.2", NVLink3: "3.0",
	NVLink31: "3.1", NVLink4: "4.0", NVLink5: "5.0", NVLink6: "6.0",
}

// linkPayload is the share of the line rate that carries data. NVML's rate has
// the line code in it for some versions and not for others: 25.781 for the
// second (64 bits in 66), 25 for the third, 26.562 for the fourth and 53.125 for
// the fifth (16 parts in 17). The sixth is left out until one was seen.
var linkPayload = map[LinkVersion]float64{
	NVLink1: 1, NVLink2: 64.0 / 66, NVLink22: 64.0 / 66, NVLink3: 1,
	NVLink31: 1, NVLink4: 16.0 / 17, NVLink5: 16.0 / 17,
}

// String returns "4.0".
func (v LinkVersion) String() string {
	if text, ok := linkVersions[v]; ok {
		return text
	}
	return fmt.Sprintf("NVML's %d", int(v))
}

// PeerType is what stands at the other end of an NVLink. The zero value is
// unknown.
type PeerType int

// What can stand at the other end.
const (
	PeerUnknown PeerType = iota
	PeerGPU
	PeerSwitch
	PeerNPU // an IBM POWER9 processor
)

// String returns "GPU", "switch", "NPU" or "unknown".
func (p PeerType) String() string {
	switch p {
	case PeerGPU:
		return "GPU"
	case PeerSwitch:
		return "switch"
	case PeerNPU:
		return "NPU"
	}
	return "unknown"
}

// LinkSum is what a set of NVLinks amounts to.
type LinkSum struct {
	Links  int // how many the GPU has
	Active int
	// Rate is the payload rate per direction of the active links together in
	// GB/s: 450 on an H200. Nil if that of an active link is unknown.
	Rate *float64
}

// SumLinks adds up a GPU's links.
func SumLinks(links []Link) LinkSum {
	sum := LinkSum{Links: len(links)}
	total, known := 0.0, true
	for _, l := range links {
		if !l.Up() {
			continue
		}
		sum.Active++
		rate, ok := l.Rate()
		total, known = total+rate, known && ok
	}
	if known {
		sum.Rate = &total
	}
	return sum
}

// LinksBetween counts the active NVLinks between two GPUs, the number of
// nvidia-smi's NV#, from each one's links and PCI address. Links to a switch
// count as links to every GPU that has some too, and the smaller number holds.
// ok is false if an active link's other end is unknown.
func LinksBetween(a, b GPU, linksOfA, linksOfB []Link) (count int, ok bool) {
	directA, switchedA, ok1 := endsAt(linksOfA, b.PCIAddress)
	directB, switchedB, ok2 := endsAt(linksOfB, a.PCIAddress)
	return min(directA, directB) + min(switchedA, switchedB), ok1 && ok2
}

func endsAt(links []Link, address string) (direct, switched int, ok bool) {
	ok = true
	for _, l := range links {
		switch {
		case !l.Up():
		case l.PeerType == PeerSwitch:
			switched++
		case l.Peer == "":
			ok = false
		case l.Peer == address:
			direct++
		}
	}
	return direct, switched, ok
}
