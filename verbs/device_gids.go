package verbs

import (
	"errors"
	"io/fs"
	"net"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// GIDs reads the GID table of a port, from 1: the entries that are in use.
//
// Implements: ibv_query_gid_table.
func (d *Device) GIDs(port int) ([]GIDEntry, error) {
	info, err := d.addresses(port)
	return info.GIDs, err
}

// ChooseGID picks the GID for connections of a port; see the function of the
// same name.
func (d *Device) ChooseGID(port int) (GIDChoice, error) {
	info, err := d.addresses(port)
	if err != nil {
		return GIDChoice{}, err
	}
	return ChooseGID(info)
}

// addresses reads what choosing a GID takes: the port's link layer and table.
// One call of the library reads the whole table, where /sys has three files for
// each of up to 1,024 entries; /sys is for kernels without the call.
func (d *Device) addresses(port int) (PortInfo, error) {
	attr, err := d.Port(port)
	if err != nil {
		return PortInfo{}, err
	}
	table, err := d.gidTable(attr.GIDTableLen)
	if errors.Is(err, ErrNotSupported) {
		return d.addressesFromInfo(port)
	}
	if err != nil {
		return PortInfo{}, &OpError{Op: "query GID table", Device: d.name, Port: port, Err: err}
	}
	info := PortInfo{
		Device: d.name, Number: port, State: attr.State, PhysState: attr.PhysState,
		LinkLayer: attr.LinkLayer, LID: attr.LID, SMLID: attr.SMLID, GIDTableLen: attr.GIDTableLen,
	}
	for _, e := range table {
		if int(e.Port) == port {
			info.GIDs = append(info.GIDs, gidEntry(e))
		}
	}
	if len(info.GIDs) > 0 {
		info.Netdev = info.GIDs[0].Netdev
	}
	return info, nil
}

func (d *Device) gidTable(perPort int) ([]cverbs.GIDEntry, error) {
	if err := d.obj.Use(); err != nil {
		return nil, err
	}
	defer d.obj.Done()
	return d.ctx.QueryGIDTable(perPort * d.attr.Ports)
}

func gidEntry(e cverbs.GIDEntry) GIDEntry {
	entry := GIDEntry{Index: int(e.Index), GID: e.GID, Type: GIDType(e.Type)}
	if e.IfIndex != 0 {
		// An interface of another network namespace has no name here.
		if ifi, err := net.InterfaceByIndex(int(e.IfIndex)); err == nil {
			entry.Netdev = ifi.Name
		}
	}
	return entry
}

func (d *Device) addressesFromInfo(port int) (PortInfo, error) {
	info, err := d.Info()
	if err != nil {
		return PortInfo{}, err
	}
	p, ok := info.Port(port)
	if !ok {
		return PortInfo{}, &OpError{Op: "read port", Device: d.name, Port: port, Err: fs.ErrNotExist}
	}
	return p, nil
}
