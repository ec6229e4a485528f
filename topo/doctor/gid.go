package doctor

import (
	"net/netip"
	"strings"

	"github.com/gofabric/gofabric/topo"
)

// gidKind is what a GID is good for.
type gidKind string

const (
	gidV2      gidKind = "RoCE v2"
	gidV2Local gidKind = "RoCE v2, link-local"
	gidV1      gidKind = "RoCE v1"
	gidNoAddr  gidKind = "no address to use"
	gidNoType  gidKind = "of unknown type"
)

// kindOf looks at an entry of a RoCE port.
func kindOf(g topo.GID) gidKind {
	a, err := netip.ParseAddr(g.GID)
	if err != nil {
		return gidNoAddr
	}
	a = a.Unmap()
	switch {
	case a.IsUnspecified(), a.IsLoopback(), a.IsMulticast():
		return gidNoAddr
	case g.Type == "":
		return gidNoType
	case !strings.Contains(g.Type, "v2"):
		return gidV1
	case a.IsLinkLocalUnicast():
		return gidV2Local
	}
	return gidV2
}

// kinds counts the entries of a port by kind.
func kinds(p topo.Port) map[gidKind]int {
	count := map[gidKind]int{}
	for _, g := range p.GIDs {
		count[kindOf(g)]++
	}
	return count
}

// hasAddress reports whether somebody gave a RoCE port an address.
func hasAddress(p topo.Port) (topo.GID, bool) {
	for _, g := range p.GIDs {
		if a, err := netip.ParseAddr(g.GID); err == nil {
			if a = a.Unmap(); a.IsGlobalUnicast() && !a.IsLinkLocalUnicast() {
				return g, true
			}
		}
	}
	return topo.GID{}, false
}
