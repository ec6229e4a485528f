package verbs

import (
	"fmt"
	"net/netip"
)

// GID is the 128-bit address of a port, in network byte order, as in union
// ibv_gid. On InfiniBand it is a subnet prefix and the port's GUID; on RoCE it
// is an IPv6 address, or an IPv4 address mapped into one.
type GID [16]byte

// ParseGID reads a GID as tools print it: eight groups of hexadecimal digits
// (the kernel, ibv_devinfo), or any text form of an IPv6 address. An IPv4
// address stands for the GID it is mapped to.
func ParseGID(s string) (GID, error) {
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		return GID{}, fmt.Errorf("verbs: %q is not a GID: want eight groups as in fe80:0000:0000:0000:0002:c903:00a0:5a11, or an IP address without a zone", clip(s))
	}
	return GID(addr.As16()), nil
}

// GIDFromAddr returns the GID of an IP address; IPv4 is mapped into IPv6. A zone
// is dropped. The zero Addr gives the zero GID.
func GIDFromAddr(addr netip.Addr) GID {
	if !addr.IsValid() {
		return GID{}
	}
	return GID(addr.As16())
}

// IP returns the address that the GID is on RoCE. A mapped IPv4 address comes
// out as IPv4.
func (g GID) IP() netip.Addr { return netip.AddrFrom16(g).Unmap() }

// IsZero reports whether all 16 bytes are zero: an empty table entry.
func (g GID) IsZero() bool { return g == GID{} }

// IsIPv4Mapped reports whether the GID is an IPv4 address, ::ffff:a.b.c.d.
func (g GID) IsIPv4Mapped() bool { return netip.AddrFrom16(g).Is4In6() }

// IsLinkLocal reports whether the GID reaches one segment or subnet only: it
// lies in fe80::/10, or is an IPv4 address of 169.254.0.0/16.
func (g GID) IsLinkLocal() bool { return g.IP().IsLinkLocalUnicast() }

// InterfaceID returns the lower half, which on InfiniBand is the port's GUID.
func (g GID) InterfaceID() GUID { return GUID(g[8:]) }

// String returns the form of the kernel and of ibv_devinfo: eight groups of four
// hexadecimal digits. GID.IP().String() is the short form.
func (g GID) String() string { return hexGroups(g[:]) }

// MarshalText returns the same text as String.
func (g GID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what ParseGID reads.
func (g *GID) UnmarshalText(text []byte) error {
	v, err := ParseGID(string(text))
	if err != nil {
		return err
	}
	*g = v
	return nil
}

// MarshalBinary returns the 16 bytes in network order.
func (g GID) MarshalBinary() ([]byte, error) { return g[:], nil }

// UnmarshalBinary reads 16 bytes in network order.
func (g *GID) UnmarshalBinary(b []byte) error {
	if len(b) != len(g) {
		return fmt.Errorf("verbs: a GID has %d bytes, not %d", len(g), len(b))
	}
	copy(g[:], b)
	return nil
}
