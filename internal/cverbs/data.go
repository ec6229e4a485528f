//go:build linux && cgo

package cverbs

// #cgo noescape gf1_go_post_send
// #cgo nocallback gf1_go_post_send
// #cgo noescape gf1_go_post_recv
// #cgo nocallback gf1_go_post_recv
// #cgo noescape gf1_go_post_srq_recv
// #cgo nocallback gf1_go_post_srq_recv
// #cgo noescape gf1_go_post_and_poll
// #cgo nocallback gf1_go_post_and_poll
// #cgo noescape gf1_go_poll
// #cgo nocallback gf1_go_poll
// #cgo noescape gf1_go_spin
// #cgo nocallback gf1_go_spin
// #cgo noescape gf1_go_arm
// #cgo nocallback gf1_go_arm
// #include <stdlib.h>
// #include "gf1_data.h"
//
// // cgo inspects every pointer that it passes to C. What lies in C memory needs
// // no look, so the data path passes it as an integer.
// static struct gf1_posted gf1_go_post_send(uintptr_t qp, uintptr_t wr, int n)
// {
//	return gf1_post_send((struct gf1_qp *)qp, (struct gf1_send_wr *)wr, n);
// }
//
// static struct gf1_posted gf1_go_post_recv(uintptr_t qp, uintptr_t wr, int n)
// {
//	return gf1_post_recv((struct gf1_qp *)qp, (struct gf1_recv_wr *)wr, n);
// }
//
// static struct gf1_posted gf1_go_post_srq_recv(uintptr_t srq, uintptr_t wr, int n)
// {
//	return gf1_post_srq_recv((struct gf1_srq *)srq, (struct gf1_recv_wr *)wr, n);
// }
//
// static struct gf1_posted gf1_go_post_and_poll(uintptr_t qp, uintptr_t wr, int n, uintptr_t cq,
//	struct gf1_wc *wc, int entries)
// {
//	return gf1_post_and_poll((struct gf1_qp *)qp, (struct gf1_send_wr *)wr, n, (struct gf1_cq *)cq, wc, entries);
// }
//
// static int gf1_go_poll(uintptr_t cq, struct gf1_wc *wc, int entries)
// {
//	return gf1_poll((struct gf1_cq *)cq, wc, entries);
// }
//
// static int gf1_go_spin(uintptr_t cq, struct gf1_wc *wc, int entries, int polls)
// {
//	return gf1_spin((struct gf1_cq *)cq, wc, entries, polls);
// }
//
// static int gf1_go_arm(uintptr_t cq, int solicited_only)
// {
//	return gf1_arm((struct gf1_cq *)cq, solicited_only);
// }
import "C"

import (
	"syscall"
	"unsafe"
)

// address is for what lies in C memory.
func address(p unsafe.Pointer) C.uintptr_t { return C.uintptr_t(uintptr(p)) }

// Alloc returns zeroed C memory, or nil when there is none.
func Alloc(size uintptr) unsafe.Pointer { return C.calloc(1, C.size_t(size)) }

// Free gives back what Alloc returned.
func Free(p unsafe.Pointer) { C.free(p) }

// NewQueue enters a queue of the given depth into the table that polling uses.
func NewQueue(depth int) (*Queue, error) {
	q, err := C.gf1_queue_new(C.uint32_t(depth))
	return newQueue(q, err)
}

// NewSharedQueue does the same for a shared receive queue.
func NewSharedQueue(depth int) (*Queue, error) {
	q, err := C.gf1_queue_new_shared(C.uint32_t(depth))
	return newQueue(q, err)
}

// NewPassingQueue enters a record whose completions carry the lower half of what
// was posted, with the record's Base in the upper one.
func NewPassingQueue() (*Queue, error) {
	q, err := C.gf1_queue_new_passing()
	return newQueue(q, err)
}

func newQueue(q *C.struct_gf1_queue, err error) (*Queue, error) {
	if q == nil {
		if err == nil {
			err = syscall.ENOMEM
		}
		return nil, err
	}
	return (*Queue)(unsafe.Pointer(q)), nil
}

// Leave takes the queue out of the table: completions that still come for it
// are dropped.
func (q *Queue) Leave() { C.gf1_queue_leave(q.c()) }

// Renew drops what was posted so far and begins again at sequence number 0.
func (q *Queue) Renew() error { return errno(C.gf1_queue_renew(q.c())) }

// Free frees a queue that has left. Nobody may be polling its CQ.
func (q *Queue) Free() { C.gf1_queue_free(q.c()) }

func (q *Queue) c() *C.struct_gf1_queue { return (*C.struct_gf1_queue)(unsafe.Pointer(q)) }

// PostSend posts the first n requests of a chained array in C memory.
//
// Implements: ibv_post_send.
func (qp QP) PostSend(wr *SendWR, n int) Posted {
	r := C.gf1_go_post_send(address(qp.p), address(unsafe.Pointer(wr)), C.int(n))
	return *(*Posted)(unsafe.Pointer(&r))
}

// PostRecv posts the first n requests of a chained array in C memory.
//
// Implements: ibv_post_recv.
func (qp QP) PostRecv(wr *RecvWR, n int) Posted {
	r := C.gf1_go_post_recv(address(qp.p), address(unsafe.Pointer(wr)), C.int(n))
	return *(*Posted)(unsafe.Pointer(&r))
}

// PostRecv posts the first n requests of a chained array in C memory.
//
// Implements: ibv_post_srq_recv.
func (srq SRQ) PostRecv(wr *RecvWR, n int) Posted {
	r := C.gf1_go_post_srq_recv(address(srq.p), address(unsafe.Pointer(wr)), C.int(n))
	return *(*Posted)(unsafe.Pointer(&r))
}

// PostAndPoll posts as PostSend does and then polls once.
//
// Implements: ibv_post_send, ibv_poll_cq.
func (qp QP) PostAndPoll(wr *SendWR, n int, cq CQ, wc *WC, entries int) Posted {
	r := C.gf1_go_post_and_poll(address(qp.p), address(unsafe.Pointer(wr)), C.int(n),
		address(cq.p), (*C.struct_gf1_wc)(unsafe.Pointer(wc)), C.int(entries))
	return *(*Posted)(unsafe.Pointer(&r))
}

// Poll stores up to entries completions and returns their number.
//
// Implements: ibv_poll_cq.
func (cq CQ) Poll(wc *WC, entries int) (int, error) {
	return polled(C.gf1_go_poll(address(cq.p), (*C.struct_gf1_wc)(unsafe.Pointer(wc)), C.int(entries)))
}

// Spin polls until there is a completion, at most so many times.
//
// Implements: ibv_poll_cq.
func (cq CQ) Spin(wc *WC, entries, polls int) (int, error) {
	return polled(C.gf1_go_spin(address(cq.p), (*C.struct_gf1_wc)(unsafe.Pointer(wc)), C.int(entries), C.int(polls)))
}

func polled(n C.int) (int, error) {
	if n < 0 {
		return 0, syscall.Errno(-n)
	}
	return int(n), nil
}

// Arm asks for an event at the next completion, or the next solicited one.
//
// Implements: ibv_req_notify_cq.
func (cq CQ) Arm(solicitedOnly bool) error {
	only := C.int(0)
	if solicitedOnly {
		only = 1
	}
	return errno(C.gf1_go_arm(address(cq.p), only))
}
