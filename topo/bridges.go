package topo

// classifyBridges tells what each bridge is part of, where the source does not.
// PCI Express alternates: below a root bus stand root ports, below a root port
// the upstream port of a switch, below that its downstream ports, below one of
// those an endpoint or the next switch's upstream port. An upstream port is
// known by the bridges below it: a bridge that carries only endpoints is a plain
// one (PCIe to PCI, or a virtual machine's).
func (s *System) classifyBridges() {
	below := map[Address][]*PCIDevice{}
	for _, d := range s.PCI {
		if d.Parent != "" {
			below[d.Parent] = append(below[d.Parent], d)
		}
	}
	var descend func(d *PCIDevice, parent BridgeKind)
	descend = func(d *PCIDevice, parent BridgeKind) {
		children := below[d.Address]
		if d.Bridge == NotBridge && (d.Class.IsBridge() || len(children) > 0) {
			d.Bridge = bridgeKind(parent, d, children)
		}
		for _, c := range children {
			descend(c, d.Bridge)
		}
	}
	for _, d := range s.PCI {
		if d.Parent == "" {
			descend(d, NotBridge)
		}
	}
}

func bridgeKind(parent BridgeKind, d *PCIDevice, children []*PCIDevice) BridgeKind {
	if parent == NotBridge && d.Root != "" {
		return RootPort
	}
	if parent == SwitchUpstream {
		return SwitchDownstream
	}
	// An empty switch still has its downstream ports; a bridge without anything
	// below it cannot be told, and nothing depends on it.
	for _, c := range children {
		if c.Class.IsBridge() || c.Bridge != NotBridge {
			return SwitchUpstream
		}
	}
	return PlainBridge
}

// unit returns the switch or bridge that a bridge counts for when switches are
// counted: the upstream port for every port of a switch, the bridge itself for a
// plain one, and nil for a root port, which is no switch.
func (s *System) unit(b *PCIDevice) *PCIDevice {
	switch b.Bridge {
	case RootPort:
		return nil
	case SwitchDownstream:
		if up := s.devices[b.Parent]; up != nil {
			return up
		}
	}
	return b
}
