package rdmacm

import (
	"net"
	"net/netip"
)

// routeHint asks the kernel which local address leads to another, and says if
// its interface cannot serve.
func routeHint(to netip.AddrPort) string {
	// Connecting a datagram socket sends nothing: it only looks up the route.
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return ""
	}
	local, ok := conn.LocalAddr().(*net.UDPAddr)
	// Nothing was written.
	_ = conn.Close()
	if !ok {
		return ""
	}
	ip, ok := netip.AddrFromSlice(local.IP)
	if !ok {
		return ""
	}
	name, found := interfaceOf(ip)
	if !found {
		return ""
	}
	return interfaceHint(name)
}
