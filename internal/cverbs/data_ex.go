//go:build linux && cgo

package cverbs

// #cgo noescape gf1_go_poll_ex
// #cgo nocallback gf1_go_poll_ex
// #cgo noescape gf1_go_spin_ex
// #cgo nocallback gf1_go_spin_ex
// #cgo noescape gf1_go_start_poll
// #cgo nocallback gf1_go_start_poll
// #cgo noescape gf1_go_next_poll
// #cgo nocallback gf1_go_next_poll
// #cgo noescape gf1_go_end_poll
// #cgo nocallback gf1_go_end_poll
// #cgo noescape gf1_go_wc_read
// #cgo nocallback gf1_go_wc_read
// #cgo noescape gf1_go_wc_read_tm_info
// #cgo nocallback gf1_go_wc_read_tm_info
// #cgo noescape gf1_go_post_send_ex
// #cgo nocallback gf1_go_post_send_ex
// #cgo noescape gf1_go_post_wq_recv
// #cgo nocallback gf1_go_post_wq_recv
// #include "gf1_data_ex.h"
//
// // As in data.go: what lies in C memory is passed as an integer.
// static int gf1_go_poll_ex(uintptr_t cq, struct gf1_wc_ex *wc, int entries, uint32_t fields, uint32_t detours)
// {
//	return gf1_poll_ex((struct gf1_cq_ex *)cq, wc, entries, fields, detours);
// }
//
// static int gf1_go_spin_ex(uintptr_t cq, struct gf1_wc_ex *wc, int entries, uint32_t fields, uint32_t detours, int polls)
// {
//	return gf1_spin_ex((struct gf1_cq_ex *)cq, wc, entries, fields, detours, polls);
// }
//
// static struct gf1_current gf1_go_start_poll(uintptr_t cq, uint32_t detours)
// {
//	return gf1_start_poll((struct gf1_cq_ex *)cq, detours);
// }
//
// static struct gf1_current gf1_go_next_poll(uintptr_t cq, uint32_t detours)
// {
//	return gf1_next_poll((struct gf1_cq_ex *)cq, detours);
// }
//
// static void gf1_go_end_poll(uintptr_t cq)
// {
//	gf1_end_poll((struct gf1_cq_ex *)cq);
// }
//
// static uint64_t gf1_go_wc_read(uintptr_t cq, int field)
// {
//	return gf1_wc_read((struct gf1_cq_ex *)cq, (enum gf1_wc_field)field);
// }
//
// static struct gf1_wc_tm_info gf1_go_wc_read_tm_info(uintptr_t cq)
// {
//	return gf1_wc_read_tm_info((struct gf1_cq_ex *)cq);
// }
//
// static struct gf1_posted gf1_go_post_send_ex(uintptr_t qp, uintptr_t wr, int n, uint32_t detours)
// {
//	return gf1_post_send_ex((struct gf1_qp_ex *)qp, (struct gf1_send_wr *)wr, n, detours);
// }
//
// static struct gf1_posted gf1_go_post_wq_recv(uintptr_t wq, uintptr_t wr, int n)
// {
//	return gf1_post_wq_recv((struct gf1_wq *)wq, (struct gf1_recv_wr *)wr, n);
// }
import "C"

import "unsafe"

// Poll stores up to entries completions and returns their number. Fields says
// which of theirs are read.
//
// Implements: ibv_start_poll, ibv_next_poll, ibv_end_poll, ibv_wc_read_opcode,
// ibv_wc_read_vendor_err, ibv_wc_read_byte_len, ibv_wc_read_imm_data,
// ibv_wc_read_invalidated_rkey, ibv_wc_read_qp_num, ibv_wc_read_src_qp,
// ibv_wc_read_wc_flags, ibv_wc_read_slid, ibv_wc_read_sl,
// ibv_wc_read_dlid_path_bits, ibv_wc_read_completion_ts,
// ibv_wc_read_completion_wallclock_ns, ibv_wc_read_cvlan, ibv_wc_read_flow_tag,
// ibv_wc_read_tm_info.
func (cq CQEx) Poll(wc *WCEx, entries int, fields, detours uint32) (int, error) {
	return polled(C.gf1_go_poll_ex(address(cq.p), (*C.struct_gf1_wc_ex)(unsafe.Pointer(wc)), C.int(entries),
		C.uint32_t(fields), C.uint32_t(detours)))
}

// Spin is Poll, repeated up to polls times until there is a completion.
//
// Implements: ibv_start_poll, ibv_next_poll, ibv_end_poll.
func (cq CQEx) Spin(wc *WCEx, entries int, fields, detours uint32, polls int) (int, error) {
	return polled(C.gf1_go_spin_ex(address(cq.p), (*C.struct_gf1_wc_ex)(unsafe.Pointer(wc)), C.int(entries),
		C.uint32_t(fields), C.uint32_t(detours), C.int(polls)))
}

// Start begins a poll and stands at the first completion. Unless RC is 0, no
// poll is open.
//
// Implements: ibv_start_poll.
func (cq CQEx) Start(detours uint32) Current {
	r := C.gf1_go_start_poll(address(cq.p), C.uint32_t(detours))
	return *(*Current)(unsafe.Pointer(&r))
}

// Next goes to the next completion. Unless RC is 0, the poll has been ended.
//
// Implements: ibv_next_poll.
func (cq CQEx) Next(detours uint32) Current {
	r := C.gf1_go_next_poll(address(cq.p), C.uint32_t(detours))
	return *(*Current)(unsafe.Pointer(&r))
}

// End ends a poll that is open.
//
// Implements: ibv_end_poll.
func (cq CQEx) End() { C.gf1_go_end_poll(address(cq.p)) }

// Read reads a field of the completion that the poll stands at.
//
// Implements: ibv_wc_read_opcode, ibv_wc_read_vendor_err, ibv_wc_read_byte_len,
// ibv_wc_read_imm_data, ibv_wc_read_invalidated_rkey, ibv_wc_read_qp_num,
// ibv_wc_read_src_qp, ibv_wc_read_wc_flags, ibv_wc_read_slid, ibv_wc_read_sl,
// ibv_wc_read_dlid_path_bits, ibv_wc_read_completion_ts,
// ibv_wc_read_completion_wallclock_ns, ibv_wc_read_cvlan, ibv_wc_read_flow_tag.
func (cq CQEx) Read(field WCField) uint64 {
	return uint64(C.gf1_go_wc_read(address(cq.p), C.int(field)))
}

// ReadTMInfo reads the tag of the completion that the poll stands at.
//
// Implements: ibv_wc_read_tm_info.
func (cq CQEx) ReadTMInfo() TMInfo {
	r := C.gf1_go_wc_read_tm_info(address(cq.p))
	return *(*TMInfo)(unsafe.Pointer(&r))
}

// PostSend builds the first n requests of a chained array in C memory. All are
// posted or none, unless detours has ClassicSGEList.
//
// Implements: ibv_wr_start, ibv_wr_complete, ibv_wr_abort, ibv_wr_send,
// ibv_wr_send_imm, ibv_wr_send_inv, ibv_wr_send_tso, ibv_wr_rdma_write,
// ibv_wr_rdma_write_imm, ibv_wr_rdma_read, ibv_wr_atomic_cmp_swp,
// ibv_wr_atomic_fetch_add, ibv_wr_atomic_write, ibv_wr_flush, ibv_wr_bind_mw,
// ibv_wr_local_inv, ibv_wr_set_ud_addr, ibv_wr_set_xrc_srqn, ibv_wr_set_sge,
// ibv_wr_set_sge_list, ibv_wr_set_inline_data, ibv_wr_set_inline_data_list.
func (qp QPEx) PostSend(wr *SendWR, n int, detours uint32) Posted {
	r := C.gf1_go_post_send_ex(address(qp.p), address(unsafe.Pointer(wr)), C.int(n), C.uint32_t(detours))
	return *(*Posted)(unsafe.Pointer(&r))
}

// Abort builds requests and takes them back.
//
// Implements: ibv_wr_start, ibv_wr_abort.
func (qp QPEx) Abort(wr *SendWR, n int, detours uint32) error {
	return errno(C.gf1_abort_send_ex(qp.c(), (*C.struct_gf1_send_wr)(unsafe.Pointer(wr)), C.int(n), C.uint32_t(detours)))
}

// PostRecv posts the first n requests of a chained array in C memory.
//
// Implements: ibv_post_wq_recv.
func (wq WQ) PostRecv(wr *RecvWR, n int) Posted {
	r := C.gf1_go_post_wq_recv(address(wq.p), address(unsafe.Pointer(wr)), C.int(n))
	return *(*Posted)(unsafe.Pointer(&r))
}
