package topo

import "fmt"

// NVLinks returns how many active NVLinks two GPUs share: those that end at each
// other, or through NVSwitches those that both have to one. It is 0 for none,
// and for a GPU and itself.
func (s *System) NVLinks(a, b *GPU) int {
	n, _ := s.nvlinks(a, b)
	return n
}

func (s *System) nvlinks(a, b *GPU) (count int, how string) {
	if a == b || a == nil || b == nil {
		return 0, ""
	}
	direct := max(linksTo(a, b.PCI), linksTo(b, a.PCI))
	if direct > 0 {
		return direct, fmt.Sprintf("%d NVLinks join %s and %s", direct, a.Label(), b.Label())
	}
	// NVSwitches connect every port with every other, so the GPU with fewer
	// links to them is the limit.
	if n := min(switchLinks(a), switchLinks(b)); n > 0 {
		return n, fmt.Sprintf("%d NVLinks join %s and %s through NVSwitches", n, a.Label(), b.Label())
	}
	if t := s.stated(a, b); t != nil {
		if n, ok := t.Path.NVLinks(); ok {
			return n, fmt.Sprintf("%s says that %d NVLinks join %s and %s", t.By, n, a.Label(), b.Label())
		}
	}
	return 0, ""
}

func linksTo(g *GPU, peer Address) int {
	n := 0
	for _, l := range g.NVLinks {
		if l.Peer == PeerGPU && l.Address == peer && peer != "" {
			n += l.Count
		}
	}
	return n
}

func switchLinks(g *GPU) int {
	n := 0
	for _, l := range g.NVLinks {
		if l.Peer == PeerSwitch {
			n += l.Count
		}
	}
	return n
}
