package topo

import (
	"path"
	"slices"
	"strings"
)

const classNet = "sys/class/net"

// netdevs lists the interfaces that stand on hardware, directly or by way of
// others. Those of containers (veth, bridges without ports) say nothing here.
func (r *reading) netdevs() {
	for _, name := range r.names(classNet) {
		dir := path.Join(classNet, name)
		if !r.IsDir(dir) {
			continue // bonding_masters is a file
		}
		n := &Netdev{Name: name, Lower: r.lower(name)}
		n.PCI = r.functionOf(path.Join(dir, "device"))
		if r.dirs[n.PCI] == "" {
			n.PCI = ""
		}
		if n.PCI == "" && len(n.Lower) == 0 {
			continue
		}
		n.MAC = r.text(path.Join(dir, "address"))
		if t, ok := r.number(path.Join(dir, "type")); ok {
			n.Type = &t
		}
		if state := r.text(path.Join(dir, "operstate")); state == "up" || state == "down" {
			up := state == "up"
			n.Up = &up
		}
		if speed, ok := r.number(path.Join(dir, "speed")); ok && speed > 0 {
			n.SpeedMbps = &speed
		}
		r.sys.Netdevs = append(r.sys.Netdevs, n)
	}
}

// lower lists the interfaces that an interface stands on.
func (r *reading) lower(name string) []string {
	var list []string
	for _, entry := range r.names(path.Join(classNet, name)) {
		if below, ok := strings.CutPrefix(entry, "lower_"); ok && r.there(path.Join(classNet, name, entry)) {
			list = append(list, below)
		}
	}
	return list
}

// linkNetdevs finds the interfaces of each port: those of its GIDs on RoCE (read
// with the port), the IPoIB interfaces with the port's GUID on InfiniBand, and
// for a device with one port those of its PCI function. The port's GUID decides
// on InfiniBand, not the node's: the two differ on cards with several ports.
func (r *reading) linkNetdevs() {
	byName := map[string]*Netdev{}
	for _, n := range r.sys.Netdevs {
		byName[n.Name] = n
	}
	for _, h := range r.sys.HCAs {
		for i := range h.Ports {
			p := &h.Ports[i]
			if p.LinkLayer == InfiniBand {
				p.Netdevs = nil
				r.ipoib(p)
			} else if len(p.Netdevs) == 0 && len(h.Ports) == 1 && len(h.PCI) > 0 {
				r.sameFunction(h.PCI[0], p)
			}
			for _, name := range p.Netdevs {
				if n := byName[name]; n != nil && !slices.Contains(n.RDMA, h.Name) {
					n.RDMA = append(n.RDMA, h.Name)
				}
			}
		}
	}
}

// ipoib finds the interfaces whose hardware address ends in the port's GUID,
// which is the lower half of GID 0.
func (r *reading) ipoib(p *Port) {
	if len(p.GIDs) == 0 || p.GIDs[0].Index != 0 {
		return
	}
	guid := interfaceID(p.GIDs[0].GID)
	for _, n := range r.sys.Netdevs {
		mac := strings.ReplaceAll(n.MAC, ":", "")
		if guid != "" && len(mac) == 40 && mac[24:] == guid {
			p.Netdevs = append(p.Netdevs, n.Name)
		}
	}
}

// interfaceID returns the lower half of a GID as 16 digits.
func interfaceID(gid string) string {
	digits := strings.ReplaceAll(gid, ":", "")
	if len(digits) != 32 {
		return ""
	}
	return strings.ToLower(digits[16:])
}

func (r *reading) sameFunction(a Address, p *Port) {
	for _, n := range r.sys.Netdevs {
		if n.PCI == a {
			p.Netdevs = append(p.Netdevs, n.Name)
		}
	}
}
