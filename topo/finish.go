package topo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/internal/printable"
	"github.com/gofabric/gofabric/internal/sysfs"
)

// Finish makes a System out of the lists that a reader or a parser filled: it
// sorts them, replaces control characters in texts, refuses what cannot be true (an address used twice, bridges in a
// circle), works out bridges, NUMA nodes and places where they are not told, and
// adds warnings. The error is an *InvalidError. Finish is called once.
func (s *System) Finish() error {
	if slices.Contains(s.Nodes, nil) || slices.Contains(s.PCI, nil) || slices.Contains(s.GPUs, nil) ||
		slices.Contains(s.HCAs, nil) || slices.Contains(s.Netdevs, nil) {
		return &InvalidError{"machine", "a list has an empty entry"}
	}
	if max(len(s.Nodes), len(s.PCI), len(s.GPUs), len(s.HCAs), len(s.Netdevs)) > mostDevices {
		return &InvalidError{"machine", fmt.Sprintf("a list has more than %d entries, which no machine has", mostDevices)}
	}
	if max(len(s.GPUs), len(s.HCAs)) > mostPaired {
		return &InvalidError{"machine", fmt.Sprintf("it has more than %d GPUs or RDMA devices, which no machine has", mostPaired)}
	}
	s.clean()
	s.sort()
	if err := s.index(); err != nil {
		return err
	}
	s.classifyBridges()
	s.placeSoftware()
	s.resolveNUMA()
	s.Host.Flat = s.flat()
	s.addWarnings()
	return nil
}

// mostDevices and deepestTree bound what is taken for a machine. A host with
// thousands of virtual functions stays below the first; a PCI domain has 256
// buses.
//
// Every GPU and RDMA device has a path to every other one: mostPaired keeps the
// square of their number small.
const (
	mostDevices = 1 << 14
	mostPaired  = 1 << 10
	deepestTree = 256
)

// InvalidError says why a description of a machine was refused.
type InvalidError struct {
	Device string // what it is about: an address, a name
	Reason string // one sentence
}

func (e *InvalidError) Error() string {
	return printable.Text(fmt.Sprintf("topology refused: %s: %s", e.Device, e.Reason))
}

func (s *System) sort() {
	slices.SortStableFunc(s.Nodes, func(a, b *NUMANode) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(s.PCI, func(a, b *PCIDevice) int { return a.Address.Compare(b.Address) })
	slices.SortStableFunc(s.GPUs, func(a, b *GPU) int { return cmp.Compare(a.Index, b.Index) })
	slices.SortStableFunc(s.HCAs, func(a, b *HCA) int { return compareNames(a.Name, b.Name) })
	slices.SortStableFunc(s.Netdevs, func(a, b *Netdev) int { return sysfs.Compare(a.Name, b.Name) })
}

// compareNames orders names as people count. Some files give a device's address
// for its name: addresses are hexadecimal.
func compareNames(a, b string) int {
	x, ok1 := canonical(a)
	y, ok2 := canonical(b)
	if ok1 && ok2 {
		return x.Compare(y)
	}
	return sysfs.Compare(a, b)
}

// index refuses what stands twice or points nowhere, and builds the lookup.
func (s *System) index() error {
	s.devices = make(map[Address]*PCIDevice, len(s.PCI))
	for _, d := range s.PCI {
		if canonical, err := ParseAddress(string(d.Address)); err != nil || canonical != d.Address {
			return &InvalidError{clip(string(d.Address)), "this is no PCI address in the form 0000:3b:00.0"}
		}
		if s.devices[d.Address] != nil {
			return &InvalidError{string(d.Address), "two devices have this PCI address"}
		}
		s.devices[d.Address] = d
	}
	if err := s.indexTree(); err != nil {
		return err
	}
	return s.indexNames()
}

func (s *System) indexTree() error {
	for _, d := range s.PCI {
		if d.Parent != "" && s.devices[d.Parent] == nil {
			return &InvalidError{string(d.Address), "its bridge " + clip(string(d.Parent)) + " is not listed"}
		}
		steps := 0
		for p := d.Parent; p != ""; p = s.devices[p].Parent {
			if s.devices[p] == nil {
				break // refused in its own turn
			}
			if steps++; steps > deepestTree {
				return &InvalidError{string(d.Address), "the bridges above it form a circle, or are more than a machine can have"}
			}
		}
	}
	return nil
}

func (s *System) indexNames() error {
	taken := map[string]bool{}
	claim := func(kind, name string) error {
		if name == "" {
			return &InvalidError{"an RDMA device", "it has no name"}
		}
		if taken[kind+name] {
			return &InvalidError{clip(name), "two devices have this name"}
		}
		taken[kind+name] = true
		return nil
	}
	s.nodes, s.netdevs, s.labels = map[int]*NUMANode{}, map[string]*Netdev{}, map[string]Endpoint{}
	for _, n := range s.Nodes {
		s.nodes[n.ID] = n
		if n.ID < 0 {
			return &InvalidError{fmt.Sprintf("NUMA node %d", n.ID), "a node's number is not negative"}
		}
		if err := claim("node", fmt.Sprint(n.ID)); err != nil {
			return &InvalidError{fmt.Sprintf("NUMA node %d", n.ID), "it stands twice"}
		}
	}
	for _, g := range s.GPUs {
		s.labels[g.Label()] = g
		if g.Index < 0 {
			return &InvalidError{g.Label(), "a GPU's index is not negative"}
		}
		if err := claim("", g.Label()); err != nil {
			return err
		}
		if g.PCI == "" {
			continue
		}
		if s.devices[g.PCI] == nil {
			return &InvalidError{g.Label(), "its PCI function " + clip(string(g.PCI)) + " is not listed"}
		}
		if claim("function", string(g.PCI)) != nil {
			return &InvalidError{string(g.PCI), "two GPUs have this PCI address"}
		}
	}
	for _, h := range s.HCAs {
		s.labels[h.Name] = h
		if err := claim("", h.Name); err != nil {
			return err
		}
		for _, a := range h.PCI {
			if s.devices[a] == nil {
				return &InvalidError{h.Name, "its PCI function " + clip(string(a)) + " is not listed"}
			}
			if taken["function"+string(a)] {
				return &InvalidError{string(a), "a GPU and an RDMA device have this PCI address"}
			}
		}
	}
	for _, n := range s.Netdevs {
		s.netdevs[n.Name] = n
		if claim("netdev", n.Name) != nil {
			return &InvalidError{"network interface " + clip(n.Name), "it has no name or stands twice"}
		}
		if n.PCI != "" && s.devices[n.PCI] == nil {
			return &InvalidError{n.Name, "its PCI function " + clip(string(n.PCI)) + " is not listed"}
		}
	}
	s.told = make(map[[2]string]*StatedPath, len(s.Stated))
	for i := len(s.Stated) - 1; i >= 0; i-- {
		t := &s.Stated[i] // what stands first counts
		s.told[[2]string{t.A, t.B}] = t
	}
	return nil
}

// placeSoftware gives a software device the PCI function of the interface that
// it stands on.
func (s *System) placeSoftware() {
	for _, h := range s.HCAs {
		if h.Parent != "" && len(h.PCI) == 0 {
			h.PCI = s.netdevFunctions(h.Parent)
		}
	}
	for _, n := range s.Netdevs {
		if n.PCI != "" {
			continue
		}
		if below := s.netdevFunctions(n.Name); len(below) == 1 {
			n.PCI = below[0]
		}
	}
}

// netdevFunctions returns the PCI functions that an interface stands on, by way of
// others where it is a VLAN or a bond.
func (s *System) netdevFunctions(name string) []Address {
	var found []Address
	seen := map[string]bool{name: true}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		n, ok := s.netdevs[todo[0]]
		switch {
		case !ok:
		case n.PCI != "":
			if !slices.Contains(found, n.PCI) {
				found = append(found, n.PCI)
			}
		default:
			for _, lower := range n.Lower {
				if !seen[lower] {
					seen[lower] = true
					todo = append(todo, lower)
				}
			}
		}
	}
	return found
}

// flat reports whether the PCI tree of a virtual machine says nothing: all GPUs
// and HCAs hang on a root directly or below a root port, none below a switch.
func (s *System) flat() bool {
	if s.Host.Virtual == "" || s.Host.TopologyFile != "" {
		return false
	}
	seen := false
	for _, e := range s.endpoints() {
		for _, a := range e.functions() {
			seen = true
			for _, b := range s.bridgesAbove(a) {
				if b.Bridge != RootPort {
					return false
				}
			}
		}
	}
	return seen
}

// endpoints are the devices that people pair: GPUs and the HCAs for use.
func (s *System) endpoints() []Endpoint {
	var list []Endpoint
	for _, g := range s.GPUs {
		list = append(list, g)
	}
	for _, h := range s.HCAs {
		if !h.Management {
			list = append(list, h)
		}
	}
	return list
}

// bridgesAbove returns the bridges from a function up to its root, nearest
// first.
func (s *System) bridgesAbove(a Address) []*PCIDevice {
	var chain []*PCIDevice
	d := s.devices[a]
	for d != nil && d.Parent != "" {
		d = s.devices[d.Parent]
		chain = append(chain, d)
	}
	return chain
}

// joinWords writes a list as people do: "a, b and c".
func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
