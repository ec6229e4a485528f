package rdmacm

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/gofabric/gofabric/internal/crdmacm"
)

// Linux's numbers of address families; the library is on no other system.
const (
	afInet  = 2
	afInet6 = 10
)

// sockaddr returns the address as the kernel has it.
func (a Addr) sockaddr() (*crdmacm.Sockaddr, error) {
	var s crdmacm.Sockaddr
	family := func(f uint16) { binary.NativeEndian.PutUint16(s[:], f) }
	if !a.IP.IsValid() {
		pkey := a.IB.PKey
		if pkey == 0 {
			pkey = 0xffff
		}
		family(crdmacm.AF_IB)
		binary.BigEndian.PutUint16(s[2:], pkey)
		copy(s[8:], a.IB.GID[:])
		binary.BigEndian.PutUint64(s[24:], a.IB.ServiceID)
		binary.BigEndian.PutUint64(s[32:], ^uint64(0))
		return &s, nil
	}
	ip := a.IP.Addr()
	binary.BigEndian.PutUint16(s[2:], a.IP.Port())
	if ip = ip.Unmap(); ip.Is4() {
		family(afInet)
		v4 := ip.As4()
		copy(s[4:], v4[:])
		return &s, nil
	}
	family(afInet6)
	v6 := ip.As16()
	copy(s[8:], v6[:])
	if zone := ip.Zone(); zone != "" {
		index, err := zoneIndex(zone)
		if err != nil {
			return nil, err
		}
		binary.NativeEndian.PutUint32(s[24:], index)
	} else if ip.IsLinkLocalUnicast() {
		return nil, fmt.Errorf("%v is link-local: it needs a zone, as in %v%%eth0", ip, ip)
	}
	return &s, nil
}

func zoneIndex(zone string) (uint32, error) {
	if iface, err := net.InterfaceByName(zone); err == nil {
		return uint32(iface.Index), nil
	}
	n, err := strconv.ParseUint(zone, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("zone %q: there is no such interface", zone)
	}
	return uint32(n), nil
}

// addrOf reads an address that the kernel has; the zero Addr if it is none.
func addrOf(s *crdmacm.Sockaddr) Addr {
	port := binary.BigEndian.Uint16(s[2:])
	switch binary.NativeEndian.Uint16(s[:]) {
	case afInet:
		return Addr{IP: netip.AddrPortFrom(netip.AddrFrom4([4]byte(s[4:8])), port)}
	case afInet6:
		ip := netip.AddrFrom16([16]byte(s[8:24]))
		if index := binary.NativeEndian.Uint32(s[24:]); index != 0 && ip.IsLinkLocalUnicast() {
			ip = ip.WithZone(zoneName(index))
		}
		return Addr{IP: netip.AddrPortFrom(ip, port)}
	case crdmacm.AF_IB:
		return Addr{IB: IBAddr{
			GID: [16]byte(s[8:24]), PKey: port, ServiceID: binary.BigEndian.Uint64(s[24:]),
		}}
	}
	return Addr{}
}

func zoneName(index uint32) string {
	if iface, err := net.InterfaceByIndex(int(index)); err == nil {
		return iface.Name
	}
	return strconv.FormatUint(uint64(index), 10)
}
