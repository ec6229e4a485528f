package verbs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"syscall"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// noPort stands for no port in question.
const noPort = -1 << 31

// query calls ask, which needs a function of the library, while the device is in
// use.
func (d *Device) query(op, function string, port int, ask func() error) error {
	if port != noPort {
		if err := d.checkPort(port); err != nil {
			return err
		}
	}
	if err := d.obj.Use(); err != nil {
		return d.err(op, err)
	}
	defer d.obj.Done()
	if err := ask(); err != nil {
		return &OpError{Op: op, Device: d.name, Port: max(port, 0), Err: d.cause(err), Hint: tooOldHint(function, err)}
	}
	return nil
}

// tooOld wraps the error of a function that the library may lack.
func (d *Device) tooOld(op, function string, err error) error {
	return &OpError{Op: op, Device: d.name, Err: d.cause(err), Hint: tooOldHint(function, err)}
}

// tooOldHint says which release brings a function that the library lacks.
func tooOldHint(function string, err error) string {
	if !errors.Is(err, ErrNotSupported) {
		return ""
	}
	since, lacks := cverbs.Lacks(function)
	if !lacks {
		return ""
	}
	return fmt.Sprintf("libibverbs has no %s: %s brings it", function, since)
}

// LibraryName returns the device's name as the library has it: Name's.
//
// Implements: ibv_get_device_name.
func (d *Device) LibraryName() (name string, err error) {
	err = d.query("query name", "ibv_get_device_name", noPort, func() (err error) { name, err = d.ctx.Name(); return err })
	return name, err
}

// GUID returns the node GUID as the library has it: Attributes gives what the
// device itself answers.
//
// Implements: ibv_get_device_guid.
func (d *Device) GUID() (guid GUID, err error) {
	err = d.query("query GUID", "ibv_get_device_guid", noPort, func() error {
		raw, err := d.ctx.GUID()
		guid = raw
		return err
	})
	return guid, err
}

// Index returns the kernel's number of the device, which stays when the device is
// renamed; ok is false where the kernel or the library gives none.
//
// Implements: ibv_get_device_index.
func (d *Device) Index() (index int, ok bool, err error) {
	err = d.query("query index", "ibv_get_device_index", noPort, func() (err error) { index, err = d.ctx.Index(); return err })
	if errors.Is(err, syscall.ENODATA) {
		return 0, false, nil
	}
	return index, err == nil, err
}

// PKey reads an entry of a port's P_Key table. The highest bit says full
// membership of the partition.
//
// Implements: ibv_query_pkey.
func (d *Device) PKey(port, index int) (pkey uint16, err error) {
	err = d.query("query P_Key", "ibv_query_pkey", port, func() error {
		attr, err := d.ctx.QueryPort(uint8(port))
		if err != nil {
			return err
		}
		if index < 0 || index >= int(attr.PKeyTblLen) {
			return fmt.Errorf("no P_Key %d: the table has %d: %w", index, attr.PKeyTblLen, syscall.EINVAL)
		}
		pkey, err = d.ctx.PKey(uint8(port), index)
		return err
	})
	return pkey, err
}

// PKeyIndex finds the entry of a port's P_Key table that holds exactly this key;
// ok is false if none does.
//
// Implements: ibv_get_pkey_index.
func (d *Device) PKeyIndex(port int, pkey uint16) (index int, ok bool, err error) {
	err = d.query("find P_Key", "ibv_get_pkey_index", port, func() (err error) { index, err = d.ctx.PKeyIndex(uint8(port), pkey); return err })
	if errors.Is(err, syscall.ENOENT) {
		return 0, false, nil
	}
	return index, err == nil, err
}

// QueryGID reads one entry of a port's GID table; one that is not in use is all
// zeros, or an error on some devices. GIDs reads the whole table.
//
// Implements: ibv_query_gid.
func (d *Device) QueryGID(port, index int) (gid GID, err error) {
	err = d.query("query GID", "ibv_query_gid", port, func() error {
		if index < 0 || index > math.MaxInt32 {
			return fmt.Errorf("no GID %d: %w", index, syscall.EINVAL)
		}
		raw, err := d.ctx.GID(uint8(port), index)
		gid = raw
		return err
	})
	return gid, err
}

// QueryGIDEntry reads one entry of a port's GID table that is in use, with its
// type and interface. It fails with syscall.ENODATA if it is not in use, and with
// ErrNotSupported where rdma-core is older than 32.
//
// Implements: ibv_query_gid_ex.
func (d *Device) QueryGIDEntry(port, index int) (entry GIDEntry, err error) {
	err = d.query("query GID", "_ibv_query_gid_ex", port, func() error {
		if index < 0 || index > math.MaxInt32 {
			return fmt.Errorf("no GID %d: %w", index, syscall.EINVAL)
		}
		raw, err := d.ctx.GIDEntry(uint32(port), uint32(index))
		if err == nil {
			entry = gidEntry(raw)
		}
		return err
	})
	return entry, err
}

// Clock reads the device's clock, which completions' timestamps are of: ticks of
// DeviceAttrEx.CoreClockKHz.
//
// Implements: ibv_query_rt_values_ex.
func (d *Device) Clock() (ticks uint64, err error) {
	err = d.query("read clock", "ibv_query_rt_values_ex", noPort, func() error {
		sec, nsec, ok, err := d.ctx.QueryRTValues()
		if err == nil && !ok {
			err = fmt.Errorf("the device gave no clock: %w", ErrNotSupported)
		}
		ticks = uint64(sec)*1e9 + uint64(nsec)
		return err
	})
	return ticks, err
}

// PortSpeed returns what a port carries now, in bits per second, with lanes that
// are down left out. It needs rdma-core 62.
//
// Implements: ibv_query_port_speed.
func (d *Device) PortSpeed(port int) (bitsPerSecond uint64, err error) {
	err = d.query("query port speed", "ibv_query_port_speed", port, func() error {
		speed, err := d.ctx.PortSpeed(uint32(port))
		bitsPerSecond = speed * 100e6
		return err
	})
	return bitsPerSecond, err
}

// NoVLAN is the VLAN of a path without one.
const NoVLAN = -1

// ResolveEthernet finds the Ethernet address and the VLAN (NoVLAN if there is
// none) behind an address vector of a RoCE port. It asks the network's neighbours,
// which may take seconds; a context that ends releases the caller at once, and
// closing the device waits for the answer.
//
// Implements: ibv_resolve_eth_l2_from_gid.
func (d *Device) ResolveEthernet(ctx context.Context, av AddressVector) (mac net.HardwareAddr, vlan int, err error) {
	const op = "resolve address"
	if ctx == nil {
		return nil, 0, d.err(op, errNoContext)
	}
	if err := d.checkPort(int(av.Port)); err != nil {
		return nil, 0, err
	}
	type answer struct {
		mac  [6]byte
		vlan uint16
		err  error
	}
	answers := make(chan answer, 1)
	if err := d.obj.Use(); err != nil {
		return nil, 0, d.err(op, err)
	}
	raw := av.raw()
	go func() {
		defer d.obj.Done()
		var a answer
		a.mac, a.vlan, a.err = d.ctx.ResolveL2(&raw)
		answers <- a
	}()
	select {
	case <-ctx.Done():
		return nil, 0, &OpError{Op: op, Device: d.name, Port: int(av.Port), Err: ctx.Err()}
	case a := <-answers:
		if a.err != nil {
			return nil, 0, &OpError{Op: op, Device: d.name, Port: int(av.Port), Err: d.cause(a.err)}
		}
		const none, vlans = 0xffff, 0xfff
		if a.vlan == none {
			return a.mac[:], NoVLAN, nil
		}
		return a.mac[:], int(a.vlan & vlans), nil
	}
}
