package topo

import (
	"fmt"
	"strconv"
)

// warnLinks looks at each PCIe link from its lower end: the device, or the
// upstream port of a switch. The port above is the other end of the same link.
func (s *System) warnLinks() {
	for _, d := range s.PCI {
		switch d.Bridge {
		case NotBridge, SwitchUpstream, WholeSwitch:
		default:
			continue
		}
		if d.PhysFn != "" || d.Address[len(d.Address)-1] != '0' && s.devices[Address(d.Address.Slot()+".0")] != nil {
			continue // a virtual or another function shares the link of the first
		}
		s.warnDegraded(d)
	}
	s.warnSwitchSpeeds()
}

func (s *System) warnDegraded(d *PCIDevice) {
	link := d.Link
	speed, width := link.MaxSpeed, link.MaxWidth
	if up := s.devices[d.Parent]; up != nil && up.Bridge != WholeSwitch && up.Bridge != SwitchUpstream {
		speed, width = lesser(speed, up.Link.MaxSpeed), lesserInt(width, up.Link.MaxWidth)
		s.warnSlot(d, up)
	}
	name := s.nameOf(d)
	if link.Width > 0 && width > 0 && link.Width < width {
		s.warn(WarnDegradedLink, string(d.Address), "The link of %s is x%d and could be x%d: reseat the card or check the slot.", name, link.Width, width)
	}
	if link.Speed > 0 && speed > 0 && link.Speed < speed && !s.idles(d) {
		s.warn(WarnDegradedLink, string(d.Address), "The link of %s runs at %s GT/s and could run at %s: reseat the card or check the slot and the firmware's settings.",
			name, number(link.Speed), number(speed))
	}
}

// warnSlot names HCAs whose slot is the limit.
func (s *System) warnSlot(d, up *PCIDevice) {
	own, ok1 := d.Link.MaxGBps()
	slot, ok2 := up.Link.MaxGBps()
	if !ok1 || !ok2 || slot >= own {
		return
	}
	for _, h := range s.HCAs {
		if len(h.PCI) > 0 && h.PCI[0] == d.Address && !h.Management {
			s.warn(WarnSlotLimit, h.Name, "%s could move %.1f GB/s over PCIe and its slot carries %.1f.", h.Name, own, slot)
			return
		}
	}
}

// idles reports whether a lower speed of the link is how the device saves power:
// a GPU's. The switch above a GPU keeps its own link at full speed.
func (s *System) idles(d *PCIDevice) bool {
	if d.Class.Base() == 0x0300 || d.Class.Base() == 0x0302 {
		return true
	}
	for _, g := range s.GPUs {
		if g.PCI == d.Address {
			return true
		}
	}
	return false
}

// warnSwitchSpeeds finds switches whose greatest speed is stated lower, by more
// than one generation, than that of a port or device below them: the two come
// from one chip or one slot, so one of the numbers is wrong.
func (s *System) warnSwitchSpeeds() {
	fastest := map[Address]float64{}
	for _, d := range s.PCI {
		for _, b := range s.bridgesAbove(d.Address) {
			fastest[b.Address] = max(fastest[b.Address], d.Link.MaxSpeed)
		}
	}
	for _, d := range s.PCI {
		if d.Bridge != SwitchUpstream && d.Bridge != WholeSwitch {
			continue
		}
		own, ok1 := Generation(d.Link.MaxSpeed)
		below, ok2 := Generation(fastest[d.Address])
		if ok1 && ok2 && own+1 < below {
			s.warn(WarnBogusSpeed, string(d.Address), "The switch is stated at %s GT/s at most and devices below it at %s: the number is wrong, or the switch holds them all back.",
				number(d.Link.MaxSpeed), number(fastest[d.Address]))
		}
	}
	for _, d := range s.PCI {
		for _, v := range []float64{d.Link.Speed, d.Link.MaxSpeed} {
			if _, ok := Generation(v); v > 0 && !ok {
				s.warn(WarnBogusSpeed, string(d.Address), "%s GT/s is the speed of no PCIe generation.", number(v))
				break
			}
		}
	}
}

// portRates are the rates in Gb/s that InfiniBand and Ethernet ports have.
var portRates = map[float64]bool{
	1: true, 2: true, 2.5: true, 5: true, 8: true, 10: true, 14: true, 16: true, 20: true, 25: true, 28: true, 30: true,
	40: true, 50: true, 56: true, 60: true, 80: true, 100: true, 112: true, 120: true, 168: true,
	200: true, 300: true, 400: true, 600: true, 800: true, 1200: true, 1600: true,
}

func (s *System) warnRates() {
	for _, h := range s.HCAs {
		for _, p := range h.Ports {
			if p.RateGbps > 0 && !portRates[p.RateGbps] {
				s.warn(WarnBogusSpeed, h.Name, "Port %d is stated at %s Gb/s, which is the rate of no port.", p.Number, number(p.RateGbps))
			}
			if h.Kind == KindBond && len(h.PCI) > 1 && p.RateGbps > 0 {
				s.warn(WarnBondRate, h.Name, "The rate of %s Gb/s may be that of one of the %d ports behind the bond.", number(p.RateGbps), len(h.PCI))
			}
		}
	}
}

// nameOf is how people call a function: the HCA's or GPU's name with its address.
func (s *System) nameOf(d *PCIDevice) string {
	for _, g := range s.GPUs {
		if g.PCI == d.Address {
			return fmt.Sprintf("%s (%s)", g.Label(), d.Address)
		}
	}
	for _, h := range s.HCAs {
		if len(h.PCI) > 0 && h.PCI[0] == d.Address {
			return fmt.Sprintf("%s (%s)", h.Name, d.Address)
		}
	}
	if d.Bridge != NotBridge {
		return fmt.Sprintf("the switch %s", d.Address)
	}
	return string(d.Address)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// lesser returns the smaller of two values, where 0 is not known.
func lesser(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func lesserInt(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
