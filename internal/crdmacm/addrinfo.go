//go:build linux && cgo

package crdmacm

// #include <stdlib.h>
// #include "gf1_cma.h"
import "C"

import "unsafe"

// GetAddrInfo looks up a name and a service. It blocks, on the network too.
//
// Implements: rdma_getaddrinfo, rdma_freeaddrinfo.
func GetAddrInfo(node, service string, hints AddrInfo) ([]AddrInfo, error) {
	v, err := library()
	if err != nil {
		return nil, err
	}
	arena := &arena{}
	defer arena.free()
	var list *C.struct_gf1_cm_addrinfo
	if rc := C.gf1_cm_getaddrinfo(v, arena.text(node), arena.text(service), arena.info(&hints), &list); rc != 0 {
		return nil, errno(rc)
	}
	defer C.gf1_cm_freeaddrinfo(v, list)
	var infos []AddrInfo
	for a := list; a != nil; a = a.next {
		infos = append(infos, AddrInfo{
			Flags: int(a.flags), Family: int(a.family), QPType: int(a.qp_type), PortSpace: int(a.port_space),
			Source: sockaddr(a.src_addr, a.src_len), Destination: sockaddr(a.dst_addr, a.dst_len),
			SourceName: text(a.src_canonname), DestinationName: text(a.dst_canonname),
			Route: C.GoBytes(a.route, C.int(a.route_len)), Connect: C.GoBytes(a.connect, C.int(a.connect_len)),
		})
	}
	return infos, nil
}

// CreateEP makes an identifier of what GetAddrInfo returned, with address and
// route resolved or, for a passive one, bound. It blocks while they are. The
// identifier has a channel of its own until it migrates.
//
// Implements: rdma_create_ep.
func CreateEP(info AddrInfo) (ID, error) {
	v, err := library()
	if err != nil {
		return ID{}, err
	}
	arena := &arena{}
	defer arena.free()
	var id *C.struct_gf1_cm_id
	rc := C.gf1_cm_create_ep(v, arena.info(&info), &id)
	return ID{unsafe.Pointer(id)}, errno(rc)
}

// DestroyEP destroys an identifier that CreateEP made and that did not migrate.
//
// Implements: rdma_destroy_ep.
func (id ID) DestroyEP() { C.gf1_cm_destroy_ep(load.table, id.c()) }

// arena is C memory that lives as long as a call.
type arena struct{ list []unsafe.Pointer }

func (a *arena) add(p unsafe.Pointer) unsafe.Pointer {
	a.list = append(a.list, p)
	return p
}

func (a *arena) free() {
	for _, p := range a.list {
		C.free(p)
	}
}

// text returns NULL for an empty text.
func (a *arena) text(s string) *C.char {
	if s == "" {
		return nil
	}
	return (*C.char)(a.add(unsafe.Pointer(C.CString(s))))
}

func (a *arena) bytes(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return a.add(C.CBytes(b))
}

func (a *arena) info(i *AddrInfo) *C.struct_gf1_cm_addrinfo {
	p := (*C.struct_gf1_cm_addrinfo)(a.add(C.calloc(1, C.sizeof_struct_gf1_cm_addrinfo)))
	p.flags, p.family = C.int(i.Flags), C.int(i.Family)
	p.qp_type, p.port_space = C.int(i.QPType), C.int(i.PortSpace)
	if i.Source != nil {
		p.src_addr = (*C.struct_sockaddr)(a.bytes(i.Source[:]))
		p.src_len = C.socklen_t(i.Source.len())
	}
	if i.Destination != nil {
		p.dst_addr = (*C.struct_sockaddr)(a.bytes(i.Destination[:]))
		p.dst_len = C.socklen_t(i.Destination.len())
	}
	p.route, p.route_len = a.bytes(i.Route), C.size_t(len(i.Route))
	p.connect, p.connect_len = a.bytes(i.Connect), C.size_t(len(i.Connect))
	return p
}

func sockaddr(p *C.struct_sockaddr, n C.socklen_t) *Sockaddr {
	if p == nil {
		return nil
	}
	var s Sockaddr
	copy(s[:], C.GoBytes(unsafe.Pointer(p), C.int(n)))
	return &s
}

func text(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}
