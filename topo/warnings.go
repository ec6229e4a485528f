package topo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kinds of warnings.
const (
	// WarnDegradedLink is a PCIe link that runs slower or narrower than both of
	// its ends could. An idle GPU's lower speed is none.
	WarnDegradedLink WarningCode = "degraded-link"
	// WarnSlotLimit is an HCA in a slot that is slower than the HCA.
	WarnSlotLimit WarningCode = "slot-limit"
	// WarnBogusSpeed is a stated rate that the hardware cannot have.
	WarnBogusSpeed WarningCode = "bogus-speed"
	// WarnTruncatedMask is an affinity mask that lost digits, and with them CPUs.
	WarnTruncatedMask WarningCode = "truncated-mask"
	// WarnConflictingMask is a list of CPUs that another source contradicts.
	WarnConflictingMask WarningCode = "conflicting-mask"
	// WarnNodeOverlap is a CPU that two NUMA nodes claim.
	WarnNodeOverlap WarningCode = "node-overlap"
	// WarnNUMAUnknown is a GPU or HCA whose NUMA node is not known.
	WarnNUMAUnknown WarningCode = "numa-unknown"
	// WarnNodeMissing is a device on a NUMA node that is not listed.
	WarnNodeMissing WarningCode = "node-missing"
	// WarnPortDown is a port that is not active.
	WarnPortDown WarningCode = "port-down"
	// WarnStatedDiffers is a path that a tool tells and the facts contradict.
	WarnStatedDiffers WarningCode = "stated-differs"
	// WarnFlat is a virtual machine that shows no PCIe switches.
	WarnFlat WarningCode = "flat-machine"
	// WarnNoDeviceFile is a device that /sys shows and whose file in /dev is
	// missing, as in a container that was not given it.
	WarnNoDeviceFile WarningCode = "no-device-file"
	// WarnUnreadable is a file that is there and could not be read or understood.
	WarnUnreadable WarningCode = "unreadable"
	// WarnNetdevElsewhere is a port whose network interface is not seen here.
	WarnNetdevElsewhere WarningCode = "netdev-elsewhere"
	// WarnNetdevMapping is an interface that two sources give to two devices.
	WarnNetdevMapping WarningCode = "netdev-mapping"
	// WarnBondRate is a bond whose rate is that of one port.
	WarnBondRate WarningCode = "bond-rate"
	// WarnManagement is a function that serves the NVSwitch fabric.
	WarnManagement WarningCode = "management-function"
)

func (s *System) warn(code WarningCode, device, format string, args ...any) {
	s.Warnings = append(s.Warnings, Warning{code, device, fmt.Sprintf(format, args...)})
}

func (s *System) addWarnings() {
	s.warnMasks()
	s.warnLinks()
	s.warnRates()
	s.warnNUMA()
	s.warnPorts()
	s.warnStated()
	if s.Host.Flat {
		s.warn(WarnFlat, "", "%s Set NCCL_TOPO_FILE to the cloud's topology file if it offers one.", flatText)
	}
	slices.SortStableFunc(s.Warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Text, b.Text))
	})
	s.Warnings = slices.Compact(s.Warnings)
}

// warnMasks checks what nodes and devices say about their CPUs.
func (s *System) warnMasks() {
	longest := 0
	for _, n := range s.Nodes {
		longest = max(longest, maskDigits(n.Mask))
	}
	owner := map[int]int{}
	for _, n := range s.Nodes {
		name := fmt.Sprintf("node%d", n.ID)
		if digits := maskDigits(n.Mask); n.Mask != "" && digits < longest {
			s.warn(WarnTruncatedMask, name,
				"The affinity mask %s has %d digits and others have %d: digits were lost, and CPUs with them.", n.Mask, digits, longest)
		}
		var twice CPUSet
		for _, c := range n.CPUs {
			if _, taken := owner[c]; taken {
				twice = append(twice, c)
			}
			owner[c] = n.ID
		}
		if len(twice) > 0 {
			s.warn(WarnNodeOverlap, name, "CPUs %s belong to node %d and to another node.", twice, n.ID)
		}
		if s.Host.OnlineCPUs != nil && len(n.CPUs) > 0 && len(n.CPUs.Intersect(s.Host.OnlineCPUs)) == 0 {
			s.warn(WarnConflictingMask, name, "None of the CPUs %s of node %d is online (online: %s).", n.CPUs, n.ID, s.Host.OnlineCPUs)
		}
	}
	for _, d := range s.PCI {
		id, ok := d.NUMA.Known()
		node, listed := s.Node(id)
		if !ok || !listed || len(d.LocalCPUs) == 0 || len(node.CPUs) == 0 {
			continue
		}
		if len(d.LocalCPUs.Intersect(node.CPUs)) == 0 {
			s.warn(WarnConflictingMask, string(d.Address),
				"Its local CPUs %s are none of node %d's (%s); the node is believed.", d.LocalCPUs, id, node.CPUs)
		}
	}
}

func maskDigits(mask string) int {
	return len(strings.NewReplacer(",", "", "0x", "").Replace(mask))
}

// warnNUMA names the devices whose node is missing or is no node.
func (s *System) warnNUMA() {
	if len(s.Nodes) == 0 && len(s.PCI) == 0 {
		return // a matrix, or names alone: the source does not tell places
	}
	for _, e := range s.endpoints() {
		id, ok := e.numa().Known()
		if !ok {
			s.warn(WarnNUMAUnknown, e.Label(), "The NUMA node of %s is not known: %s.", e.Label(), e.numa().From)
			continue
		}
		if node, listed := s.Node(id); len(s.Nodes) > 0 && !listed {
			s.warn(WarnNodeMissing, e.Label(), "%s is on NUMA node %d, which the machine does not list.", e.Label(), id)
		} else if listed && node.MemoryOnly() {
			s.warn(WarnNodeMissing, e.Label(), "%s is on NUMA node %d, which has no CPUs.", e.Label(), id)
		}
	}
}

// warnPorts names ports that carry nothing and files that are missing.
func (s *System) warnPorts() {
	for _, h := range s.HCAs {
		if h.Management {
			s.warn(WarnManagement, h.Name, "%s serves the NVSwitch fabric: it is neither chosen nor counted.", h.Name)
			continue
		}
		if h.UverbsPresent != nil && !*h.UverbsPresent {
			s.warn(WarnNoDeviceFile, h.Name, "/dev/infiniband/%s is missing: programs here cannot open %s. Give the container the device.", h.Uverbs, h.Name)
		}
		for _, p := range h.Ports {
			if usable, ok := p.Usable(); ok && !usable {
				s.warn(WarnPortDown, h.Name, "Port %d is %s.", p.Number, p.State)
			}
			if p.LinkLayer == Ethernet && len(p.Netdevs) == 0 && h.Kind != KindUnknown {
				s.warn(WarnNetdevElsewhere, h.Name, "Port %d is Ethernet and no network interface of it is seen here: it may live in another network namespace.", p.Number)
			}
		}
	}
	for _, g := range s.GPUs {
		if g.DeviceFilePresent != nil && !*g.DeviceFilePresent {
			s.warn(WarnNoDeviceFile, g.Label(), "%s is missing: programs here cannot open %s. Give the container the device.", g.DeviceFile, g.Label())
		}
	}
}

// warnStated compares what tools told with what the facts give.
func (s *System) warnStated() {
	var differ []string
	by := ""
	for _, t := range s.Stated {
		a, b := s.labels[t.A], s.labels[t.B]
		if a == nil || b == nil || t.Path == LOC {
			continue
		}
		pci, _ := s.PCIPath(a, b)
		if _, nv := t.Path.NVLinks(); nv || s.Host.Flat {
			continue
		}
		same, known := sameNode(a.numa(), b.numa())
		contradicts := t.Path == SYS && known && same || pci != PathUnknown && pci != PHBOrNODE && pci != t.Path
		if contradicts {
			differ = append(differ, fmt.Sprintf("%s-%s %s (here: %s)", t.A, t.B, t.Path, pci))
			by = t.By
		}
	}
	if len(differ) == 0 {
		return
	}
	more := ""
	if len(differ) > 4 {
		more = fmt.Sprintf(" and %d more", len(differ)-4)
		differ = differ[:4]
	}
	s.warn(WarnStatedDiffers, "", "%s says %s%s; NUMA nodes and the PCI tree say otherwise and are believed.", by, strings.Join(differ, ", "), more)
}
