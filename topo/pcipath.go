package topo

import (
	"fmt"
	"strings"
)

// Explanation says how a path was found.
type Explanation struct {
	// Reason is one sentence about the path.
	Reason string
	// Via are the bridges between the two, from the first to the second, with the
	// one where both ways meet; none where there is none or they are not known.
	Via []Address
	// Switches counts the PCIe switches and bridges on the way.
	Switches int
	// CannotTell is not "" where the path is only what the source shows and not
	// what the hardware is: a flat virtual machine.
	CannotTell string
	// Stated is what a tool told about the pair, nil where none did.
	Stated *StatedPath
}

// String returns the sentences one after the other.
func (e Explanation) String() string {
	parts := []string{e.Reason}
	if e.CannotTell != "" {
		parts = append(parts, e.CannotTell)
	}
	if e.Stated != nil {
		parts = append(parts, fmt.Sprintf("%s says %s.", e.Stated.By, e.Stated.Path))
	}
	return strings.Join(parts, " ")
}

const flatText = "This virtual machine shows no PCIe switches, so it cannot be told which devices share one."

// Path tells how two devices reach each other in the words of nvidia-smi, NVLinks
// first: NV# replaces the PCI path of two GPUs. See PCIPath for the rest.
func (s *System) Path(a, b Endpoint) (Path, Explanation) {
	pci, why := s.PCIPath(a, b)
	if absent(a) || absent(b) {
		return pci, why
	}
	ga, ok1 := a.(*GPU)
	gb, ok2 := b.(*GPU)
	if !ok1 || !ok2 || ga == gb {
		return pci, why
	}
	if n, how := s.nvlinks(ga, gb); n > 0 {
		why.Reason = fmt.Sprintf("%s (%s by PCI).", how, pci)
		return NV(n), why
	}
	return pci, why
}

// PCIPath tells how two devices reach each other over PCI, with these rules:
//
//   - the same function is LOC, another function of one device PIX;
//   - one switch or bridge between them is PIX, more are PXB;
//   - the same root and no common bridge is PHB;
//   - another root of the same NUMA node is NODE, of another node SYS.
//
// Where a root is not known (NCCL's XML), one node is PHBOrNODE. Without a place
// on PCI, and where a NUMA node is missing, the answer is what a tool told about
// the pair, else PathUnknown.
func (s *System) PCIPath(a, b Endpoint) (Path, Explanation) {
	if absent(a) || absent(b) {
		return PathUnknown, Explanation{Reason: absentText}
	}
	stated := s.stated(a, b)
	if a == b {
		return LOC, Explanation{Reason: a.Label() + " is the device itself.", Stated: stated}
	}
	best, why := s.functionPath(a, b)
	why.Stated = stated
	if s.Host.Flat && best != PathUnknown && best != PIX {
		why.CannotTell = flatText
	}
	if best == PathUnknown && stated != nil {
		why.Reason = fmt.Sprintf("The place of %s and %s on PCI is not known.", a.Label(), b.Label())
		if n, ok := stated.Path.NVLinks(); ok {
			why.Reason += fmt.Sprintf(" They share %d NVLinks.", n)
			return PathUnknown, why
		}
		return stated.Path, why
	}
	return best, why
}

// functionPath takes the nearest of the paths between the functions of the two.
func (s *System) functionPath(a, b Endpoint) (Path, Explanation) {
	best := PathUnknown
	why := Explanation{Reason: fmt.Sprintf("The place of %s is not known.", a.Label())}
	if len(a.functions()) > 0 {
		why.Reason = fmt.Sprintf("The place of %s is not known.", b.Label())
	}
	for _, fa := range a.functions() {
		for _, fb := range b.functions() {
			p, w := s.between(s.devices[fa], s.devices[fb], a, b)
			if best == PathUnknown || p.Closer(best) {
				best, why = p, w
			}
		}
	}
	if best == PathUnknown && (len(a.functions()) == 0 || len(b.functions()) == 0) {
		// Without a PCI function, NUMA nodes may still tell the nodes apart.
		if same, known := sameNode(a.numa(), b.numa()); known && !same {
			return SYS, Explanation{Reason: fmt.Sprintf("%s and %s are on NUMA nodes %s and %s.",
				a.Label(), b.Label(), nodeText(a.numa()), nodeText(b.numa()))}
		}
	}
	return best, why
}

func (s *System) between(x, y *PCIDevice, a, b Endpoint) (Path, Explanation) {
	if x == nil || y == nil {
		return PathUnknown, Explanation{Reason: "A PCI function is not listed."}
	}
	if x.Address == y.Address {
		return PIX, Explanation{Reason: fmt.Sprintf("%s and %s are one PCI function, %s.", a.Label(), b.Label(), x.Address)}
	}
	if x.Address.Slot() == y.Address.Slot() && x.Parent == y.Parent && x.Root == y.Root {
		return PIX, Explanation{Reason: fmt.Sprintf("%s and %s are functions of one device, %s.", a.Label(), b.Label(), x.Address.Slot())}
	}
	via, meet := s.meet(x, y)
	if meet != nil {
		return s.switched(via, meet, a, b)
	}
	return s.rooted(x, y, a, b)
}

// meet lists the bridges between two functions and the deepest one above both,
// nil where they have none in common.
func (s *System) meet(x, y *PCIDevice) (via []*PCIDevice, meet *PCIDevice) {
	up, down := s.bridgesAbove(x.Address), s.bridgesAbove(y.Address)
	for i, b := range up {
		for j, c := range down {
			if b != c {
				continue
			}
			via = append(via, up[:i+1]...)
			for k := j - 1; k >= 0; k-- {
				via = append(via, down[k])
			}
			return via, b
		}
	}
	return nil, nil
}

// switched counts the switches on the way over a common bridge.
func (s *System) switched(via []*PCIDevice, meet *PCIDevice, a, b Endpoint) (Path, Explanation) {
	units := map[Address]bool{}
	why := Explanation{}
	for _, p := range via {
		why.Via = append(why.Via, p.Address)
		if u := s.unit(p); u != nil {
			units[u.Address] = true
		} else if p == meet {
			units[p.Address] = true // both on the bus of a root port: one bridge
		}
	}
	why.Switches = len(units)
	if len(units) <= 1 {
		why.Reason = fmt.Sprintf("%s and %s are below one PCIe switch or bridge, %s.", a.Label(), b.Label(), meet.Address)
		return PIX, why
	}
	why.Reason = fmt.Sprintf("%d PCIe switches are between %s and %s; they meet at %s.", len(units), a.Label(), b.Label(), meet.Address)
	return PXB, why
}

// rooted tells the path of two functions without a common bridge.
func (s *System) rooted(x, y *PCIDevice, a, b Endpoint) (Path, Explanation) {
	rootX, rootY := s.root(x), s.root(y)
	if rootX != "" && rootX == rootY {
		return PHB, Explanation{Reason: fmt.Sprintf("%s and %s meet at the host bridge %s.", a.Label(), b.Label(), rootX)}
	}
	same, known := sameNode(a.numa(), b.numa())
	switch {
	case !known:
		return PathUnknown, Explanation{Reason: fmt.Sprintf(
			"%s and %s share no bridge, and a NUMA node is not known (%s: %s; %s: %s).",
			a.Label(), b.Label(), a.Label(), nodeText(a.numa()), b.Label(), nodeText(b.numa()))}
	case !same:
		return SYS, Explanation{Reason: fmt.Sprintf("%s and %s are on NUMA nodes %s and %s.",
			a.Label(), b.Label(), nodeText(a.numa()), nodeText(b.numa()))}
	case rootX == "" || rootY == "":
		return PHBOrNODE, Explanation{Reason: fmt.Sprintf(
			"%s and %s share NUMA node %s and no switch; the source does not tell host bridges apart.",
			a.Label(), b.Label(), nodeText(a.numa()))}
	}
	return NODE, Explanation{Reason: fmt.Sprintf("%s and %s are below the host bridges %s and %s of NUMA node %s.",
		a.Label(), b.Label(), rootX, rootY, nodeText(a.numa()))}
}

// root is the host bridge above a function, "" where it is not known.
func (s *System) root(d *PCIDevice) string {
	if d.Root != "" {
		return d.Root
	}
	for _, b := range s.bridgesAbove(d.Address) {
		if b.Root != "" {
			return b.Root
		}
	}
	return ""
}

func nodeText(n NUMA) string {
	if id, ok := n.Known(); ok {
		return fmt.Sprint(id)
	}
	return "unknown"
}

// stated returns what a tool told about a pair.
func (s *System) stated(a, b Endpoint) *StatedPath {
	if t := s.told[[2]string{a.Label(), b.Label()}]; t != nil {
		return t
	}
	return s.told[[2]string{b.Label(), a.Label()}]
}
