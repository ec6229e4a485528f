package topo

import (
	"net/netip"
)

// RoCEGID returns the entry of an Ethernet port's GID table to use: RoCE v2 with
// an IPv4 address, else with a global or private IPv6 address, else link-local;
// version 1 only where there is nothing else, the lowest index first. Its index
// depends on the machine: 3 is a habit and no rule. ok is false on InfiniBand,
// where the index means something else, and where the table is not known.
func (p Port) RoCEGID() (gid GID, ok bool) {
	if p.LinkLayer != Ethernet {
		return GID{}, false
	}
	best := -1
	for _, g := range p.GIDs {
		if rank := g.rank(); rank > best {
			best, gid = rank, g
		}
	}
	return gid, best >= 0
}

func (g GID) rank() int {
	rank := 0
	if g.Type == "RoCE v2" {
		rank = 10
	}
	ip, err := netip.ParseAddr(g.GID)
	switch {
	case err != nil || ip.IsLinkLocalUnicast():
	case ip.Is4In6():
		rank += 2
	default:
		rank++
	}
	return rank
}
