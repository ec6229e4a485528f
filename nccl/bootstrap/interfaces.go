package bootstrap

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// HeadAddress is one address of this machine, and whether rank 0 would offer it
// in a rendezvous file.
type HeadAddress struct {
	Interface string // "eth0"
	Address   string // "10.0.0.5"
	Offered   bool
	Why       string // in words
}

// maxOffered bounds the addresses in a rendezvous file: the others try them all.
const maxOffered = 16

// HeadAddresses lists the addresses of this machine in the order in which rank 0
// offers them to the others in a rendezvous file, then those that it does not
// offer, and says why. The others try each in turn, and the file's key tells them
// whether it is rank 0 that answers.
//
// pattern limits the interfaces, in the form of NCCL_SOCKET_IFNAME: names that
// begin with one of a list, "^" for those that do not, "=" for equal names. With
// one, the order is the pattern's. Without one, loopback comes last, and
// interfaces of containers and virtual machines before it. A pattern that
// matches no address is an error.
//
// Where a launcher or MASTER_ADDR gives rank 0's address, that decides, and the
// pattern does not.
func HeadAddresses(pattern string) ([]HeadAddress, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("bootstrap: list this machine's interfaces: %w", err)
	}
	var all []netInterface
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue // it went while we looked
		}
		n := netInterface{name: i.Name, up: i.Flags&net.FlagUp != 0, loopback: i.Flags&net.FlagLoopback != 0}
		for _, a := range addresses {
			if ip, ok := a.(*net.IPNet); ok {
				n.addresses = append(n.addresses, ip.IP)
			}
		}
		all = append(all, n)
	}
	return chooseAddresses(all, pattern)
}

type netInterface struct {
	name         string
	up, loopback bool
	addresses    []net.IP
}

// Beginnings of the names of interfaces that other machines rarely reach.
var innerInterfaces = []string{"docker", "br-", "virbr", "veth", "cni", "flannel", "cali", "podman", "lxc", "lxd", "tun", "tap"}

func chooseAddresses(all []netInterface, pattern string) ([]HeadAddress, error) {
	filter, err := parseInterfaces(pattern)
	if err != nil {
		return nil, err
	}
	type ranked struct {
		HeadAddress
		order int
	}
	var list []ranked
	for _, i := range all {
		for _, ip := range i.addresses {
			a := ranked{HeadAddress: HeadAddress{Interface: i.name, Address: ip.String(), Offered: true}}
			position, matches := filter.match(i.name)
			switch {
			case !i.up:
				a.Offered, a.Why = false, "the interface is down"
			case ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified():
				a.Offered, a.Why = false, "the address means nothing on other machines"
			case !matches:
				a.Offered, a.Why = false, fmt.Sprintf("%q leaves the interface out", pattern)
			case filter.names != nil && !filter.except:
				a.order, a.Why = position, fmt.Sprintf("%q takes the interface", pattern)
			case i.loopback:
				a.order, a.Why = 2, "for ranks on this machine"
			case slices.ContainsFunc(innerInterfaces, func(p string) bool { return strings.HasPrefix(i.name, p) }):
				a.order, a.Why = 1, "an interface by its name for containers or virtual machines"
			default:
				a.Why = "an interface of this machine"
			}
			a.order *= 2
			if ip.To4() == nil {
				a.order++ // IPv4 first: it is set up everywhere
			}
			if !a.Offered {
				a.order = 1 << 20
			}
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return a.order - b.order })
	var chosen []HeadAddress
	offered := 0
	for _, a := range list {
		if a.Offered {
			if offered++; offered > maxOffered {
				a.Offered, a.Why = false, fmt.Sprintf("%d others come before it", maxOffered)
			}
		}
		chosen = append(chosen, a.HeadAddress)
	}
	if offered == 0 {
		if pattern == "" {
			return nil, &WorldError{Problem: "this machine has no address to listen on"}
		}
		return nil, &WorldError{
			Problem: fmt.Sprintf("no address is on an interface that %q takes", pattern),
			Hint:    "this machine has " + interfaceNames(all) + ": check " + EnvInterface + " and NCCL_SOCKET_IFNAME",
		}
	}
	return chosen, nil
}

func interfaceNames(all []netInterface) string {
	var names []string
	for _, i := range all {
		names = append(names, i.name)
	}
	return strings.Join(names, ", ")
}

// interfaceFilter is NCCL_SOCKET_IFNAME taken apart.
type interfaceFilter struct {
	names         []string
	except, exact bool
}

func parseInterfaces(pattern string) (f interfaceFilter, err error) {
	if pattern == "" {
		return f, nil
	}
	rest, except := strings.CutPrefix(pattern, "^")
	rest, exact := strings.CutPrefix(rest, "=")
	f.except, f.exact = except, exact
	for _, name := range strings.Split(rest, ",") {
		name = strings.TrimSpace(name)
		if name == "" || len(name) > 64 || strings.ContainsAny(name, "^=/ \t\x00") {
			return f, &WorldError{Problem: fmt.Sprintf("interfaces %q: want names such as eth,ib or =eth0 or ^docker", clip(pattern))}
		}
		f.names = append(f.names, name)
	}
	return f, nil
}

// match reports whether an interface is taken, and by which of the names.
func (f interfaceFilter) match(name string) (position int, ok bool) {
	for i, n := range f.names {
		if f.exact && name == n || !f.exact && strings.HasPrefix(name, n) {
			return i, !f.except
		}
	}
	return 0, f.names == nil || f.except
}
