package doctor

import (
	"fmt"
	"path"
	"slices"

	"github.com/gofabric/gofabric/topo"
)

var pcieChecks = []Check{
	{7, "pcie-width", "every PCIe link from a card to its root port is as wide as both ends can be", "/sys/bus/pci/devices/*/current_link_width, max_link_width", Critical, examineWidth},
	{8, "pcie-speed", "every PCIe link from a card to its root port is as fast as both ends can be", "/sys/bus/pci/devices/*/current_link_speed, max_link_speed", Critical, examineSpeed},
	{9, "gpu-link", "a GPU's PCIe link is at full speed under load", "NVML, /sys/bus/pci/devices/*/current_link_speed", Warning, examineGPULink},
	{10, "slot", "the PCIe link of every card carries its port's rate", "/sys/class/infiniband/*/ports/*/rate, /sys/bus/pci/devices/*/current_link_*", Warning, examineSlot},
	{15, "iommu", "the IOMMU does not translate for GPUs and RDMA devices", "/sys/kernel/iommu_groups/*/type", Warning, examineIOMMU},
}

// pciLink is a link seen from its lower end.
type pciLink struct {
	lower, upper *topo.PCIDevice // upper is nil where it is not shown
	of           string          // the device that the path belongs to
}

func (l pciLink) name() string {
	if l.upper == nil {
		return fmt.Sprintf("%s (%s)", l.of, l.lower.Address)
	}
	return fmt.Sprintf("%s (%s to %s)", l.of, l.lower.Address, l.upper.Address)
}

// links are those from a function up to its root port. Only the lower end of each
// is visited: a device, or the upstream port of a switch.
func (x *exam) links(a topo.Address, of string) []pciLink {
	var list []pciLink
	d, ok := x.System.Device(a)
	for steps := 0; ok && steps < 64; steps++ {
		if d.PhysFn != "" {
			if pf, found := x.System.Device(d.PhysFn); found {
				d = pf
			}
		}
		up, above := x.System.Device(d.Parent)
		if d.Bridge == topo.NotBridge || d.Bridge == topo.SwitchUpstream || d.Bridge == topo.WholeSwitch {
			l := pciLink{lower: d, of: of}
			if above {
				l.upper = up
			}
			list = append(list, l)
		}
		d, ok = up, above
	}
	return list
}

// cardLinks are the links of all cards, of the NICs below software devices, and for
// widths of GPUs. A link that several
// share stands once, under the first.
func (x *exam) cardLinks(gpus bool) []pciLink {
	var list []pciLink
	add := func(links []pciLink) {
		for _, l := range links {
			if !slices.ContainsFunc(list, func(o pciLink) bool { return o.lower == l.lower }) {
				list = append(list, l)
			}
		}
	}
	for _, h := range x.hcas() {
		for _, a := range h.PCI {
			add(x.links(a, h.Name))
		}
	}
	if gpus {
		for _, g := range x.gpus() {
			add(x.links(g.PCI, g.Label()))
		}
	}
	return list
}

// could is what both ends of a link can do, and false where one is not known.
func could[T int | float64](own T, upper *topo.PCIDevice, of func(topo.Link) T) (T, bool) {
	if upper == nil || upper.Bridge == topo.SwitchUpstream || upper.Bridge == topo.WholeSwitch {
		return own, false
	}
	other := of(upper.Link)
	if own == 0 || other == 0 {
		return max(own, other), false
	}
	return min(own, other), true
}

const noLink = "the link's registers cannot be read from here: a virtual machine, or a description that does not hold them"

func examineWidth(x *exam) {
	for _, l := range x.cardLinks(true) {
		width, own := l.lower.Link.Width, l.lower.Link.MaxWidth
		best, both := could(own, l.upper, func(l topo.Link) int { return l.MaxWidth })
		evidence := []Evidence{
			x.from(path.Join(functionDir(l.lower.Address), "current_link_width"), fmt.Sprint(width)),
			x.from(path.Join(functionDir(l.lower.Address), "max_link_width"), fmt.Sprint(own)),
		}
		if l.upper != nil {
			evidence = append(evidence, x.from(path.Join(functionDir(l.upper.Address), "max_link_width"), fmt.Sprint(l.upper.Link.MaxWidth)))
		}
		switch {
		case width == 0 || own == 0 && best == 0:
			x.unknown(l.name(), noLink)
		case width >= best || both && width == best:
			x.pass(l.name(), fmt.Sprintf("x%d", width), evidence...)
		case !both:
			x.unknown(l.name(), fmt.Sprintf("x%d of x%d, and the slot's own width cannot be seen: it may be a narrow slot", width, best), evidence...)
		default:
			x.fail(Critical, l.name(), fault{
				fmt.Sprintf("the link runs x%d and both ends can do x%d", width, best), "the card sits badly, a contact is dirty, or the slot is bifurcated",
				"reseat the card; look at the BIOS setting for bifurcation of this slot",
			}, evidence...)
		}
	}
	x.otherwise("there is neither an RDMA device nor a GPU on PCIe")
}

func examineSpeed(x *exam) {
	for _, l := range x.cardLinks(false) {
		speed, own := l.lower.Link.Speed, l.lower.Link.MaxSpeed
		best, both := could(own, l.upper, func(l topo.Link) float64 { return l.MaxSpeed })
		evidence := []Evidence{
			x.from(path.Join(functionDir(l.lower.Address), "current_link_speed"), number(speed)+" GT/s"),
			x.from(path.Join(functionDir(l.lower.Address), "max_link_speed"), number(own)+" GT/s"),
		}
		if l.upper != nil {
			evidence = append(evidence, x.from(path.Join(functionDir(l.upper.Address), "max_link_speed"), number(l.upper.Link.MaxSpeed)+" GT/s"))
		}
		switch {
		case speed == 0 || own == 0 && best == 0:
			x.unknown(l.name(), noLink)
		case speed >= best && both && own > best:
			x.pass(l.name(), fmt.Sprintf("%s GT/s, all that its slot can do; the card could do %s", number(speed), number(own)), evidence...)
		case speed >= best:
			x.pass(l.name(), number(speed)+" GT/s", evidence...)
		case !both:
			x.unknown(l.name(), fmt.Sprintf("%s GT/s of %s, and the slot's own speed cannot be seen: it may be an older slot", number(speed), number(best)), evidence...)
		default:
			x.fail(Critical, l.name(), fault{
				fmt.Sprintf("the link runs at %s GT/s and both ends can do %s", number(speed), number(best)), "a BIOS setting, a riser or retimer that is too slow, or bad signal integrity",
				"set the slot's speed in the BIOS to its greatest or automatic; reseat; try another riser",
			}, evidence...)
		}
	}
	x.otherwise("there is no RDMA device on PCIe")
}

// busyEnough is the share of time in percent from which on a GPU's link is not
// idling.
const busyEnough = 50

func examineGPULink(x *exam) {
	for _, g := range x.gpus() {
		d, ok := x.System.Device(g.PCI)
		if ok && d.Link.Speed > 0 && d.Link.Speed == d.Link.MaxSpeed {
			x.pass(g.Label(), number(d.Link.Speed)+" GT/s", x.from(path.Join(functionDir(g.PCI), "current_link_speed"), number(d.Link.Speed)+" GT/s"))
			continue
		}
		now, found := x.nvmlStatus(g)
		if !found || now.status.PCIe.Generation == nil || now.gpu.PCIeMax.Generation == nil {
			x.unknown(g.Label(), "the link is below its greatest speed or not told, and without NVML it cannot be seen whether the GPU works: an idle GPU slows its link down")
			continue
		}
		gen, best := *now.status.PCIe.Generation, *now.gpu.PCIeMax.Generation
		evidence := []Evidence{{"NVML", fmt.Sprintf("PCIe generation %d of %d", gen, best)}}
		if now.status.GPUBusy != nil {
			evidence = append(evidence, Evidence{"NVML", fmt.Sprintf("busy %d %%", *now.status.GPUBusy)})
		}
		switch {
		case gen >= best:
			x.pass(g.Label(), fmt.Sprintf("generation %d", gen), evidence...)
		case now.status.GPUBusy != nil && *now.status.GPUBusy >= busyEnough:
			x.fail(Warning, g.Label(), fault{
				fmt.Sprintf("the GPU works and its link runs at generation %d of %d", gen, best), "signal integrity, a BIOS setting, or a riser",
				"see the BIOS setting of the slot; reseat",
			}, evidence...)
		default:
			x.unknown(g.Label(), fmt.Sprintf("generation %d of %d while the GPU idles, which is normal: ask again under load", gen, best), evidence...)
		}
	}
	x.otherwise(noGPU)
}

func examineSlot(x *exam) {
	for _, p := range active(portsOf(x.hcas())) {
		gbps := p.RateGbps
		source := x.from(path.Join(p.dir(), "rate"), number(gbps)+" Gb/s")
		if p.roce() {
			// 1 Gb/s Ethernet is told as 2.5: believe the interface.
			for _, name := range p.Netdevs {
				if n, ok := x.System.Netdev(name); ok && n.SpeedMbps != nil {
					gbps = float64(*n.SpeedMbps) / 1000
					source = x.from(path.Join(classNet, name, "speed"), fmt.Sprint(*n.SpeedMbps))
				}
			}
		}
		if len(p.PCI) == 0 {
			continue
		}
		if p.Kind == topo.KindSoftware && source.Source == x.from(path.Join(p.dir(), "rate"), "").Source {
			continue // rxe invents a rate for an interface that tells none
		}
		limit, narrowest, ok := x.narrowest(p.PCI)
		switch {
		case gbps == 0:
			x.unknown(p.name(), "the port's rate is not told")
		case !ok:
			x.unknown(p.name(), noLink)
		case gbps > limit*8:
			x.fail(Warning, p.name(), fault{
				fmt.Sprintf("the port does %s Gb/s (%.1f GB/s) and PCIe carries %.1f GB/s", number(gbps), gbps/8, limit), "the slot is narrower or older than the card",
				"move the card to a slot with more lanes or a newer generation",
			}, source, x.from(functionDir(narrowest.Address), fmt.Sprintf("x%d at %s GT/s", narrowest.Link.Width, number(narrowest.Link.Speed))))
		default:
			x.pass(p.name(), fmt.Sprintf("%.1f GB/s by the port, %.1f by PCIe", gbps/8, limit), source)
		}
	}
	x.otherwise("there is no active port on PCIe")
}

// narrowest finds the slowest link from a device to its root: in GB/s and direction,
// added up where a bond has several functions.
func (x *exam) narrowest(functions []topo.Address) (sum float64, at *topo.PCIDevice, ok bool) {
	for _, a := range functions {
		links := x.links(a, "")
		if len(links) == 0 {
			return 0, nil, false
		}
		least, known := links[0].lower.Link.GBps()
		if !known {
			return 0, nil, false // the card's own link counts above all
		}
		at = links[0].lower
		if x.virtual() {
			links = links[:1] // what is above may be made up
		}
		for _, l := range links[1:] {
			if rate, known := l.lower.Link.GBps(); known && rate < least {
				least, at = rate, l.lower
			}
		}
		sum += least
	}
	return sum, at, at != nil
}

func examineIOMMU(x *exam) {
	type function struct {
		name    string
		address topo.Address
	}
	var list []function
	for _, h := range x.cards() {
		for _, a := range h.PCI {
			list = append(list, function{h.Name, a})
		}
	}
	for _, g := range x.gpus() {
		list = append(list, function{g.Label(), g.PCI})
	}
	if len(list) == 0 {
		x.notApplicable("there is neither RDMA hardware nor a GPU")
		return
	}
	if arch := x.System.Host.CPU.Arch; arch != "" && arch != "x86_64" {
		x.notApplicable("judged on x86-64 only")
		return
	}
	if !x.files {
		x.unknown("", "the description does not tell the IOMMU's groups")
		return
	}
	// A kernel without an active IOMMU has the folder, or not, and no group.
	if groups, _, err := x.read.Names("sys/kernel/iommu_groups"); err == nil && len(groups) == 0 {
		if !x.read.IsDir("sys/kernel") {
			x.unknown("", "/sys/kernel is not to be seen")
			return
		}
		x.pass("", "the IOMMU is off, or the machine has none", Evidence{"sys/kernel/iommu_groups", "empty"})
		return
	} else if err == nil {
		x.read.IsDir(path.Join("sys/kernel/iommu_groups", groups[0])) // so that a capture keeps one
	}
	for _, f := range list {
		file := path.Join(functionDir(f.address), "iommu_group/type")
		kind, ok := x.text(file)
		switch {
		case !ok:
			x.unknown(f.name, "its IOMMU group is not told")
		case kind == "identity":
			x.pass(f.name, "the IOMMU lets it through", Evidence{file, kind})
		default:
			x.fail(Warning, f.name, fault{
				"the IOMMU translates its accesses", "the kernel was started without iommu=pt: each page costs a translation, and peer access may fail",
				"add iommu=pt to the kernel's command line and reboot",
			}, Evidence{file, kind})
		}
	}
}
