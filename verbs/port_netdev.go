package verbs

import (
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"
)

// netdev finds the network interface of a port. The node GUID never decides: all
// ports of a device share it.
func (s sysScan) netdev(a attrDir, d *DeviceInfo, p PortInfo, ipoib map[GUID]string) string {
	if !p.roce() {
		// No GUID is no match: virtual functions without one all look alike.
		if p.GUID.IsZero() {
			return ""
		}
		return ipoib[p.GUID]
	}

	// The names that the function has itself tell its interface from the VLANs
	// on it, where both have GIDs. A bond is not among them.
	own, _, err := s.Names(path.Join(classInfiniband, d.Name, "device/net"))
	a.note(err)
	first := ""
	for _, e := range p.GIDs {
		if slices.Contains(own, e.Netdev) {
			return e.Netdev
		}
		if first == "" {
			first = e.Netdev
		}
	}
	if first != "" {
		return first
	}
	if d.ParentNetdev != "" {
		return d.ParentNetdev
	}
	return s.netdevByPort(own, p.Number)
}

// netdevByPort finds, among the interfaces of a function, the one of a port that
// has no GID yet: its dev_port counts from 0. Representors of virtual functions
// have the same dev_port and a phys_port_name such as pf0vf3. If more than one is
// left, none is taken.
func (s sysScan) netdevByPort(names []string, number int) string {
	found := ""
	for _, name := range names {
		dir := path.Join(classNet, name)
		port, ok, _ := s.Int(path.Join(dir, "dev_port"))
		if !ok || port != number-1 {
			continue
		}
		physical, _, _ := s.String(path.Join(dir, "phys_port_name"))
		if strings.Contains(physical, "vf") || strings.Contains(physical, "sf") {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// linkTypeInfiniband is ARPHRD_INFINIBAND, the type of IPoIB interfaces.
const linkTypeInfiniband = 32

// ipoib maps port GUIDs to their IPoIB interfaces: the last 8 of the 20 bytes of
// the hardware address are the port's GUID. The child interfaces of partitions
// have the same address; they stand for the port only if their parent is not
// here.
func (s sysScan) ipoib() map[GUID]string {
	parents, children := map[GUID]string{}, map[GUID]string{}
	// An interface that cannot be read belongs to no device yet that could
	// report it; its port then has no interface that is seen.
	names, _, _ := s.Names(classNet)
	for _, name := range names {
		dir := path.Join(classNet, name)
		if t, ok, _ := s.Int(path.Join(dir, "type")); !ok || t != linkTypeInfiniband {
			continue
		}
		address, _, _ := s.String(path.Join(dir, "address"))
		guid, ok := guidOfHardwareAddress(address)
		if !ok {
			continue
		}
		into := parents
		// A child's iflink is the number of its parent.
		if s.differ(path.Join(dir, "ifindex"), path.Join(dir, "iflink")) {
			into = children
		}
		if _, taken := into[guid]; !taken {
			into[guid] = name
		}
	}
	maps.Copy(children, parents)
	return children
}

// differ reports whether both files hold a number and the numbers differ.
func (s sysScan) differ(x, y string) bool {
	a, okA, _ := s.Int(x)
	b, okB, _ := s.Int(y)
	return okA && okB && a != b
}

// guidOfHardwareAddress takes the port GUID out of an IPoIB hardware address, 20
// bytes in hexadecimal with colons.
func guidOfHardwareAddress(s string) (GUID, bool) {
	const size = 20
	b, err := hex.DecodeString(joinGroups(s, 2))
	if err != nil || len(b) != size {
		return GUID{}, false
	}
	return GUID(b[size-8:]), true
}
