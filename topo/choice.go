package topo

import (
	"cmp"
	"fmt"
	"slices"
)

// Choice is a device that could be used with another, with its rank's reasons.
type Choice struct {
	Device   Endpoint // *HCA from HCAsFor, *GPU from GPUsFor
	Path     Path
	NCCLPath NCCLPath
	// Best says that no other is better. Several can be best: a tie, to be
	// spread over, as Plan does.
	Best bool
	// Usable is false for an HCA that has ports and none of them active.
	Usable bool
	// RateGbps is the rate of an HCA's usable ports together in Gb/s, limited by
	// its PCIe link; 0 where it is not known, and for GPUs.
	RateGbps float64

	of   Endpoint
	why  Explanation
	ties int
	slow bool
	key  choiceKey
}

// Explain says in a few sentences which path it is, why it ranks where it does,
// and what is not known.
func (c Choice) Explain() string {
	if absent(c.Device) || absent(c.of) {
		return absentText
	}
	text := fmt.Sprintf("%s for %s: %s (NCCL: %s).", c.Device.Label(), c.of.Label(), c.Path, c.NCCLPath)
	switch {
	case c.Best && c.ties > 1:
		text += fmt.Sprintf(" It is one of %d that are equally near: spread over them.", c.ties)
	case c.Best:
		text += " It is the nearest."
	default:
		text += " Another is nearer or faster."
	}
	text += " " + c.why.String()
	if c.Path == SYS && c.key.tier == tierNode {
		text += " The NUMA nodes are the same, so it ranks as near."
	}
	if !c.Usable {
		text += " None of its ports is active now."
	}
	if c.slow {
		text += " It has less than half of the rate of the fastest one, so it ranks behind."
	}
	return text
}

// Tiers of nearness, beyond the paths that PCI alone decides.
const (
	tierSwitch   = iota // PIX
	tierSwitches        // PXB
	tierRoot            // PHB
	tierNode            // the same NUMA node
	tierUnknown
	tierFar // another NUMA node
)

// choiceKey orders choices: smaller is better, field by field.
type choiceKey struct {
	unusable, slow, tier, distance int
	rate                           float64
}

func (k choiceKey) compare(o choiceKey) int {
	return cmp.Or(cmp.Compare(k.unusable, o.unusable), cmp.Compare(k.slow, o.slow), cmp.Compare(k.tier, o.tier),
		cmp.Compare(k.distance, o.distance), -cmp.Compare(k.rate, o.rate))
}

// HCAsFor ranks the RDMA devices for a GPU, the best first. Devices that serve the
// NVSwitch fabric are left out. The order: usable ports first; a device with less
// than half of the fastest one's rate (a front-end port) behind the others; then
// the path, PIX, PXB, PHB, the same NUMA node, an unknown one, another node by
// its distance; then the rate. What a tool calls SYS ranks as near where the NUMA
// nodes are known to match.
func (s *System) HCAsFor(g *GPU) []Choice {
	var list []Endpoint
	for _, h := range s.HCAs {
		if !h.Management {
			list = append(list, h)
		}
	}
	return s.choices(g, list)
}

// GPUsFor ranks the GPUs for an RDMA device, the best first, by the path as
// HCAsFor does.
func (s *System) GPUsFor(h *HCA) []Choice {
	list := make([]Endpoint, len(s.GPUs))
	for i, g := range s.GPUs {
		list[i] = g
	}
	return s.choices(h, list)
}

func (s *System) choices(of Endpoint, candidates []Endpoint) []Choice {
	if absent(of) {
		return nil
	}
	list := make([]Choice, 0, len(candidates))
	fastest := 0.0
	for _, e := range candidates {
		c := Choice{Device: e, Usable: true, of: of}
		c.Path, c.why = s.Path(of, e)
		c.NCCLPath, _ = s.NCCLPath(of, e)
		if h, ok := e.(*HCA); ok {
			c.Usable, c.RateGbps = s.capacity(h)
			fastest = max(fastest, c.RateGbps)
		}
		list = append(list, c)
	}
	for i := range list {
		list[i].slow = list[i].RateGbps > 0 && list[i].RateGbps < fastest/2
		list[i].key = s.key(list[i])
	}
	slices.SortStableFunc(list, func(a, b Choice) int { return a.key.compare(b.key) })
	ties := 0
	for _, c := range list {
		if c.key == list[0].key {
			ties++
		}
	}
	for i := range list[:ties] {
		list[i].Best, list[i].ties = true, ties
	}
	return list
}

func (s *System) key(c Choice) choiceKey {
	k := choiceKey{rate: c.RateGbps}
	if !c.Usable {
		k.unusable = 1
	}
	if c.slow {
		k.slow = 1
	}
	same, known := sameNode(c.of.numa(), c.Device.numa())
	pci := c.Path
	switch {
	case pci == LOC, pci == PIX:
		k.tier = tierSwitch
	case pci == PXB:
		k.tier = tierSwitches
	case pci == PHB && !s.Host.Flat:
		k.tier = tierRoot
	case known && same, pci == PHBOrNODE, pci == NODE, pci == PHB:
		k.tier = tierNode
	case !known && pci != SYS:
		k.tier = tierUnknown
	default:
		k.tier = tierFar
		a, _ := c.of.numa().Known()
		b, _ := c.Device.numa().Known()
		if d, ok := s.NodeDistance(a, b); ok && known {
			k.distance = d
		}
	}
	return k
}

// capacity tells whether an HCA has a port to use, and the rate of those
// together, limited by PCIe.
func (s *System) capacity(h *HCA) (usable bool, gbps float64) {
	usable = len(h.Ports) == 0
	for _, p := range h.Ports {
		if active, known := p.Usable(); active || !known {
			usable = true
			gbps += p.RateGbps
		}
	}
	if !usable {
		for _, p := range h.Ports {
			gbps += p.RateGbps
		}
	}
	if len(h.PCI) > 0 {
		if d := s.devices[h.PCI[0]]; d != nil {
			if limit, ok := d.Link.GBps(); ok && limit*8 < gbps {
				gbps = limit * 8
			}
		}
	}
	return usable, gbps
}
