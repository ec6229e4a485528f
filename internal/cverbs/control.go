//go:build linux && cgo

package cverbs

// #include "gf1_shim.h"
// #include "gf1_data.h"
//
// // A program that waits takes an event for almost every completion.
// #cgo noescape gf1_get_cq_event
// #cgo nocallback gf1_get_cq_event
import "C"

import (
	"syscall"
	"unsafe"
)

// Handles pair a C object with the function table of its device.
type (
	// Context is an opened device (struct ibv_context).
	Context struct{ p, v unsafe.Pointer }
	// PD is a protection domain (struct ibv_pd).
	PD struct{ p, v unsafe.Pointer }
	// MR is a memory region (struct ibv_mr).
	MR struct{ p, v unsafe.Pointer }
	// Channel is a completion channel (struct ibv_comp_channel).
	Channel struct{ p, v unsafe.Pointer }
	// CQ is a completion queue (struct ibv_cq).
	CQ struct{ p, v unsafe.Pointer }
	// QP is a queue pair (struct ibv_qp).
	QP struct{ p, v unsafe.Pointer }
	// SRQ is a shared receive queue (struct ibv_srq).
	SRQ struct{ p, v unsafe.Pointer }
	// AH is an address handle (struct ibv_ah).
	AH struct{ p, v unsafe.Pointer }
)

// errno turns the shims' result into an error.
func errno(rc C.int) error {
	if rc == 0 {
		return nil
	}
	return syscall.Errno(rc)
}

func table(v unsafe.Pointer) *C.struct_gf1_verbs { return (*C.struct_gf1_verbs)(v) }

func (c Context) c() *C.struct_gf1_context       { return (*C.struct_gf1_context)(c.p) }
func (pd PD) c() *C.struct_gf1_pd                { return (*C.struct_gf1_pd)(pd.p) }
func (mr MR) c() *C.struct_gf1_mr                { return (*C.struct_gf1_mr)(mr.p) }
func (ch Channel) c() *C.struct_gf1_comp_channel { return (*C.struct_gf1_comp_channel)(ch.p) }
func (cq CQ) c() *C.struct_gf1_cq                { return (*C.struct_gf1_cq)(cq.p) }
func (qp QP) c() *C.struct_gf1_qp                { return (*C.struct_gf1_qp)(qp.p) }
func (srq SRQ) c() *C.struct_gf1_srq             { return (*C.struct_gf1_srq)(srq.p) }
func (ah AH) c() *C.struct_gf1_ah                { return (*C.struct_gf1_ah)(ah.p) }

// Close closes the device.
//
// Implements: ibv_close_device.
func (c Context) Close() error { return errno(C.gf1_close(table(c.v), c.c())) }

// Vectors returns the number of completion vectors.
func (c Context) Vectors() int { return int(c.c().num_comp_vectors) }

// QueryDevice reads the device's attributes.
//
// Implements: ibv_query_device.
func (c Context) QueryDevice() (DeviceAttr, error) {
	var a DeviceAttr
	rc := C.gf1_query_device(table(c.v), c.c(), (*C.struct_gf1_device_attr)(unsafe.Pointer(&a)))
	return a, errno(rc)
}

// QueryPort reads a port's attributes.
//
// Implements: ibv_query_port.
func (c Context) QueryPort(port uint8) (PortAttr, error) {
	var a PortAttr
	rc := C.gf1_query_port(table(c.v), c.c(), C.uint8_t(port), (*C.struct_gf1_port_attr)(unsafe.Pointer(&a)))
	return a, errno(rc)
}

// QueryGIDTable reads the entries in use of all ports' GID tables, up to most.
//
// Implements: ibv_query_gid_table.
func (c Context) QueryGIDTable(most int) ([]GIDEntry, error) {
	if most <= 0 {
		return nil, nil
	}
	list := make([]GIDEntry, most)
	n := C.gf1_query_gid_table(table(c.v), c.c(), (*C.struct_gf1_gid_entry)(unsafe.Pointer(&list[0])), C.size_t(most))
	if n < 0 {
		return nil, syscall.Errno(-n)
	}
	return list[:n], nil
}

// AllocPD makes a protection domain.
//
// Implements: ibv_alloc_pd.
func (c Context) AllocPD() (PD, error) {
	var pd *C.struct_gf1_pd
	rc := C.gf1_alloc_pd(table(c.v), c.c(), &pd)
	return PD{unsafe.Pointer(pd), c.v}, errno(rc)
}

// Dealloc frees the protection domain.
//
// Implements: ibv_dealloc_pd.
func (pd PD) Dealloc() error { return errno(C.gf1_dealloc_pd(table(pd.v), pd.c())) }

// RegMR registers memory. Optional access bits go by the form of the verb that
// knows them.
//
// Implements: ibv_reg_mr, ibv_reg_mr_iova2.
func (pd PD) RegMR(addr unsafe.Pointer, length int, access uint32) (MR, error) {
	var mr *C.struct_gf1_mr
	rc := C.gf1_reg_mr(table(pd.v), pd.c(), addr, C.size_t(length), C.uint(access), &mr)
	return MR{unsafe.Pointer(mr), pd.v}, errno(rc)
}

// Keys returns the region's local and remote key.
func (mr MR) Keys() (lkey, rkey uint32) { return uint32(mr.c().lkey), uint32(mr.c().rkey) }

// Dereg ends the registration.
//
// Implements: ibv_dereg_mr.
func (mr MR) Dereg() error { return errno(C.gf1_dereg_mr(table(mr.v), mr.c())) }

// CreateChannel makes a completion channel.
//
// Implements: ibv_create_comp_channel.
func (c Context) CreateChannel() (Channel, error) {
	var ch *C.struct_gf1_comp_channel
	rc := C.gf1_create_channel(table(c.v), c.c(), &ch)
	return Channel{unsafe.Pointer(ch), c.v}, errno(rc)
}

// FD returns the channel's file descriptor, which the channel owns.
func (ch Channel) FD() int { return int(ch.c().fd) }

// NextEvent takes an event off the channel: the CQ it is for. On a channel
// that does not block, no event is EAGAIN.
//
// Implements: ibv_get_cq_event.
func (ch Channel) NextEvent() (CQ, error) {
	var cq *C.struct_gf1_cq
	rc := C.gf1_get_cq_event(table(ch.v), ch.c(), &cq)
	return CQ{unsafe.Pointer(cq), ch.v}, errno(rc)
}

// Destroy destroys the channel and closes its descriptor.
//
// Implements: ibv_destroy_comp_channel.
func (ch Channel) Destroy() error { return errno(C.gf1_destroy_channel(table(ch.v), ch.c())) }

// CreateCQ makes a completion queue that holds at least cqe completions. The
// zero Channel makes one without events.
//
// Implements: ibv_create_cq.
func (c Context) CreateCQ(cqe int, ch Channel, vector int) (CQ, error) {
	var cq *C.struct_gf1_cq
	rc := C.gf1_create_cq(table(c.v), c.c(), C.int(cqe), ch.c(), C.int(vector), &cq)
	return CQ{unsafe.Pointer(cq), c.v}, errno(rc)
}

// Size returns how many completions the queue holds.
func (cq CQ) Size() int { return int(cq.c().cqe) }

// AckEvents acknowledges events taken off the channel for this CQ.
//
// Implements: ibv_ack_cq_events.
func (cq CQ) AckEvents(n int) error {
	return errno(C.gf1_ack_cq_events(table(cq.v), cq.c(), C.uint(n)))
}

// Resize changes how many completions the queue holds.
//
// Implements: ibv_resize_cq.
func (cq CQ) Resize(cqe int) error { return errno(C.gf1_resize_cq(table(cq.v), cq.c(), C.int(cqe))) }

// Moderate has the queue raise an event only after so many completions, or so
// many microseconds after the first of them.
//
// Implements: ibv_modify_cq.
func (cq CQ) Moderate(count, period uint16) error {
	attr := C.struct_gf1_modify_cq_attr{
		attr_mask: IBV_CQ_ATTR_MODERATE, cq_count: C.uint16_t(count), cq_period: C.uint16_t(period),
	}
	return errno(C.gf1_modify_cq(table(cq.v), cq.c(), &attr))
}

// Destroy destroys the queue; it waits until every event taken is acknowledged.
//
// Implements: ibv_destroy_cq.
func (cq CQ) Destroy() error { return errno(C.gf1_destroy_cq(table(cq.v), cq.c())) }

// CreateQP makes a queue pair and stores in limits what the device granted.
//
// Implements: ibv_create_qp.
func (pd PD) CreateQP(send, recv CQ, kind int32, limits *QPCap, signalAll bool) (QP, error) {
	return pd.CreateQPOn(SRQ{}, send, recv, kind, limits, signalAll)
}

// CreateQPOn makes a queue pair whose receives come from a shared receive queue.
// The zero SRQ gives it a receive queue of its own.
//
// Implements: ibv_create_qp.
func (pd PD) CreateQPOn(srq SRQ, send, recv CQ, kind int32, limits *QPCap, signalAll bool) (QP, error) {
	var attr C.struct_gf1_qp_init_attr
	attr.send_cq, attr.recv_cq, attr.srq = send.c(), recv.c(), srq.c()
	attr.qp_type = C.int32_t(kind)
	*(*QPCap)(unsafe.Pointer(&attr.cap)) = *limits
	if signalAll {
		attr.sq_sig_all = 1
	}
	var qp *C.struct_gf1_qp
	if rc := C.gf1_create_qp(table(pd.v), pd.c(), &attr, &qp); rc != 0 {
		return QP{}, errno(rc)
	}
	*limits = *(*QPCap)(unsafe.Pointer(&attr.cap))
	return QP{unsafe.Pointer(qp), pd.v}, nil
}

// Num returns the queue pair's number.
func (qp QP) Num() uint32 { return uint32(qp.c().qp_num) }

// Modify changes the attributes that mask names.
//
// Implements: ibv_modify_qp.
func (qp QP) Modify(attr *QPAttr, mask uint32) error {
	return errno(C.gf1_modify_qp(table(qp.v), qp.c(), (*C.struct_gf1_qp_attr)(unsafe.Pointer(attr)), C.int(mask)))
}

// Query reads the attributes that mask names, and perhaps others.
//
// Implements: ibv_query_qp.
func (qp QP) Query(mask uint32) (QPAttr, error) {
	var attr QPAttr
	var init C.struct_gf1_qp_init_attr
	rc := C.gf1_query_qp(table(qp.v), qp.c(), (*C.struct_gf1_qp_attr)(unsafe.Pointer(&attr)), C.int(mask), &init)
	return attr, errno(rc)
}

// Destroy destroys the queue pair.
//
// Implements: ibv_destroy_qp.
func (qp QP) Destroy() error { return errno(C.gf1_destroy_qp(table(qp.v), qp.c())) }
