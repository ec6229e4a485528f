package topo

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// treeRoot begins a tree: "-[0000:00]-", " +-[10000:e0]-", "-[00]-".
	treeRoot = regexp.MustCompile(`^[-+\\ |]*-\[(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2})(?:-[0-9a-fA-F]{2})?\]`)
	// treeNode is a function and, for a bridge, the buses behind it.
	treeNode = regexp.MustCompile(`^([0-9a-fA-F]{2})\.([0-7])(?:-\[(?:[0-9a-fA-F]{4,8}:)?([0-9a-fA-F]{2})(?:-([0-9a-fA-F]{2}))?\]-*)?`)
	// treeIDs are the ids that lspci -nn puts at the end of a name.
	treeIDs = regexp.MustCompile(`\[([0-9a-f]{4}):([0-9a-f]{4})\]`)
)

func notLspciTree(data []byte) string {
	for _, line := range textLines(data[:min(len(data), 4096)]) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if treeRoot.MatchString(line) {
			return ""
		}
		break
	}
	return "no root as in -[0000:00]-"
}

// treeBranch is a bus whose functions stand in one column.
type treeBranch struct {
	column int
	domain string
	bus    string
	root   string
	parent *PCIDevice
}

// parseLspciTree reads the tree that lspci -t draws. It tells which function lies
// below which bridge; names come with -v and ids with -nn. It tells no class, no
// NUMA node and no RDMA device: GPUs and HCAs are known by the names of their
// functions, and HCAs are called by their addresses.
func parseLspciTree(data []byte) (*System, error) {
	s := &System{}
	seen := make(map[Address]int)
	var stack []treeBranch
	for i, line := range textLines(data) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		pos := 0
		if m := treeRoot.FindStringSubmatchIndex(line); m != nil {
			domain := "0000"
			if m[2] >= 0 {
				domain = strings.ToLower(line[m[2]:m[3]])
			}
			bus := strings.ToLower(line[m[4]:m[5]])
			stack = []treeBranch{{column: -1, domain: domain, bus: bus, root: "pci" + domain + ":" + bus}}
			pos = m[1]
		}
		for {
			pos += connector(line[pos:])
			if pos == len(line) {
				break // an empty bus
			}
			m := treeNode.FindStringSubmatchIndex(line[pos:])
			if m == nil || len(stack) == 0 {
				return nil, fmt.Errorf("line %d: %q is not a function below a root, as in 01.1-[02]----00.0", i+1, clip(line[pos:]))
			}
			if stack[len(stack)-1].column == -1 {
				stack[len(stack)-1].column = pos
			}
			for len(stack) > 1 && stack[len(stack)-1].column > pos {
				stack = stack[:len(stack)-1]
			}
			at := stack[len(stack)-1]
			if at.column != pos {
				return nil, fmt.Errorf("line %d: column %d belongs to no bus above: the text lost its spaces", i+1, pos+1)
			}
			d, err := at.function(line[pos+m[2]:pos+m[3]], line[pos+m[4]:pos+m[5]])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if first, twice := seen[d.Address]; twice {
				return nil, &InvalidError{Device: string(d.Address), Reason: fmt.Sprintf("lines %d and %d both describe it", first, i+1)}
			}
			seen[d.Address] = i + 1
			s.PCI = append(s.PCI, d)
			rest := pos + m[1]
			if m[6] < 0 {
				nameFunction(d, strings.TrimSpace(line[rest:]))
				break
			}
			d.Class = classBridge
			if len(stack) == maxXMLDepth {
				return nil, fmt.Errorf("line %d: bridges nest more than %d levels deep", i+1, maxXMLDepth)
			}
			stack = append(stack, treeBranch{column: -1, domain: at.domain, bus: strings.ToLower(line[pos+m[6] : pos+m[7]]), root: at.root, parent: d})
			pos = rest
			if strings.TrimLeft(line[pos:], "-+\\") == "" {
				stack = stack[:len(stack)-1]
				break
			}
			if name := line[pos:]; strings.HasPrefix(name, "  ") {
				// Some versions name the bridge and leave its empty bus.
				nameFunction(d, strings.TrimSpace(name))
				stack = stack[:len(stack)-1]
				break
			}
		}
	}
	devicesByName(s)
	return s, nil
}

// connector returns how many characters of drawing stand before a function.
func connector(text string) int {
	return len(text) - len(strings.TrimLeft(text, " |+-\\`"))
}

func (b treeBranch) function(device, function string) (*PCIDevice, error) {
	address, err := ParseAddress(b.domain + ":" + b.bus + ":" + device + "." + function)
	if err != nil {
		return nil, err
	}
	d := &PCIDevice{Address: address, Root: b.root, Placed: true}
	if b.parent != nil {
		d.Parent = b.parent.Address
	}
	return d, nil
}

// nameFunction takes the name and the ids out of a description.
func nameFunction(d *PCIDevice, text string) {
	if all := treeIDs.FindAllStringSubmatchIndex(text, -1); len(all) > 0 {
		m := all[len(all)-1]
		vendor, _ := hexDigits(text[m[2]:m[3]], 4, 4, 0xffff)
		device, _ := hexDigits(text[m[4]:m[5]], 4, 4, 0xffff)
		d.Vendor, d.Device = ID(vendor), ID(device)
		text = strings.TrimSpace(text[:m[0]])
	}
	d.Name = text
	if d.Vendor != 0 {
		return
	}
	switch {
	case strings.HasPrefix(text, "NVIDIA"), strings.HasPrefix(text, "nVidia"):
		d.Vendor = vendorNVIDIA
	case strings.HasPrefix(text, "Mellanox"):
		d.Vendor = vendorMellanox
	}
}

// notGPU are words in the names of NVIDIA's functions that are no GPU.
var notGPU = []string{"Audio", "USB", "UCSI", "Serial", "Bridge", "bridge", "NVSwitch", "Switch", "Memory Controller", "BlueField"}

// rdmaNames are words in the names of functions that have RDMA in hardware.
var rdmaNames = []string{"Mellanox", "ConnectX", "BlueField", "Infiniband", "InfiniBand", "Omni-Path", "Elastic Fabric Adapter"}

// devicesByName finds GPUs and HCAs among functions without a class.
func devicesByName(s *System) {
	for _, d := range s.PCI {
		switch {
		case d.Class.IsBridge():
		case d.Vendor == vendorNVIDIA && strings.HasSuffix(string(d.Address), ".0") && !containsAny(d.Name, notGPU):
			s.GPUs = append(s.GPUs, &GPU{PCI: d.Address, Name: d.Name})
		case containsAny(d.Name, rdmaNames) && !strings.Contains(d.Name, "DMA Controller") && !strings.Contains(d.Name, "Bridge"):
			s.HCAs = append(s.HCAs, &HCA{Name: string(d.Address), PCI: []Address{d.Address}})
		}
	}
	numberGPUs(s.GPUs)
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
