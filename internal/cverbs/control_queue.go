//go:build linux && cgo

package cverbs

// #include <stdlib.h>
// #include "gf1_queue.h"
import "C"

import (
	"syscall"
	"unsafe"
)

const errNoMemory = syscall.ENOMEM

// Handles of extended queues, as those in control.go.
type (
	// CQEx is an extended completion queue (struct ibv_cq_ex).
	CQEx struct{ p, v unsafe.Pointer }
	// QPEx is a queue pair with work request builders (struct ibv_qp_ex).
	QPEx struct{ p, v unsafe.Pointer }
	// XRCD is an XRC domain (struct ibv_xrcd).
	XRCD struct{ p, v unsafe.Pointer }
	// WQ is a work queue (struct ibv_wq).
	WQ struct{ p, v unsafe.Pointer }
	// IndTable is a table of work queues (struct ibv_rwq_ind_table).
	IndTable struct{ p, v unsafe.Pointer }
	// Flow is a steering rule (struct ibv_flow).
	Flow struct{ p, v unsafe.Pointer }
)

func (cq CQEx) c() *C.struct_gf1_cq_ex            { return (*C.struct_gf1_cq_ex)(cq.p) }
func (qp QPEx) c() *C.struct_gf1_qp_ex            { return (*C.struct_gf1_qp_ex)(qp.p) }
func (x XRCD) c() *C.struct_gf1_xrcd              { return (*C.struct_gf1_xrcd)(x.p) }
func (wq WQ) c() *C.struct_gf1_wq                 { return (*C.struct_gf1_wq)(wq.p) }
func (t IndTable) c() *C.struct_gf1_rwq_ind_table { return (*C.struct_gf1_rwq_ind_table)(t.p) }
func (f Flow) c() *C.struct_gf1_flow              { return (*C.struct_gf1_flow)(f.p) }

// CreateCQEx makes an extended completion queue.
//
// Implements: ibv_create_cq_ex.
func (c Context) CreateCQEx(init CQInit) (CQEx, error) {
	attr := C.struct_gf1_cq_init_attr_ex{
		cqe: C.uint32_t(init.CQE), channel: init.Channel.c(), comp_vector: C.uint32_t(init.Vector),
		wc_flags: C.uint64_t(init.Fields), flags: C.uint32_t(init.Flags), parent_domain: init.ParentDomain.c(),
	}
	if init.Flags != 0 {
		attr.comp_mask |= IBV_CQ_INIT_ATTR_MASK_FLAGS
	}
	if init.ParentDomain.p != nil {
		attr.comp_mask |= IBV_CQ_INIT_ATTR_MASK_PD
	}
	var cq *C.struct_gf1_cq_ex
	rc := C.gf1_create_cq_ex(table(c.v), c.c(), &attr, &cq)
	return CQEx{unsafe.Pointer(cq), c.v}, errno(rc)
}

// CQ is the same queue for the verbs that know plain ones.
//
// Implements: ibv_cq_ex_to_cq.
func (cq CQEx) CQ() CQ { return CQ(cq) }

// CreateQPEx makes a queue pair and stores in init.Cap what the device granted.
//
// Implements: ibv_create_qp_ex.
func (c Context) CreateQPEx(init *QPInit) (QP, error) {
	var attr C.struct_gf1_qp_init_attr_ex
	attr.send_cq, attr.recv_cq, attr.srq = init.Send.c(), init.Recv.c(), init.SRQ.c()
	*(*QPCap)(unsafe.Pointer(&attr.cap)) = init.Cap
	attr.qp_type = C.int32_t(init.Type)
	attr.comp_mask = C.uint32_t(init.Mask)
	attr.pd, attr.xrcd = init.PD.c(), init.XRCD.c()
	attr.create_flags = C.uint32_t(init.CreateFlags)
	attr.max_tso_header = C.uint16_t(init.MaxTSOHeader)
	attr.rwq_ind_tbl = init.IndTable.c()
	attr.rx_hash_conf.function = C.uint8_t(init.HashFunction)
	attr.rx_hash_conf.fields_mask = C.uint64_t(init.HashFields)
	if n := len(init.HashKey); n > 0 {
		key := C.CBytes(init.HashKey)
		defer C.free(key)
		attr.rx_hash_conf.key_len, attr.rx_hash_conf.key = C.uint8_t(n), (*C.uint8_t)(key)
	}
	attr.source_qpn = C.uint32_t(init.SourceQPN)
	attr.send_ops_flags = C.uint64_t(init.SendOps)
	var qp *C.struct_gf1_qp
	if rc := C.gf1_create_qp_ex(table(c.v), c.c(), &attr, &qp); rc != 0 {
		return QP{}, errno(rc)
	}
	init.Cap = *(*QPCap)(unsafe.Pointer(&attr.cap))
	return QP{unsafe.Pointer(qp), c.v}, nil
}

// Ex is the queue pair's face with the builders. A plain one is EINVAL.
//
// Implements: ibv_qp_to_qp_ex.
func (qp QP) Ex() (QPEx, error) {
	var ex *C.struct_gf1_qp_ex
	rc := C.gf1_qp_to_qp_ex(table(qp.v), qp.c(), &ex)
	return QPEx{unsafe.Pointer(ex), qp.v}, errno(rc)
}

// OpenQP opens the receiving XRC queue pair that has this number in the domain.
//
// Implements: ibv_open_qp.
func (c Context) OpenQP(x XRCD, number uint32, kind int32) (QP, error) {
	attr := C.struct_gf1_qp_open_attr{
		comp_mask: IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		qp_num:    C.uint32_t(number), xrcd: x.c(), qp_type: C.int32_t(kind),
	}
	var qp *C.struct_gf1_qp
	rc := C.gf1_open_qp(table(c.v), c.c(), &attr, &qp)
	return QP{unsafe.Pointer(qp), c.v}, errno(rc)
}

// SetECE offers connection enhancements to be used from INIT on.
//
// Implements: ibv_set_ece.
func (qp QP) SetECE(ece ECE) error {
	return errno(C.gf1_set_ece(table(qp.v), qp.c(), (*C.struct_gf1_ece)(unsafe.Pointer(&ece))))
}

// QueryECE reads the enhancements that the queue pair can use or has accepted.
//
// Implements: ibv_query_ece.
func (qp QP) QueryECE() (ECE, error) {
	var ece ECE
	rc := C.gf1_query_ece(table(qp.v), qp.c(), (*C.struct_gf1_ece)(unsafe.Pointer(&ece)))
	return ece, errno(rc)
}

// DataInOrder asks how far the bytes of an operation are written in order.
//
// Implements: ibv_query_qp_data_in_order.
func (qp QP) DataInOrder(opcode int32, flags uint32) (int, error) {
	var answer C.int
	rc := C.gf1_query_qp_data_in_order(table(qp.v), qp.c(), C.int(opcode), C.uint32_t(flags), &answer)
	return int(answer), errno(rc)
}

// ModifyRateLimit bounds what the queue pair sends.
//
// Implements: ibv_modify_qp_rate_limit.
func (qp QP) ModifyRateLimit(limit RateLimit) error {
	return errno(C.gf1_modify_qp_rate_limit(table(qp.v), qp.c(),
		(*C.struct_gf1_qp_rate_limit_attr)(unsafe.Pointer(&limit))))
}

// OpenXRCD opens an XRC domain: that of the file behind fd, or one of its own
// for -1.
//
// Implements: ibv_open_xrcd.
func (c Context) OpenXRCD(fd int, flags int) (XRCD, error) {
	attr := C.struct_gf1_xrcd_init_attr{
		comp_mask: IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, fd: C.int32_t(fd), oflags: C.int32_t(flags),
	}
	var x *C.struct_gf1_xrcd
	rc := C.gf1_open_xrcd(table(c.v), c.c(), &attr, &x)
	return XRCD{unsafe.Pointer(x), c.v}, errno(rc)
}

// Close closes the domain.
//
// Implements: ibv_close_xrcd.
func (x XRCD) Close() error { return errno(C.gf1_close_xrcd(table(x.v), x.c())) }

// CreateSRQEx makes a shared receive queue and stores in init.Attr what the
// device granted.
//
// Implements: ibv_create_srq_ex.
func (c Context) CreateSRQEx(init *SRQInit) (SRQ, error) {
	attr := C.struct_gf1_srq_init_attr_ex{
		comp_mask: C.uint32_t(init.Mask), srq_type: C.int32_t(init.Type),
		pd: init.PD.c(), xrcd: init.XRCD.c(), cq: init.CQ.c(),
		tm_cap: C.struct_gf1_tm_cap{max_num_tags: C.uint32_t(init.MaxTags), max_ops: C.uint32_t(init.MaxOps)},
	}
	*(*SRQAttr)(unsafe.Pointer(&attr.attr)) = init.Attr
	var srq *C.struct_gf1_srq
	if rc := C.gf1_create_srq_ex(table(c.v), c.c(), &attr, &srq); rc != 0 {
		return SRQ{}, errno(rc)
	}
	init.Attr = *(*SRQAttr)(unsafe.Pointer(&attr.attr))
	return SRQ{unsafe.Pointer(srq), c.v}, nil
}

// Number returns the number that XRC requests name the queue by.
//
// Implements: ibv_get_srq_num.
func (srq SRQ) Number() (uint32, error) {
	var n C.uint32_t
	rc := C.gf1_get_srq_num(table(srq.v), srq.c(), &n)
	return uint32(n), errno(rc)
}

// PostTagOp changes the tag matching list.
//
// Implements: ibv_post_srq_ops.
func (srq SRQ) PostTagOp(op *TagOp) error {
	size := unsafe.Sizeof(C.struct_gf1_ops_wr{})
	p := Alloc(size + uintptr(len(op.SGEs))*unsafe.Sizeof(SGE{}))
	if p == nil {
		return errNoMemory
	}
	defer Free(p)
	wr := (*C.struct_gf1_ops_wr)(p)
	wr.wr_id, wr.opcode, wr.flags = C.uint64_t(op.WRID), C.int32_t(op.Opcode), C.int32_t(op.Flags)
	wr.tm.unexpected_cnt, wr.tm.handle = C.uint32_t(op.Unexpected), C.uint32_t(op.Handle)
	wr.tm.add.recv_wr_id = C.uint64_t(op.RecvWRID)
	wr.tm.add.tag, wr.tm.add.mask = C.uint64_t(op.Tag), C.uint64_t(op.Mask)
	if n := len(op.SGEs); n > 0 {
		list := unsafe.Add(p, size)
		copy(unsafe.Slice((*SGE)(list), n), op.SGEs)
		wr.tm.add.sg_list, wr.tm.add.num_sge = (*C.struct_gf1_sge)(list), C.int32_t(n)
	}
	rc := C.gf1_post_srq_ops(table(srq.v), srq.c(), wr)
	op.Handle = uint32(wr.tm.handle)
	return errno(rc)
}

// CreateWQ makes a work queue for receives.
//
// Implements: ibv_create_wq.
func (c Context) CreateWQ(init WQInit) (WQ, error) {
	attr := C.struct_gf1_wq_init_attr{
		wq_type: IBV_WQT_RQ, max_wr: C.uint32_t(init.MaxWR), max_sge: C.uint32_t(init.MaxSGE),
		pd: init.PD.c(), cq: init.CQ.c(), create_flags: C.uint32_t(init.Flags),
	}
	if init.Flags != 0 {
		attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS
	}
	var wq *C.struct_gf1_wq
	rc := C.gf1_create_wq(table(c.v), c.c(), &attr, &wq)
	return WQ{unsafe.Pointer(wq), c.v}, errno(rc)
}

// Num returns the queue's number.
func (wq WQ) Num() uint32 { return uint32(wq.c().wq_num) }

// State returns the state that the library keeps.
func (wq WQ) State() int32 { return int32(wq.c().state) }

// Modify changes the attributes that attr.Mask names.
//
// Implements: ibv_modify_wq.
func (wq WQ) Modify(attr *WQAttr) error {
	return errno(C.gf1_modify_wq(table(wq.v), wq.c(), (*C.struct_gf1_wq_attr)(unsafe.Pointer(attr))))
}

// Destroy destroys the queue.
//
// Implements: ibv_destroy_wq.
func (wq WQ) Destroy() error { return errno(C.gf1_destroy_wq(table(wq.v), wq.c())) }

// CreateIndTable makes a table of work queues, whose number is a power of two.
//
// Implements: ibv_create_rwq_ind_table.
func (c Context) CreateIndTable(logSize int, queues []WQ) (IndTable, error) {
	list := Alloc(uintptr(len(queues)) * unsafe.Sizeof(uintptr(0)))
	if list == nil {
		return IndTable{}, errNoMemory
	}
	defer Free(list)
	slots := unsafe.Slice((**C.struct_gf1_wq)(list), len(queues))
	for i, wq := range queues {
		slots[i] = wq.c()
	}
	attr := C.struct_gf1_rwq_ind_table_init_attr{log_size: C.uint32_t(logSize), table: (**C.struct_gf1_wq)(list)}
	var t *C.struct_gf1_rwq_ind_table
	rc := C.gf1_create_rwq_ind_table(table(c.v), c.c(), &attr, &t)
	return IndTable{unsafe.Pointer(t), c.v}, errno(rc)
}

// Destroy destroys the table.
//
// Implements: ibv_destroy_rwq_ind_table.
func (t IndTable) Destroy() error { return errno(C.gf1_destroy_rwq_ind_table(table(t.v), t.c())) }

// CreateFlow adds a steering rule: a FlowAttr and its specifications.
//
// Implements: ibv_create_flow.
func (qp QP) CreateFlow(rule []byte) (Flow, error) {
	attr := C.CBytes(rule)
	defer C.free(attr)
	var f *C.struct_gf1_flow
	rc := C.gf1_create_flow(table(qp.v), qp.c(), (*C.struct_gf1_flow_attr)(attr), &f)
	return Flow{unsafe.Pointer(f), qp.v}, errno(rc)
}

// Destroy takes the rule away.
//
// Implements: ibv_destroy_flow.
func (f Flow) Destroy() error { return errno(C.gf1_destroy_flow(table(f.v), f.c())) }
