package topo

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	busPCI     = "sys/bus/pci/devices"
	sysDevices = "sys/devices"
)

// pci reads every PCI function with its place in the tree.
func (r *reading) pci() {
	r.dirs = map[Address]string{}
	for _, name := range r.names(busPCI) {
		a, ok := canonical(name)
		if !ok {
			continue
		}
		// The link's text is the place: ../../../devices/pci0000:00/0000:00:01.0/…
		if target := r.link(path.Join(busPCI, name)); target != "" {
			r.dirs[a] = path.Join(busPCI, target)
			if path.IsAbs(target) {
				r.dirs[a] = strings.TrimPrefix(path.Clean(target), "/")
			}
		}
	}
	if len(r.dirs) == 0 {
		left := mostDevices
		r.walk(sysDevices, 0, &left)
	}
	for _, name := range r.names(busPCI) {
		if a, ok := canonical(name); ok && r.dirs[a] == "" && r.there(path.Join(busPCI, name)) {
			r.dirs[a] = path.Join(busPCI, name) // seen, without a place
		}
	}
	addresses := make([]Address, 0, len(r.dirs))
	for a := range r.dirs {
		addresses = append(addresses, a)
	}
	slices.SortFunc(addresses, Address.Compare)
	for _, a := range addresses {
		r.sys.PCI = append(r.sys.PCI, r.function(a, r.dirs[a]))
	}
	r.warnConflicts()
}

// conflict is a function whose local CPUs contradict themselves.
type conflict struct {
	function Address
	text     string
}

// warnConflicts says once what holds for many functions.
func (r *reading) warnConflicts() {
	first, count := map[string]Address{}, map[string]int{}
	for _, c := range r.conflicts {
		if count[c.text]++; count[c.text] == 1 {
			first[c.text] = c.function
		}
	}
	for text, a := range first {
		r.sys.warn(WarnConflictingMask, string(a), "Its %s (%d functions).", text, count[text])
	}
}

// maxTree is how deep the tree of directories is searched; real ones have a
// dozen levels of bridges at most.
const maxTree = 40

// walk finds PCI functions where the bus does not list them or shows no links:
// directories named by an address, below a root "pci0000:00".
//
// Links are not followed: a tree made by somebody else may lead back to itself.
// left is how many directories may still be listed, for roots that hide links.
func (r *reading) walk(dir string, depth int, left *int) {
	if *left--; depth > maxTree || *left < 0 {
		return
	}
	for _, name := range r.names(dir) {
		below := path.Join(dir, name)
		a, isFunction := canonical(name)
		if !isFunction && !rootName(name) && !(depth < 6 && isBusParent(name)) || r.link(below) != "" {
			continue
		}
		if isFunction {
			r.dirs[a] = below
		}
		r.walk(below, depth+1, left)
	}
}

// isBusParent names the directories of sys/devices that can hold a PCI root: of
// ACPI (Hyper-V's buses) and of platforms (Arm).
func isBusParent(name string) bool {
	for _, prefix := range []string{"platform", "LNXSYSTM", "LNXSYBUS", "ACPI0004", "VMBUS", "soc"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	uuid := len(name) == 36 && strings.Count(name, "-") == 4 // a device of Hyper-V
	return uuid || strings.HasSuffix(name, ".pcie")
}

// rootName recognises a host bridge: pci0000:00, with a domain of four to eight
// digits.
func rootName(name string) bool {
	rest, ok := strings.CutPrefix(name, "pci")
	if !ok || strings.Count(rest, ":") != 1 {
		return false
	}
	_, ok = canonical(rest + ":00.0")
	return ok
}

func (r *reading) function(a Address, dir string) *PCIDevice {
	d := &PCIDevice{Address: a}
	elements := strings.Split(dir, "/")
	for _, e := range elements[:len(elements)-1] {
		if rootName(e) {
			d.Root, d.Parent, d.Placed = e, "", true
		} else if up, ok := canonical(e); ok {
			d.Parent = up
		}
	}
	if r.dirs[d.Parent] == "" {
		d.Parent = "" // a bridge that is not shown cannot be passed
	}
	at := func(name string) string { return path.Join(dir, name) }
	d.Class = Class(r.hex(at("class")))
	d.Vendor, d.Device = ID(r.hex(at("vendor"))), ID(r.hex(at("device")))
	d.SubsystemVendor, d.SubsystemDevice = ID(r.hex(at("subsystem_vendor"))), ID(r.hex(at("subsystem_device")))
	if n, ok := r.number(at("numa_node")); ok && n >= 0 {
		d.StatedNode = &n
	}
	if target := r.link(at("physfn")); target != "" {
		d.PhysFn, _ = canonical(path.Base(target))
	}
	if n, ok := r.number(at("sriov_numvfs")); ok {
		d.VFs = n
	}
	d.LocalCPUs = r.localCPUs(a, dir)
	d.Link = r.pciLink(dir)
	if d.PhysFn != "" && d.Link == (Link{}) {
		// The registers of a virtual function are empty: the link is the
		// physical function's.
		if pf := r.dirs[d.PhysFn]; pf != "" {
			d.Link = r.pciLink(pf)
		}
	}
	return d
}

func (r *reading) pciLink(dir string) Link {
	var l Link
	speed := func(name string) float64 {
		v, _, err := ParseSpeed(r.text(path.Join(dir, name)))
		if err != nil {
			r.note(fmt.Errorf("%s/%s: %w", dir, name, err))
		}
		return v
	}
	width := func(name string) int {
		text, ok, err := r.String(path.Join(dir, name))
		r.note(err)
		if !ok || text == "" {
			return 0
		}
		v, _, err := ParseWidth(text)
		if err != nil {
			r.note(fmt.Errorf("%s/%s: %w", dir, name, err))
		}
		return v
	}
	l.Speed, l.MaxSpeed = speed("current_link_speed"), speed("max_link_speed")
	l.Width, l.MaxWidth = width("current_link_width"), width("max_link_width")
	if l.Width == 0 {
		l.Speed = 0 // nothing is connected; the register still shows 2.5 GT/s
	}
	if l.MaxWidth == 0 {
		l.MaxSpeed = 0
	}
	return l
}

// localCPUs reads what the kernel says is near, in both of its forms, and warns
// when they contradict each other; the list is believed.
func (r *reading) localCPUs(a Address, dir string) CPUSet {
	list := r.cpus(path.Join(dir, "local_cpulist"))
	text, ok, err := r.String(path.Join(dir, "local_cpus"))
	r.note(err)
	if !ok || list == nil {
		return list
	}
	mask, _, err := ParseCPUMask(text)
	if err != nil {
		r.note(fmt.Errorf("%s/local_cpus: %w", dir, err))
	} else if !slices.Equal(mask, list) {
		r.conflicts = append(r.conflicts, conflict{a, fmt.Sprintf("local CPUs are %s as a list and %s as a mask (%s); the list is believed", list, mask, text)})
	}
	return list
}
