package verbs

import (
	"path"
	"strconv"
)

// PortInfo describes a port as sysfs shows it. It is a plain value. The active
// MTU is not in sysfs: ask the open device for the port's attributes.
type PortInfo struct {
	Device    string // mlx5_0
	Number    int    // from 1
	State     PortState
	PhysState PhysState
	LinkLayer LinkLayer

	// LID and SMLID are the local identifiers of the port and of its subnet
	// manager on InfiniBand. 0 is no LID: none is assigned, or it is RoCE.
	LID   uint16
	SMLID uint16

	// GUID is the port's own GUID, the lower half of GID 0, as ibstat shows it.
	// It is not the node GUID. It is zero when GID 0 does not tell: on RoCE,
	// when GID 0 is an IP address that somebody gave; on a virtual function,
	// until the port has a GUID.
	GUID GUID

	Rate    Rate    // zero when it is not known
	CapMask *uint32 // capability mask of PortInfo, nil when it is not known

	// Netdev is the network interface of the port: that of its GIDs on RoCE, the
	// IPoIB interface with the port's GUID on InfiniBand. It is "" when none is
	// seen from here, as when it lives in another network namespace.
	Netdev string

	// GIDs are the entries of the GID table that are in use, by index.
	GIDs []GIDEntry
	// GIDTableLen is the number of entries in the table, used or not; 0 when the
	// table is not to be seen.
	GIDTableLen int
}

// GID returns the entry at that index of the GID table, and false if it is not
// in use.
func (p PortInfo) GID(index int) (GIDEntry, bool) {
	for _, e := range p.GIDs {
		if e.Index == index {
			return e, true
		}
	}
	return GIDEntry{}, false
}

// roce reports whether GIDs of the port are RoCE addresses. Where the link layer
// is missing, a RoCE v2 entry gives it away.
func (p PortInfo) roce() bool {
	if p.LinkLayer != LinkLayerUnspecified {
		return p.LinkLayer == LinkLayerEthernet
	}
	for _, e := range p.GIDs {
		if e.Type == GIDTypeRoCEv1 || e.Type == GIDTypeRoCEv2 {
			return true
		}
	}
	return false
}

func (s sysScan) port(d *DeviceInfo, number int, ipoib map[GUID]string) PortInfo {
	dir := path.Join(classInfiniband, d.Name, "ports", strconv.Itoa(number))
	a := attrDir{Reader: s.Reader, dir: dir, problems: &d.Problems}
	p := PortInfo{Device: d.Name, Number: number}

	p.State = attrValue(a, "state", parsePortState)
	p.PhysState = attrValue(a, "phys_state", parsePhysState)
	p.LinkLayer = attrValue(a, "link_layer", parseLinkLayer)
	p.Rate = attrValue(a, "rate", parseRate)
	if v, ok := a.hex("lid", 16); ok {
		p.LID = uint16(v)
	}
	if v, ok := a.hex("sm_lid", 16); ok {
		p.SMLID = uint16(v)
	}
	if v, ok := a.hex("cap_mask", 32); ok {
		mask := uint32(v)
		p.CapMask = &mask
	}
	p.GIDs, p.GIDTableLen = gidTable(a, p.LinkLayer)
	if gid, ok := p.GID(0); ok && (!p.roce() || gid.GID.IP().Is6() && gid.GID.IsLinkLocal()) {
		p.GUID = gid.GID.InterfaceID()
	}
	p.Netdev = s.netdev(a, d, p, ipoib)
	return p
}
