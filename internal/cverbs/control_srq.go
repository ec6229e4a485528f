//go:build linux && cgo

package cverbs

// #include "gf1_shim.h"
import "C"

import "unsafe"

// CreateSRQ makes a shared receive queue and stores in attr what the device
// granted. Limit is not looked at: Modify arms it.
//
// Implements: ibv_create_srq.
func (pd PD) CreateSRQ(attr *SRQAttr) (SRQ, error) {
	var init C.struct_gf1_srq_init_attr
	granted := (*SRQAttr)(unsafe.Pointer(&init.attr))
	*granted = *attr
	var srq *C.struct_gf1_srq
	if rc := C.gf1_create_srq(table(pd.v), pd.c(), &init, &srq); rc != 0 {
		return SRQ{}, errno(rc)
	}
	*attr = *granted
	return SRQ{unsafe.Pointer(srq), pd.v}, nil
}

// Modify changes the attributes that mask names: the size, or the limit at
// which an event comes once.
//
// Implements: ibv_modify_srq.
func (srq SRQ) Modify(attr *SRQAttr, mask uint32) error {
	return errno(C.gf1_modify_srq(table(srq.v), srq.c(), (*C.struct_gf1_srq_attr)(unsafe.Pointer(attr)), C.int(mask)))
}

// Query reads the queue's attributes.
//
// Implements: ibv_query_srq.
func (srq SRQ) Query() (SRQAttr, error) {
	var attr SRQAttr
	rc := C.gf1_query_srq(table(srq.v), srq.c(), (*C.struct_gf1_srq_attr)(unsafe.Pointer(&attr)))
	return attr, errno(rc)
}

// Destroy destroys the queue; it waits until its events are acknowledged.
//
// Implements: ibv_destroy_srq.
func (srq SRQ) Destroy() error { return errno(C.gf1_destroy_srq(table(srq.v), srq.c())) }
