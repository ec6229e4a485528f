package topo

import "slices"

// netmapper tells the RDMA device of a network interface: "" for none.
type netmapper func(netdev string) (string, error)

const (
	typeEthernet   = 1
	typeInfiniBand = 32
)

// mapNetdevs asks a second source for the device of each interface, and checks
// its answers against what the files say. The source, rdmamap, says "" without an
// error for an interface that it does not find, drops the errors of single files,
// and goes by the node's GUID on InfiniBand, where the port's decides: with two
// ports it names no device or the wrong one. So an answer fills a gap and never
// replaces what is known. Where there is no gap it is not asked: for each interface
// it reads the whole GID tables of all devices.
func (s *System) mapNetdevs(ask netmapper) {
	if !slices.ContainsFunc(s.HCAs, (*HCA).hasGap) {
		return
	}
	hcas := map[string]*HCA{}
	for _, h := range s.HCAs {
		hcas[h.Name] = h
	}
	for _, n := range s.Netdevs {
		if !n.hasLinkAddress() {
			continue
		}
		name, err := ask(n.Name)
		if err != nil || name == "" || slices.Contains(n.RDMA, name) {
			continue
		}
		h, ok := hcas[name]
		switch {
		case !ok:
			s.warn(WarnNetdevMapping, n.Name, "rdmamap gives %s to %s, which is not listed here.", n.Name, name)
		case len(n.RDMA) > 0:
			s.warn(WarnNetdevMapping, n.Name, "rdmamap gives %s to %s; by the files it belongs to %s, which is believed.", n.Name, name, joinWords(n.RDMA))
		case !s.accepts(h, n):
			s.warn(WarnNetdevMapping, n.Name, "rdmamap gives %s to %s; neither the GIDs nor the PCI function confirm it.", n.Name, name)
		default:
			h.Ports[0].Netdevs = append(h.Ports[0].Netdevs, n.Name)
			n.RDMA = append(n.RDMA, h.Name)
		}
	}
}

// hasGap reports whether the interface of a port is not known.
func (h *HCA) hasGap() bool {
	return slices.ContainsFunc(h.Ports, func(p Port) bool { return len(p.Netdevs) == 0 })
}

// hasLinkAddress reports whether the interface is Ethernet, or InfiniBand with an
// address of its full length: rdmamap reads that without checking.
func (n *Netdev) hasLinkAddress() bool {
	if n.Type == nil {
		return false
	}
	return *n.Type == typeEthernet || *n.Type == typeInfiniBand && len(n.MAC) == len("00:")*20-1
}

// accepts reports whether an interface can belong to a device with one port: they
// share a PCI function, or the device has none.
func (s *System) accepts(h *HCA, n *Netdev) bool {
	if len(h.Ports) != 1 {
		return false
	}
	return len(h.PCI) == 0 || slices.Contains(h.PCI, n.PCI)
}
