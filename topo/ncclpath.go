package topo

import (
	"fmt"
	"strconv"
)

// NCCLPath is how two devices reach each other in NCCL's words and order, nearest
// first. The zero NCCLPath is NCCLUnknown.
type NCCLPath int

const (
	NCCLUnknown NCCLPath = iota
	NCCLLOC              // the device itself
	NCCLNVL              // NVLinks, through NVSwitches or not
	NCCLNVB              // NVLinks by way of another GPU
	NCCLC2C              // chip-to-chip links
	NCCLPIX              // one PCIe switch
	NCCLPXB              // several PCIe switches
	NCCLP2C              // chip-to-chip to the CPU, then PCIe to the NIC
	NCCLPXN              // NVLink to a GPU that is near the NIC
	NCCLPHB              // through a CPU; NCCL has no NODE, it is PHB
	NCCLSYS              // between NUMA nodes
	NCCLNET              // over the network
)

var ncclNames = [...]string{
	NCCLUnknown: "?", NCCLLOC: "LOC", NCCLNVL: "NVL", NCCLNVB: "NVB", NCCLC2C: "C2C", NCCLPIX: "PIX",
	NCCLPXB: "PXB", NCCLP2C: "P2C", NCCLPXN: "PXN", NCCLPHB: "PHB", NCCLSYS: "SYS", NCCLNET: "NET",
}

// String returns NCCL's word, "?" for NCCLUnknown.
func (p NCCLPath) String() string {
	if p < 0 || int(p) >= len(ncclNames) {
		return "NCCLPath(" + strconv.Itoa(int(p)) + ")"
	}
	return ncclNames[p]
}

// MarshalText implements encoding.TextMarshaler with the words of String.
func (p NCCLPath) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// GPUDirect reports whether NCCL moves data between a NIC and a GPU's memory
// directly over such a path, by default: up to P2C.
func (p NCCLPath) GPUDirect() bool { return p != NCCLUnknown && p <= NCCLP2C }

// NCCLPath tells how NCCL sees the way between two devices before it reroutes
// anything: a two-level Broadcom switch counts as one switch (NCCL flattens it),
// NODE is PHB. Where NCCL would send a GPU's traffic through another GPU that is
// nearer to the NIC (PXN), the Explanation says so; the path is still the GPU's
// own. What NCCL logs differs where it has no GPUDirect: it reroutes through the
// CPU and logs PHB.
func (s *System) NCCLPath(a, b Endpoint) (NCCLPath, Explanation) {
	if absent(a) || absent(b) {
		return NCCLUnknown, Explanation{Reason: absentText}
	}
	if a == b {
		return NCCLLOC, Explanation{Reason: a.Label() + " is the device itself."}
	}
	ga, ok1 := a.(*GPU)
	gb, ok2 := b.(*GPU)
	if ok1 && ok2 {
		if n, how := s.nvlinks(ga, gb); n > 0 {
			return NCCLNVL, Explanation{Reason: how + "."}
		}
		if mid := s.nvlinkBetween(ga, gb); mid != nil {
			return NCCLNVB, Explanation{Reason: fmt.Sprintf("NVLinks lead from %s over %s to %s.", ga.Label(), mid.Label(), gb.Label())}
		}
	}
	pci, why := s.PCIPath(a, b)
	path := s.ncclFromPCI(pci, a, b, &why)
	if path == NCCLPHB && (ok1 && !ok2 && ga.C2CLinks > 0 || ok2 && !ok1 && gb.C2CLinks > 0) {
		path = NCCLP2C
		why.Reason += " The GPU reaches its CPU over chip-to-chip links."
	}
	if gpu := s.pxn(a, b, path); gpu != nil {
		why.Reason += fmt.Sprintf(" NCCL goes by NVLink to %s, which is nearer (PXN).", gpu.Label())
	}
	return path, why
}

func (s *System) ncclFromPCI(pci Path, a, b Endpoint, why *Explanation) NCCLPath {
	switch pci {
	case PIX:
		return NCCLPIX
	case PXB:
		if s.flattened(why.Via) {
			why.Reason += " NCCL takes the two levels of this Broadcom switch for one."
			return NCCLPIX
		}
		return NCCLPXB
	case PHB, PHBOrNODE, NODE:
		return NCCLPHB
	case SYS:
		// A tool that says SYS everywhere is not believed against NUMA nodes that
		// match: NCCL goes by the nodes.
		if same, known := sameNode(a.numa(), b.numa()); known && same {
			return NCCLPHB
		}
		return NCCLSYS
	}
	return NCCLUnknown
}

// broadcomGeneration returns 4 or 5 for the switches whose two levels NCCL
// flattens, and 0 for every other. Level 0 is the outer one. The fourth
// generation has one number for both levels, the fifth one for each.
func broadcomGeneration(d *PCIDevice, level int) int {
	if d.Vendor != vendorBroadcom || d.SubsystemVendor != vendorBroadcom {
		return 0
	}
	kind := d.SubsystemDevice &^ 0x0fff
	switch {
	case d.Device == 0xc010 && kind == 0xa000:
		return 4
	case d.Device == 0xc030 && kind == ID(level)<<12:
		return 5
	}
	return 0
}

// flattened reports whether the bridges on a way are one switch to NCCL: after
// each inner level is taken into the outer level above it, one is left.
func (s *System) flattened(via []Address) bool {
	left := map[Address]bool{}
	for _, a := range via {
		d := s.devices[a]
		if d == nil {
			return false
		}
		u := s.unit(d)
		if u == nil {
			continue
		}
		if outer := s.unitAbove(u); outer != nil {
			if gen := broadcomGeneration(outer, 0); gen != 0 && broadcomGeneration(u, 1) == gen {
				u = outer
			}
		}
		left[u.Address] = true
	}
	return len(left) == 1
}

// unitAbove returns the switch that a switch hangs below, nil where it is the
// first.
func (s *System) unitAbove(u *PCIDevice) *PCIDevice {
	for _, b := range s.bridgesAbove(u.Address) {
		if up := s.unit(b); up != u {
			return up
		}
	}
	return nil
}

// nvlinkBetween finds a GPU that both have NVLinks to.
func (s *System) nvlinkBetween(a, b *GPU) *GPU {
	for _, mid := range s.GPUs {
		if mid != a && mid != b && s.NVLinks(a, mid) > 0 && s.NVLinks(mid, b) > 0 {
			return mid
		}
	}
	return nil
}

// pxn returns the GPU through which NCCL reaches a NIC when the GPU's own way is
// farther than PXB, nil where it goes itself.
func (s *System) pxn(a, b Endpoint, own NCCLPath) *GPU {
	gpu, ok1 := a.(*GPU)
	hca, ok2 := b.(*HCA)
	if !ok1 || !ok2 {
		gpu, ok1 = b.(*GPU)
		hca, ok2 = a.(*HCA)
	}
	if !ok1 || !ok2 || own <= NCCLPXB {
		return nil
	}
	for _, peer := range s.GPUs {
		if peer == gpu || s.NVLinks(gpu, peer) == 0 {
			continue
		}
		p, why := s.PCIPath(peer, hca)
		if near := s.ncclFromPCI(p, peer, hca, &why); near == NCCLPIX || near == NCCLPXB {
			return peer
		}
	}
	return nil
}
