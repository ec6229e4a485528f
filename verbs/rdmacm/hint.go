package rdmacm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/gofabric/gofabric/verbs"
)

// bindHint says what is wrong with a local address that the kernel refused, if
// looking tells.
func bindHint(addr Addr, err error) string {
	ip := addr.IP.Addr()
	switch {
	case !addr.IP.IsValid():
		return ibHint(err)
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ENODEV):
	default:
		return ""
	}
	name, found := interfaceOf(ip)
	if !found {
		return fmt.Sprintf("no interface of this host has %v", ip.WithZone(""))
	}
	return interfaceHint(name)
}

// interfaceOf returns the interface that has an address.
func interfaceOf(ip netip.Addr) (string, bool) {
	list, err := net.Interfaces()
	if err != nil {
		return "", false
	}
	for _, iface := range list {
		addrs, err := iface.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().WithZone("") == ip.Unmap().WithZone("") {
				return iface.Name, true
			}
		}
	}
	return "", false
}

// interfaceHint says if an interface belongs to no RDMA device, or to one that
// cannot be opened.
func interfaceHint(name string) string {
	devices, err := verbs.Devices()
	if err != nil {
		return ""
	}
	for _, d := range devices {
		if !slices.ContainsFunc(d.Ports, func(p verbs.PortInfo) bool { return p.Netdev == name }) {
			continue
		}
		if d.Uverbs == "" {
			return fmt.Sprintf("%s, which %s belongs to, has no verbs interface: load the module ib_uverbs", d.Name, name)
		}
		return nodeHint(d)
	}
	return fmt.Sprintf("the interface %s belongs to no RDMA device", name)
}

// ibHint says if no device has what native InfiniBand addresses need.
func ibHint(err error) string {
	if !errors.Is(err, syscall.ENODEV) && !errors.Is(err, syscall.EADDRNOTAVAIL) && !errors.Is(err, syscall.EINVAL) {
		return ""
	}
	devices, derr := verbs.Devices()
	if derr != nil {
		return ""
	}
	for _, d := range devices {
		for _, p := range d.Ports {
			if p.LinkLayer == verbs.LinkLayerInfiniBand {
				return ""
			}
		}
	}
	return "native InfiniBand addresses need an InfiniBand port, and no device here has one: use an IP address"
}
