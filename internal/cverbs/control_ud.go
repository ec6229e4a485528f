//go:build linux && cgo

package cverbs

// #include "gf1_shim.h"
import "C"

import "unsafe"

// CreateAH makes an address handle.
//
// Implements: ibv_create_ah.
func (pd PD) CreateAH(attr *AHAttr) (AH, error) {
	var ah *C.struct_gf1_ah
	rc := C.gf1_create_ah(table(pd.v), pd.c(), (*C.struct_gf1_ah_attr)(unsafe.Pointer(attr)), &ah)
	return AH{unsafe.Pointer(ah), pd.v}, errno(rc)
}

// Destroy destroys the address handle. Requests posted with it are not touched.
//
// Implements: ibv_destroy_ah.
func (ah AH) Destroy() error { return errno(C.gf1_destroy_ah(table(ah.v), ah.c())) }

// AHFromWC returns the address of the sender of a received datagram.
//
// Implements: ibv_init_ah_from_wc.
func (c Context) AHFromWC(port uint8, wc *WC, grh *GRH) (AHAttr, error) {
	var attr AHAttr
	rc := C.gf1_init_ah_from_wc(table(c.v), c.c(), C.uint8_t(port), (*C.struct_gf1_wc)(unsafe.Pointer(wc)),
		(*C.struct_gf1_grh)(unsafe.Pointer(grh)), (*C.struct_gf1_ah_attr)(unsafe.Pointer(&attr)))
	return attr, errno(rc)
}

// SetUD makes the target of a datagram.
func (wr *SendWR) SetUD(ah AH, qpn, qkey uint32) {
	u := (*udWR)(unsafe.Pointer(&wr.RemoteAddr))
	u.ah, u.remoteQPN, u.remoteQKey = ah.p, qpn, qkey
}

// AttachMcast joins the queue pair to a multicast group.
//
// Implements: ibv_attach_mcast.
func (qp QP) AttachMcast(gid [16]byte, lid uint16) error {
	var g C.union_gf1_gid
	*(*[16]byte)(unsafe.Pointer(&g)) = gid
	return errno(C.gf1_attach_mcast(table(qp.v), qp.c(), &g, C.uint16_t(lid)))
}

// DetachMcast takes the queue pair out of a multicast group.
//
// Implements: ibv_detach_mcast.
func (qp QP) DetachMcast(gid [16]byte, lid uint16) error {
	var g C.union_gf1_gid
	*(*[16]byte)(unsafe.Pointer(&g)) = gid
	return errno(C.gf1_detach_mcast(table(qp.v), qp.c(), &g, C.uint16_t(lid)))
}
