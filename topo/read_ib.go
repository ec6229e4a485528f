package topo

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	classInfiniband = "sys/class/infiniband"
	classUverbs     = "sys/class/infiniband_verbs"
)

// hcas lists the devices of the infiniband class. PCI classes would miss some:
// HCAs have 0x0200, 0x0207, 0x0c06 and 0x00ff.
func (r *reading) hcas() {
	uverbs := map[string]string{}
	for _, name := range r.names(classUverbs) {
		if device := r.text(path.Join(classUverbs, name, "ibdev")); device != "" {
			uverbs[device] = name
		}
	}
	for _, name := range r.names(classInfiniband) {
		dir := path.Join(classInfiniband, name)
		if !r.IsDir(dir) {
			continue
		}
		r.sys.HCAs = append(r.sys.HCAs, r.hca(name, dir, uverbs[name]))
	}
}

func (r *reading) hca(name, dir, uverbs string) *HCA {
	at := func(file string) string { return path.Join(dir, file) }
	h := &HCA{Name: name, Uverbs: uverbs}
	h.NodeGUID, h.SysImageGUID = r.text(at("node_guid")), r.text(at("sys_image_guid"))
	h.Model, h.Firmware, h.BoardID = r.text(at("hca_type")), r.text(at("fw_ver")), r.text(at("board_id"))
	function := r.functionOf(at("device"))
	if function != "" && r.dirs[function] != "" {
		h.PCI = []Address{function}
	}
	if len(h.PCI) == 0 {
		h.Parent = r.text(at("parent"))
	}
	for _, number := range r.names(at("ports")) {
		if n, err := strconv.Atoi(number); err == nil && n > 0 && r.IsDir(at(path.Join("ports", number))) {
			h.Ports = append(h.Ports, r.port(at(path.Join("ports", number)), n))
		}
	}
	r.kind(h)
	h.Management = r.serviceFunction(h)
	return h
}

// kind tells what a device is, and adds the other functions of a bond.
func (r *reading) kind(h *HCA) {
	if len(h.PCI) == 0 {
		if h.Parent == "" {
			for _, p := range h.Ports {
				if len(p.Netdevs) > 0 {
					h.Parent = p.Netdevs[0]
					break
				}
			}
		}
		if h.Parent != "" {
			h.Kind = KindSoftware
		}
		return
	}
	d := r.device(h.PCI[0])
	switch {
	case d == nil:
	case d.PhysFn != "":
		h.Kind = KindVF
	default:
		h.Kind = KindPF
	}
	if bonded := r.bonded(h, d); len(bonded) > 0 {
		h.Kind = KindBond
		h.PCI = append(h.PCI, bonded...)
	}
}

func (r *reading) device(a Address) *PCIDevice {
	i, ok := slices.BinarySearchFunc(r.sys.PCI, a, func(d *PCIDevice, a Address) int { return d.Address.Compare(a) })
	if !ok {
		return nil
	}
	return r.sys.PCI[i]
}

// bonded finds the other functions of a bond, which sysfs shows below the first
// one only: those of the interfaces below its bond interface, and for a device
// that is called a bond the other functions of the card.
func (r *reading) bonded(h *HCA, own *PCIDevice) []Address {
	var found []Address
	add := func(a Address) {
		if a != "" && a != h.PCI[0] && !slices.Contains(found, a) && r.dirs[a] != "" {
			found = append(found, a)
		}
	}
	for _, p := range h.Ports {
		for _, name := range p.Netdevs {
			if !r.IsDir(path.Join(classNet, name, "bonding")) {
				continue
			}
			for _, lower := range r.lower(name) {
				add(r.functionOf(path.Join(classNet, lower, "device")))
			}
		}
	}
	if own != nil && strings.Contains(h.Name, "bond") {
		for _, d := range r.sys.PCI {
			if d.Address.Slot() == own.Address.Slot() && d.Vendor == own.Vendor && d.Device == own.Device && d.PhysFn == "" {
				add(d.Address)
			}
		}
	}
	slices.SortFunc(found, Address.Compare)
	return found
}

// serviceMark stands in the vital product data of the ConnectX functions through
// which the NVSwitches of HGX B200 and B300 are managed.
const serviceMark = "SW_MNG"

// serviceFunction reports whether the device serves a machine's NVSwitch fabric.
// Only root may read the product data; for others the answer is no.
func (r *reading) serviceFunction(h *HCA) bool {
	if len(h.PCI) == 0 {
		return false
	}
	d := r.device(h.PCI[0])
	if d == nil || d.Vendor != vendorMellanox || d.PhysFn != "" || !slices.ContainsFunc(h.Ports, func(p Port) bool { return p.LinkLayer == InfiniBand }) {
		return false
	}
	data, _, _ := r.String(path.Join(r.dirs[d.Address], "vpd"))
	return strings.Contains(data, serviceMark)
}

func (r *reading) port(dir string, number int) Port {
	at := func(file string) string { return path.Join(dir, file) }
	p := Port{Number: number, LinkLayer: LinkLayer(r.text(at("link_layer")))}
	p.State = PortState(afterColon(r.text(at("state"))))
	phys := r.text(at("phys_state"))
	p.PhysState = afterColon(phys)
	if word, ok := physStates[strings.TrimSpace(strings.TrimSuffix(phys, p.PhysState))]; ok && word != p.PhysState {
		r.note(fmt.Errorf("%s: %q is no state that the kernel writes (%s is there)", at("phys_state"), clip(phys), word))
	}
	if text := r.text(at("rate")); text != "" {
		rate, err := parseRate(text)
		if err != nil {
			r.note(fmt.Errorf("%s: %w", at("rate"), err))
		}
		p.RateGbps = rate
	}
	p.GIDs = r.gids(dir)
	for _, g := range p.GIDs {
		if g.Netdev != "" && !slices.Contains(p.Netdevs, g.Netdev) {
			p.Netdevs = append(p.Netdevs, g.Netdev)
		}
	}
	return p
}

// physStates are the words that the kernel writes behind the number.
var physStates = map[string]string{
	"1:": "Sleep", "2:": "Polling", "3:": "Disabled", "4:": "PortConfigurationTraining",
	"5:": "LinkUp", "6:": "LinkErrorRecovery", "7:": "Phy Test",
}

// afterColon takes the word out of "4: ACTIVE".
func afterColon(text string) string {
	if _, word, ok := strings.Cut(text, ":"); ok {
		return strings.TrimSpace(word)
	}
	return text
}

// parseRate reads "200 Gb/sec (4X HDR)".
func parseRate(text string) (float64, error) {
	word, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || !(v >= 0 && v < 1e6) || !strings.HasPrefix(unit, "Gb/sec") {
		return 0, fmt.Errorf("port rate %q: want a number of Gb/sec", clip(text))
	}
	return v, nil
}

// gidGap is how many empty entries end a GID table. A table has 256 entries and
// the first free one is filled, so a longer hole does not occur.
const gidGap = 32

const noGID = "0000:0000:0000:0000:0000:0000:0000:0000"

// gids reads the entries in use, which have the type's file too.
func (r *reading) gids(dir string) []GID {
	var list []GID
	empty := 0
	for _, name := range r.names(path.Join(dir, "gids")) {
		index, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		value := r.text(path.Join(dir, "gids", name))
		if value == "" || value == noGID {
			if empty++; empty >= gidGap {
				break
			}
			continue
		}
		empty = 0
		list = append(list, GID{
			Index: index, GID: value,
			Type:   r.text(path.Join(dir, "gid_attrs/types", name)),
			Netdev: r.text(path.Join(dir, "gid_attrs/ndevs", name)),
		})
	}
	return list
}
