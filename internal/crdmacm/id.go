//go:build linux && cgo

package crdmacm

// #include "gf1_cma.h"
import "C"

import (
	"encoding/binary"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// ID is a communication identifier (struct rdma_cm_id).
type ID struct{ p unsafe.Pointer }

func (id ID) c() *C.struct_gf1_cm_id { return (*C.struct_gf1_cm_id)(id.p) }

// CreateID makes an identifier whose events come on the channel.
//
// Implements: rdma_create_id.
func (ch Channel) CreateID(portSpace int) (ID, error) {
	var id *C.struct_gf1_cm_id
	rc := C.gf1_cm_create_id(load.table, ch.c(), C.int(portSpace), &id)
	return ID{unsafe.Pointer(id)}, errno(rc)
}

// Destroy destroys the identifier; it waits until its events are acknowledged.
//
// Implements: rdma_destroy_id.
func (id ID) Destroy() error { return errno(C.gf1_cm_destroy_id(load.table, id.c())) }

// Migrate moves the identifier's events to another channel; it waits until
// those taken off the old one are acknowledged.
//
// Implements: rdma_migrate_id.
func (id ID) Migrate(ch Channel) error {
	return errno(C.gf1_cm_migrate(load.table, id.c(), ch.c()))
}

// Device returns the name of the device that the identifier is bound to, or "".
func (id ID) Device() string {
	if id.c().verbs == nil {
		return ""
	}
	return C.GoString(&id.c().verbs.device.name[0])
}

// Port returns the device's port that the identifier is bound to, or 0.
func (id ID) Port() int { return int(id.c().port_num) }

// GIDs returns the addresses of both ends in the fabric and the partition key.
func (id ID) GIDs() (source, destination [16]byte, pkey uint16) {
	ib := &id.c().route.addr.ib
	source = *(*[16]byte)(unsafe.Pointer(&ib.sgid))
	destination = *(*[16]byte)(unsafe.Pointer(&ib.dgid))
	return source, destination, swap16(ib.pkey)
}

func swap16(v C.uint16_t) uint16 {
	return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&v))[:])
}

func swap32(v C.uint32_t) uint32 {
	return binary.BigEndian.Uint32((*[4]byte)(unsafe.Pointer(&v))[:])
}

// Addresses returns the socket addresses of both ends.
func (id ID) Addresses() (source, destination Sockaddr) {
	addr := &id.c().route.addr
	return *(*Sockaddr)(unsafe.Pointer(&addr.src)), *(*Sockaddr)(unsafe.Pointer(&addr.dst))
}

// Ports returns the port numbers of both ends.
//
// Implements: rdma_get_src_port, rdma_get_dst_port.
func (id ID) Ports() (source, destination uint16) {
	var s, d C.uint16_t
	C.gf1_cm_ports(load.table, id.c(), &s, &d)
	return uint16(s), uint16(d)
}

// Paths returns the route's path records.
func (id ID) Paths() []Path {
	route := &id.c().route
	var list []Path
	for _, p := range unsafe.Slice(route.path_rec, int(route.num_paths)) {
		list = append(list, Path{
			DGID: *(*[16]byte)(unsafe.Pointer(&p.dgid)), SGID: *(*[16]byte)(unsafe.Pointer(&p.sgid)),
			DLID: swap16(p.dlid), SLID: swap16(p.slid),
			RawTraffic: p.raw_traffic != 0, Reversible: p.reversible != 0,
			FlowLabel: swap32(p.flow_label), HopLimit: uint8(p.hop_limit), TrafficClass: uint8(p.traffic_class),
			NumPath: uint8(p.numb_path), PKey: swap16(p.pkey), SL: uint8(p.sl),
			MTU: uint8(p.mtu), MTUSelector: uint8(p.mtu_selector),
			Rate: uint8(p.rate), RateSelector: uint8(p.rate_selector),
			Lifetime: uint8(p.packet_life_time), LifetimeSelector: uint8(p.packet_life_time_selector),
			Preference: uint8(p.preference),
		})
	}
	return list
}

// Bind gives the identifier a local address.
//
// Implements: rdma_bind_addr.
func (id ID) Bind(addr *Sockaddr) error {
	return errno(C.gf1_cm_bind(load.table, id.c(), unsafe.Pointer(addr)))
}

// ResolveAddr begins to look for the way to an address; an event tells the end.
// source can be nil.
//
// Implements: rdma_resolve_addr.
func (id ID) ResolveAddr(source, destination *Sockaddr, timeoutMS int) error {
	return errno(C.gf1_cm_resolve_addr(load.table, id.c(), unsafe.Pointer(source), unsafe.Pointer(destination), C.int(timeoutMS)))
}

// ResolveRoute begins to look for the route; an event tells the end.
//
// Implements: rdma_resolve_route.
func (id ID) ResolveRoute(timeoutMS int) error {
	return errno(C.gf1_cm_resolve_route(load.table, id.c(), C.int(timeoutMS)))
}

// SetOption sets an option.
//
// Implements: rdma_set_option.
func (id ID) SetOption(level, name int, value []byte) error {
	p := unsafe.Pointer(unsafe.SliceData(value))
	return errno(C.gf1_cm_set_option(load.table, id.c(), C.int(level), C.int(name), p, C.size_t(len(value))))
}

// InitQPAttr returns the attributes that bring a queue pair to a state, and
// which of them count.
//
// Implements: rdma_init_qp_attr.
func (id ID) InitQPAttr(state int32) (cverbs.QPAttr, uint32, error) {
	attr := cverbs.QPAttr{State: state}
	var mask C.int
	rc := C.gf1_cm_init_qp_attr(load.table, id.c(), (*C.struct_gf1_qp_attr)(unsafe.Pointer(&attr)), &mask)
	return attr, uint32(mask), errno(rc)
}

// SetECE sets the options that the next connect or accept offers.
//
// Implements: rdma_set_local_ece.
func (id ID) SetECE(e ECE) error {
	raw := C.struct_gf1_ece{vendor_id: C.uint32_t(e.VendorID), options: C.uint32_t(e.Options), comp_mask: C.uint32_t(e.CompMask)}
	return errno(C.gf1_cm_set_ece(load.table, id.c(), &raw))
}

// RemoteECE returns the options that the peer offered.
//
// Implements: rdma_get_remote_ece.
func (id ID) RemoteECE() (ECE, error) {
	var raw C.struct_gf1_ece
	rc := C.gf1_cm_get_ece(load.table, id.c(), &raw)
	return ECE{uint32(raw.vendor_id), uint32(raw.options), uint32(raw.comp_mask)}, errno(rc)
}

// WriteEvent puts a user's event on the identifier's channel.
//
// Implements: rdma_write_cm_event.
func (id ID) WriteEvent(status int, arg uint64) error {
	return errno(C.gf1_cm_write_event(load.table, id.c(), C.int(status), C.uint64_t(arg)))
}
