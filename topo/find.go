package topo

import (
	"fmt"
	"strconv"
	"strings"
)

// Endpoint is one end of a path: a *GPU, an *HCA, a *Netdev or a *PCIDevice of
// one System.
type Endpoint interface {
	// Label is the name that a matrix and messages use: "GPU0", "mlx5_0",
	// "eth0", "0000:3b:00.0".
	Label() string
	// functions are the PCI functions of the endpoint, none where it has no
	// place on the bus.
	functions() []Address
	numa() NUMA
}

// Label returns "GPU0".
func (g *GPU) Label() string { return "GPU" + strconv.Itoa(g.Index) }

// Label returns the device's name.
func (h *HCA) Label() string { return h.Name }

// Label returns the interface's name.
func (n *Netdev) Label() string { return n.Name }

// Label returns the function's address.
func (d *PCIDevice) Label() string { return string(d.Address) }

func (g *GPU) functions() []Address       { return addresses(g.PCI) }
func (h *HCA) functions() []Address       { return h.PCI }
func (n *Netdev) functions() []Address    { return addresses(n.PCI) }
func (d *PCIDevice) functions() []Address { return addresses(d.Address) }

func (g *GPU) numa() NUMA       { return g.NUMA }
func (h *HCA) numa() NUMA       { return h.NUMA }
func (n *Netdev) numa() NUMA    { return n.NUMA }
func (d *PCIDevice) numa() NUMA { return d.NUMA }

// absent reports whether there is no device to ask about: nil, of any type.
func absent(e Endpoint) bool {
	switch d := e.(type) {
	case *GPU:
		return d == nil
	case *HCA:
		return d == nil
	case *Netdev:
		return d == nil
	case *PCIDevice:
		return d == nil
	}
	return e == nil
}

const absentText = "No device is asked about."

func addresses(a Address) []Address {
	if a == "" {
		return nil
	}
	return []Address{a}
}

// Node returns the NUMA node with that number, and false if there is none.
func (s *System) Node(id int) (*NUMANode, bool) {
	n, ok := s.nodes[id]
	return n, ok
}

// Device returns the PCI function at that address, and false if there is none.
func (s *System) Device(a Address) (*PCIDevice, bool) {
	d, ok := s.devices[a]
	return d, ok
}

// GPU returns the GPU with that index, and false if there is none.
func (s *System) GPU(index int) (*GPU, bool) {
	g, ok := s.labels["GPU"+strconv.Itoa(index)].(*GPU)
	return g, ok
}

// HCA returns the RDMA device of that name, and false if there is none.
func (s *System) HCA(name string) (*HCA, bool) {
	h, ok := s.labels[name].(*HCA)
	return h, ok
}

// Netdev returns the network interface of that name, and false if there is none.
func (s *System) Netdev(name string) (*Netdev, bool) {
	n, ok := s.netdevs[name]
	return n, ok
}

// Find returns what a label names: "GPU0" or a GPU's UUID, the UUID of a MIG
// slice (its GPU is returned: a slice shares the place), the name of an RDMA
// device or of a network interface, a PCI address. The error lists the GPUs and
// RDMA devices that there are.
func (s *System) Find(label string) (Endpoint, error) {
	if e, ok := s.labels[label]; ok {
		return e, nil
	}
	for _, g := range s.GPUs {
		if strings.EqualFold(label, g.Label()) || g.UUID != "" && label == g.UUID {
			return g, nil
		}
		for _, m := range g.MIG {
			if m.UUID != "" && label == m.UUID {
				return g, nil
			}
		}
	}
	if n, ok := s.Netdev(label); ok {
		return n, nil
	}
	if a, err := ParseAddress(label); err == nil {
		if d, ok := s.Device(a); ok {
			return d, nil
		}
	}
	names := make([]string, 0, len(s.GPUs)+len(s.HCAs))
	for _, g := range s.GPUs {
		names = append(names, g.Label())
	}
	for _, h := range s.HCAs {
		names = append(names, h.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no device %q: neither a GPU nor an RDMA device is seen here", clip(label))
	}
	return nil, fmt.Errorf("no device %q: there are %s", clip(label), strings.Join(names, ", "))
}
