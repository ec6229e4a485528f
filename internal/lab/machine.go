package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Machine is a guest's hardware: its NUMA nodes, and the PCI tree with the NICs
// in it. The guest's /sys shows it as a real machine's would. A guest without a
// Machine has one node and a veth pair.
type Machine struct {
	Nodes []MachineNode `json:"nodes"` // at least one with CPUs
	Roots []MachineRoot `json:"roots"`
}

// MachineNode is a NUMA node. Its number is its place in the list.
type MachineNode struct {
	CPUs      int `json:"cpus,omitempty"` // 0 is a node that is only memory
	MemoryMiB int `json:"memoryMiB"`
}

// MachineRoot is a PCI host bridge with its root ports.
type MachineRoot struct {
	Node  *int          `json:"node,omitempty"` // nil: the firmware does not tell
	Ports []MachinePort `json:"ports"`
}

// MachinePort is a root port, or a downstream port of a switch, with what is
// plugged into it: a NIC or a switch.
type MachinePort struct {
	// Speed in GT/s (2.5, 5, 8 or 16) and Width in lanes are what a root port
	// could do, 0 QEMU's default. A switch's ports and a NIC run one lane at
	// 2.5 GT/s; QEMU has nothing to set there.
	Speed float64 `json:"speed,omitempty"`
	Width int     `json:"width,omitempty"`

	NIC   string `json:"nic,omitempty"`   // the interface's name in the guest
	Model string `json:"model,omitempty"` // "virtio" ("" is the same) or "e1000e"

	Switch []MachinePort `json:"switch,omitempty"` // its downstream ports
}

// nicModels are QEMU's devices and the kernel's modules for MachinePort.Model.
var nicModels = map[string]struct{ device, module string }{
	"virtio": {"virtio-net-pci", "virtio_net"},
	"e1000e": {"e1000e", "e1000e"},
}

// Machines are the machines known by name.
func Machines() map[string]Machine {
	zero, one := 0, 1
	return map[string]Machine{
		// Every kind of path: n0 to n1 is PIX, to n2 PXB, to n3 PHB, to n4 NODE
		// and to n5 SYS. Node 2 has no CPUs.
		"two-socket": {
			Nodes: []MachineNode{{CPUs: 2, MemoryMiB: 640}, {CPUs: 2, MemoryMiB: 512}, {MemoryMiB: 128}},
			Roots: []MachineRoot{
				{Node: &zero, Ports: []MachinePort{
					{Speed: 16, Width: 16, Switch: []MachinePort{
						{NIC: "n0"}, {NIC: "n1"}, {Switch: []MachinePort{{NIC: "n2"}}},
					}},
					{Speed: 8, Width: 8, NIC: "n3"},
				}},
				{Node: &zero, Ports: []MachinePort{{NIC: "n4", Model: "e1000e"}}},
				{Node: &one, Ports: []MachinePort{{Speed: 16, Width: 16, NIC: "n5"}}},
			},
		},
	}
}

// ParseMachine reads a machine's JSON.
func ParseMachine(data []byte) (Machine, error) {
	var m Machine
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("lab: machine: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return m, errors.New("lab: machine: more than one JSON value")
	}
	return m, m.check()
}

// Modules are the kernel modules that the machine's NICs need, for
// [Config.ExtraModules].
func (m Machine) Modules() []string {
	found := map[string]bool{}
	for _, n := range m.nics() {
		found[nicModels[n.model].module] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// machineNIC is a NIC by its place in the tree, in the order of the text.
type machineNIC struct{ name, model string }

func (m Machine) nics() []machineNIC {
	var out []machineNIC
	m.walk(func(p MachinePort, _ int) {
		if p.NIC != "" {
			out = append(out, machineNIC{p.NIC, p.model()})
		}
	})
	return out
}

func (p MachinePort) model() string {
	if p.Model == "" {
		return "virtio"
	}
	return p.Model
}

// walk visits every port, each before those behind it. depth counts the switches
// above.
func (m Machine) walk(visit func(p MachinePort, depth int)) {
	var down func(ports []MachinePort, depth int)
	down = func(ports []MachinePort, depth int) {
		for _, p := range ports {
			visit(p, depth)
			down(p.Switch, depth+1)
		}
	}
	for _, r := range m.Roots {
		down(r.Ports, 0)
	}
}

// Limits of what one guest is made of: QEMU's bus numbers and 8-bit chassis
// numbers, and the network that joins the NICs.
const (
	maxMachineNodes = 16
	maxMachinePorts = 64
	maxMachineNICs  = 16
)

func (m Machine) check() error {
	bad := func(format string, args ...any) error { return fmt.Errorf("lab: machine: "+format, args...) }
	if len(m.Nodes) == 0 || len(m.Nodes) > maxMachineNodes {
		return bad("it has %d NUMA nodes, must be 1 to %d", len(m.Nodes), maxMachineNodes)
	}
	for i, n := range m.Nodes {
		if n.CPUs < 0 || n.CPUs > 64 || n.MemoryMiB < 16 || n.MemoryMiB > 1<<20 {
			return bad("node %d has %d CPUs and %d MiB, must be 0 to 64 and at least 16", i, n.CPUs, n.MemoryMiB)
		}
	}
	if m.cpus() == 0 {
		return bad("no node has a CPU")
	}
	for i, r := range m.Roots {
		if r.Node != nil && (*r.Node < 0 || *r.Node >= len(m.Nodes)) {
			return bad("root %d is on node %d, and the nodes are 0 to %d", i, *r.Node, len(m.Nodes)-1)
		}
		if len(r.Ports) == 0 {
			return bad("root %d has no port", i)
		}
	}
	var err error
	ports, names := 0, map[string]bool{}
	m.walk(func(p MachinePort, depth int) {
		ports++
		if err == nil {
			err = p.check(depth, names)
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("lab: machine: %w", err)
	case ports > maxMachinePorts:
		return bad("it has %d ports, must be at most %d", ports, maxMachinePorts)
	case len(names) > maxMachineNICs:
		return bad("it has %d NICs, must be at most %d", len(names), maxMachineNICs)
	}
	return nil
}

func (p MachinePort) check(depth int, names map[string]bool) error {
	switch {
	case (p.NIC == "") == (p.Switch == nil):
		return errors.New("a port has either a nic or a switch")
	case p.Switch != nil && len(p.Switch) == 0:
		return errors.New("a switch has no port")
	case depth > 0 && (p.Speed != 0 || p.Width != 0):
		return errors.New("speed and width can be set for root ports only")
	case !slices.Contains([]float64{0, 2.5, 5, 8, 16}, p.Speed):
		return fmt.Errorf("speed %v: must be 2.5, 5, 8 or 16", p.Speed)
	case !slices.Contains([]int{0, 1, 2, 4, 8, 12, 16, 32}, p.Width):
		return fmt.Errorf("width %d: must be 1, 2, 4, 8, 12, 16 or 32", p.Width)
	case p.NIC == "":
		if p.Model != "" {
			return errors.New("a switch has no model")
		}
		return nil
	case !plainName(p.NIC) || len(p.NIC) > 15 || strings.HasPrefix(p.NIC, "eth") || p.NIC == "lo":
		return fmt.Errorf("nic %q: must be up to 15 letters and digits, and neither lo nor eth*", p.NIC)
	case names[p.NIC]:
		return fmt.Errorf("two NICs are called %s", p.NIC)
	}
	names[p.NIC] = true
	if _, ok := nicModels[p.model()]; !ok {
		return fmt.Errorf("nic %s: model %q: must be one of %s", p.NIC, p.Model, strings.Join(slices.Sorted(maps.Keys(nicModels)), ", "))
	}
	return nil
}

func (m Machine) cpus() (n int) {
	for _, node := range m.Nodes {
		n += node.CPUs
	}
	return n
}

func (m Machine) memory() (n int) {
	for _, node := range m.Nodes {
		n += node.MemoryMiB
	}
	return n
}
