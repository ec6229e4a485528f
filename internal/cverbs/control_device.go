//go:build linux && cgo

package cverbs

// #include "gf1_device.h"
import "C"

import (
	"encoding/binary"
	"unsafe"
)

// QueryDeviceEx reads everything that a device tells of itself.
//
// Implements: ibv_query_device_ex.
func (c Context) QueryDeviceEx() (DeviceAttrEx, error) {
	var a DeviceAttrEx
	rc := C.gf1_query_device_ex(table(c.v), c.c(), (*C.struct_gf1_device_attr_ex)(unsafe.Pointer(&a)))
	return a, errno(rc)
}

// QueryRTValues reads the device's clock; ok is false if it gave none.
//
// Implements: ibv_query_rt_values_ex.
func (c Context) QueryRTValues() (sec, nsec int64, ok bool, err error) {
	values := C.struct_gf1_values_ex{comp_mask: IBV_VALUES_MASK_RAW_CLOCK}
	err = errno(C.gf1_query_rt_values(c.c(), &values))
	ok = err == nil && values.comp_mask&IBV_VALUES_MASK_RAW_CLOCK != 0
	return int64(values.raw_clock.tv_sec), int64(values.raw_clock.tv_nsec), ok, err
}

// FD returns the descriptor through which the library talks to the kernel.
func (c Context) FD() int { return int(c.c().cmd_fd) }

// Name returns the device's kernel name.
//
// Implements: ibv_get_device_name.
func (c Context) Name() (string, error) {
	var name *C.char
	rc := C.gf1_get_device_name(table(c.v), c.c(), &name)
	return C.GoString(name), errno(rc)
}

// GUID returns the node GUID, big-endian.
//
// Implements: ibv_get_device_guid.
func (c Context) GUID() ([8]byte, error) {
	var guid C.uint64_t
	rc := C.gf1_get_device_guid(table(c.v), c.c(), &guid)
	return *(*[8]byte)(unsafe.Pointer(&guid)), errno(rc)
}

// Index returns the kernel's number of the device; ENODATA says that it has
// none.
//
// Implements: ibv_get_device_index.
func (c Context) Index() (int, error) {
	var index C.int
	rc := C.gf1_get_device_index(table(c.v), c.c(), &index)
	return int(index), errno(rc)
}

// PKey reads an entry of a port's P_Key table.
//
// Implements: ibv_query_pkey.
func (c Context) PKey(port uint8, index int) (uint16, error) {
	var key [2]byte
	rc := C.gf1_query_pkey(table(c.v), c.c(), C.uint8_t(port), C.int(index), (*C.uint16_t)(unsafe.Pointer(&key)))
	return binary.BigEndian.Uint16(key[:]), errno(rc)
}

// PKeyIndex finds the entry of a port's P_Key table that holds a key; ENOENT
// says that there is none.
//
// Implements: ibv_get_pkey_index.
func (c Context) PKeyIndex(port uint8, pkey uint16) (int, error) {
	var index C.int
	var key [2]byte
	binary.BigEndian.PutUint16(key[:], pkey)
	rc := C.gf1_get_pkey_index(table(c.v), c.c(), C.uint8_t(port), *(*C.uint16_t)(unsafe.Pointer(&key)), &index)
	return int(index), errno(rc)
}

// GID reads an entry of a port's GID table.
//
// Implements: ibv_query_gid.
func (c Context) GID(port uint8, index int) (gid [16]byte, err error) {
	var g C.union_gf1_gid
	rc := C.gf1_query_gid(table(c.v), c.c(), C.uint8_t(port), C.int(index), &g)
	return *(*[16]byte)(unsafe.Pointer(&g)), errno(rc)
}

// GIDEntry reads an entry of a port's GID table with its type and interface.
//
// Implements: ibv_query_gid_ex.
func (c Context) GIDEntry(port, index uint32) (GIDEntry, error) {
	var e GIDEntry
	rc := C.gf1_query_gid_ex(table(c.v), c.c(), C.uint32_t(port), C.uint32_t(index),
		(*C.struct_gf1_gid_entry)(unsafe.Pointer(&e)))
	return e, errno(rc)
}

// PortSpeed returns what a port carries now, in units of 100 Mb/s.
//
// Implements: ibv_query_port_speed.
func (c Context) PortSpeed(port uint32) (uint64, error) {
	var speed C.uint64_t
	rc := C.gf1_query_port_speed(table(c.v), c.c(), C.uint32_t(port), &speed)
	return uint64(speed), errno(rc)
}

// ResolveL2 finds the Ethernet address and the VLAN behind an address vector;
// it asks the network's neighbours and may take seconds. No VLAN is 0xffff.
//
// Implements: ibv_resolve_eth_l2_from_gid.
func (c Context) ResolveL2(attr *AHAttr) (mac [6]byte, vlan uint16, err error) {
	var vid C.uint16_t
	rc := C.gf1_resolve_eth_l2(table(c.v), c.c(), (*C.struct_gf1_ah_attr)(unsafe.Pointer(attr)),
		(*C.uint8_t)(unsafe.Pointer(&mac)), &vid)
	return mac, uint16(vid), errno(rc)
}

// TD is a thread domain (struct ibv_td).
type TD struct{ p, v unsafe.Pointer }

func (td TD) c() *C.struct_gf1_td { return (*C.struct_gf1_td)(td.p) }

// AllocTD makes a thread domain.
//
// Implements: ibv_alloc_td.
func (c Context) AllocTD() (TD, error) {
	var td *C.struct_gf1_td
	rc := C.gf1_alloc_td(c.c(), &td)
	return TD{unsafe.Pointer(td), c.v}, errno(rc)
}

// Dealloc frees the thread domain.
//
// Implements: ibv_dealloc_td.
func (td TD) Dealloc() error { return errno(C.gf1_dealloc_td(td.c())) }

// AllocParentDomain makes a domain over another and a thread domain, or none.
//
// Implements: ibv_alloc_parent_domain.
func (pd PD) AllocParentDomain(td TD) (PD, error) {
	var parent *C.struct_gf1_pd
	rc := C.gf1_alloc_parent_domain(pd.c(), td.c(), &parent)
	return PD{unsafe.Pointer(parent), pd.v}, errno(rc)
}

// Counters count what a flow carries (struct ibv_counters).
type Counters struct{ p, v unsafe.Pointer }

func (n Counters) c() *C.struct_gf1_counters { return (*C.struct_gf1_counters)(n.p) }

// CreateCounters makes counters.
//
// Implements: ibv_create_counters.
func (c Context) CreateCounters() (Counters, error) {
	var n *C.struct_gf1_counters
	rc := C.gf1_create_counters(c.c(), &n)
	return Counters{unsafe.Pointer(n), c.v}, errno(rc)
}

// Attach has the counter at index count what a flow carries; without a flow, what
// the flows made with the counters do.
//
// Implements: ibv_attach_counters_point_flow.
func (n Counters) Attach(what int32, index uint32, flow Flow) error {
	return errno(C.gf1_attach_counters(n.c(), C.int(what), C.uint32_t(index), (*C.struct_gf1_flow)(flow.p)))
}

// Read stores the counters' values.
//
// Implements: ibv_read_counters.
func (n Counters) Read(values []uint64, flags uint32) error {
	return errno(C.gf1_read_counters(n.c(), (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(values))), C.uint32_t(len(values)),
		C.uint32_t(flags)))
}

// Destroy frees the counters.
//
// Implements: ibv_destroy_counters.
func (n Counters) Destroy() error { return errno(C.gf1_destroy_counters(n.c())) }
