package topo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	verboseHead = regexp.MustCompile(`^((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) ([^:]+): (.*)$`)
	verboseBus  = regexp.MustCompile(`\bprimary=([0-9a-fA-F]{2}), secondary=([0-9a-fA-F]{2}), subordinate=([0-9a-fA-F]{2})`)
	classCode   = regexp.MustCompile(` \[([0-9a-f]{4})\]$`)
	virtFuncs   = regexp.MustCompile(`\bNumber of VFs: (\d+)`)
)

func notLspciVerbose(data []byte) string {
	for _, line := range textLines(data[:min(len(data), 4096)]) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if verboseHead.MatchString(line) {
			return ""
		}
		break
	}
	return "does not begin with a function as in 3b:00.0 Class: Name"
}

// classWords are what lspci calls the classes that matter here.
var classWords = map[string]Class{
	"Host bridge":                    0x060000,
	"PCI bridge":                     classBridge,
	"VGA compatible controller":      0x030000,
	"3D controller":                  0x030200,
	"Display controller":             0x038000,
	"Infiniband controller":          0x020700,
	"InfiniBand controller":          0x020700,
	"Ethernet controller":            0x020000,
	"Network controller":             0x028000,
	"Fabric controller":              0x020800,
	"Processing accelerators":        0x120000,
	"Non-Volatile memory controller": 0x010802,
	"Bridge":                         0x068000,
}

// verboseFunction is one function with the buses that a bridge stands between.
type verboseFunction struct {
	d                  *PCIDevice
	primary, secondary string
}

// parseLspciVerbose reads what lspci -v, -vv or -vvv prints, with or without -nn
// and -D. The buses of the bridges tell the tree; a function on a bus that no
// bridge of the text leads to has no place, unless the text shows that it is a
// root bus. An idle GPU runs its link at a lower speed: "(downgraded)" is what
// the text says and not a fault by itself. HCAs are called by their addresses: lspci has no other name.
func parseLspciVerbose(data []byte) (*System, error) {
	s := &System{}
	seen := make(map[Address]int)
	var functions []*verboseFunction
	var current *verboseFunction
	for i, line := range textLines(data) {
		if m := verboseHead.FindStringSubmatch(line); m != nil {
			address, err := ParseAddress(m[1])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if first, twice := seen[address]; twice {
				return nil, &InvalidError{Device: string(address), Reason: fmt.Sprintf("lines %d and %d both describe it", first, i+1)}
			}
			seen[address] = i + 1
			current = &verboseFunction{d: &PCIDevice{Address: address}}
			headOfFunction(current.d, m[2], m[3])
			functions = append(functions, current)
			s.PCI = append(s.PCI, current.d)
			continue
		}
		if current == nil || line == "" || line[0] != ' ' && line[0] != '\t' {
			current = nil
			continue
		}
		if err := current.property(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("line %d, %s: %w", i+1, current.d.Address, err)
		}
	}
	if err := placeByBuses(functions); err != nil {
		return nil, err
	}
	for _, d := range s.PCI {
		rdma := d.Class.Base() == 0x0207 || d.Class>>16 == 0x02 && containsAny(d.Name, rdmaNames)
		switch {
		case isNVIDIAGPU(d) && d.Vendor == vendorNVIDIA:
			s.GPUs = append(s.GPUs, &GPU{PCI: d.Address, Name: d.Name})
		case rdma:
			s.HCAs = append(s.HCAs, &HCA{Name: string(d.Address), PCI: []Address{d.Address}})
		}
		if d.StatedNode != nil && !hasNode(s.Nodes, *d.StatedNode) {
			s.Nodes = append(s.Nodes, &NUMANode{ID: *d.StatedNode, Online: true})
		}
	}
	numberGPUs(s.GPUs)
	return s, nil
}

func hasNode(nodes []*NUMANode, id int) bool {
	for _, n := range nodes {
		if n.ID == id {
			return true
		}
	}
	return false
}

func headOfFunction(d *PCIDevice, class, name string) {
	if m := classCode.FindStringSubmatchIndex(class); m != nil {
		d.Class, _ = parseClass(class[m[2]:m[3]])
		class = class[:m[0]]
	}
	if d.Class == 0 {
		d.Class = classWords[class]
	}
	name, _, _ = strings.Cut(name, " (prog-if")
	name, _, _ = strings.Cut(name, " (rev ")
	nameFunction(d, strings.TrimSpace(name))
}

// property reads one line below a function.
func (f *verboseFunction) property(line string) error {
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		return nil
	}
	value = strings.TrimSpace(value)
	d := f.d
	switch key {
	case "NUMA node":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < -1 || n > 1<<16 {
			return fmt.Errorf("NUMA node %q is not a number", clip(value))
		}
		if node := int(n); node >= 0 {
			d.StatedNode = &node
		}
	case "Bus":
		if m := verboseBus.FindStringSubmatch(value); m != nil {
			f.primary, f.secondary = strings.ToLower(m[1]), strings.ToLower(m[2])
			if !d.Class.IsBridge() {
				d.Class = classBridge
			}
		}
	case "LnkCap":
		return linkWords(value, &d.Link.MaxSpeed, &d.Link.MaxWidth)
	case "LnkSta":
		return linkWords(value, &d.Link.Speed, &d.Link.Width)
	case "Kernel driver in use":
		d.Driver = value
	case "Initial VFs":
		if m := virtFuncs.FindStringSubmatch(line); m != nil {
			d.VFs, _ = strconv.Atoi(m[1])
		}
	case "Capabilities":
		f.express(value)
	}
	return nil
}

// express takes the kind of a bridge from its PCI Express capability.
func (f *verboseFunction) express(value string) {
	_, text, ok := strings.Cut(value, "] Express ")
	if !ok || !f.d.Class.IsBridge() {
		return
	}
	switch {
	case strings.Contains(text, "Root Port"):
		f.d.Bridge = RootPort
	case strings.Contains(text, "Upstream Port"):
		f.d.Bridge = SwitchUpstream
	case strings.Contains(text, "Downstream Port"):
		f.d.Bridge = SwitchDownstream
	}
}

// linkWords reads "Port #0, Speed 16GT/s (downgraded), Width x16 (ok), ...".
func linkWords(text string, speed *float64, width *int) error {
	for _, part := range strings.Split(text, ",") {
		part, _, _ = strings.Cut(strings.TrimSpace(part), " (")
		if v, ok := strings.CutPrefix(part, "Speed "); ok {
			n, _, err := ParseSpeed(v)
			if err != nil {
				return err
			}
			*speed = n
		}
		if v, ok := strings.CutPrefix(part, "Width "); ok {
			n, _, err := ParseWidth(v)
			if err != nil {
				return err
			}
			*width = n
		}
	}
	return nil
}

// placeByBuses makes the tree out of the buses of the bridges.
func placeByBuses(functions []*verboseFunction) error {
	above := make(map[string]*verboseFunction)
	rootBus := make(map[string]bool)
	for _, f := range functions {
		domain, _, _ := strings.Cut(string(f.d.Address), ":")
		if f.secondary != "" && f.secondary != "00" {
			bus := domain + ":" + f.secondary
			if other := above[bus]; other != nil {
				return &InvalidError{Device: string(f.d.Address), Reason: fmt.Sprintf(
					"it leads to bus %s, and so does %s: the text mixes machines or is damaged", bus, other.d.Address)}
			}
			above[bus] = f
		}
		if f.d.Bridge == RootPort || f.d.Class.Base() == 0x0600 {
			rootBus[f.d.Address.Bus()] = true
		}
	}
	for _, f := range functions {
		bus := f.d.Address.Bus()
		switch parent := above[bus]; {
		case parent != nil && parent != f:
			f.d.Parent, f.d.Placed = parent.d.Address, true
		case rootBus[bus]:
			f.d.Root, f.d.Placed = "pci"+bus, true
		}
	}
	return rootsFromAbove(functions)
}

// rootsFromAbove hands the host bridge down, and refuses bridges in a ring.
func rootsFromAbove(functions []*verboseFunction) error {
	byAddress := make(map[Address]*PCIDevice, len(functions))
	for _, f := range functions {
		byAddress[f.d.Address] = f.d
	}
	for _, f := range functions {
		top := f.d
		for steps := 0; top.Parent != ""; steps++ {
			if steps == maxXMLDepth {
				return &InvalidError{Device: string(f.d.Address), Reason: "the bridges above it lead back to each other, or are too many"}
			}
			top = byAddress[top.Parent]
		}
		f.d.Root, f.d.Placed = top.Root, top.Placed
	}
	return nil
}
