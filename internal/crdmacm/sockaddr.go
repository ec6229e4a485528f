package crdmacm

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// Linux's numbers of address families; the library is on no other system.
const (
	afInet  = 2
	afInet6 = 10
)

// SockaddrOf returns an IP address and port as the kernel has them.
func SockaddrOf(addr netip.AddrPort) (*Sockaddr, error) {
	var s Sockaddr
	ip := addr.Addr()
	binary.BigEndian.PutUint16(s[2:], addr.Port())
	if ip = ip.Unmap(); ip.Is4() {
		binary.NativeEndian.PutUint16(s[:], afInet)
		v4 := ip.As4()
		copy(s[4:], v4[:])
		return &s, nil
	}
	binary.NativeEndian.PutUint16(s[:], afInet6)
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

// AddrPort returns the IP address and port, which are not valid if it is none.
func (s *Sockaddr) AddrPort() netip.AddrPort {
	port := binary.BigEndian.Uint16(s[2:])
	switch s.family() {
	case afInet:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(s[4:8])), port)
	case afInet6:
		ip := netip.AddrFrom16([16]byte(s[8:24]))
		if index := binary.NativeEndian.Uint32(s[24:]); index != 0 && ip.IsLinkLocalUnicast() {
			ip = ip.WithZone(zoneName(index))
		}
		return netip.AddrPortFrom(ip, port)
	}
	return netip.AddrPort{}
}

func zoneName(index uint32) string {
	if iface, err := net.InterfaceByIndex(int(index)); err == nil {
		return iface.Name
	}
	return strconv.FormatUint(uint64(index), 10)
}
