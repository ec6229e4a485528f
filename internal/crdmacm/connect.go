//go:build linux && cgo

package crdmacm

// #include <stdlib.h>
// #include "gf1_cma.h"
import "C"

import "unsafe"

// Connect asks the peer for a connection, or for its datagram service; events
// tell what becomes of it.
//
// Implements: rdma_connect.
func (id ID) Connect(p ConnParam) error { return id.offer(&p, false) }

// Accept accepts a peer's request.
//
// Implements: rdma_accept.
func (id ID) Accept(p ConnParam) error { return id.offer(&p, true) }

// offer passes the parameter in C memory, because it points to its data.
func (id ID) offer(p *ConnParam, accept bool) error {
	param := (*C.struct_gf1_cm_conn_param)(C.calloc(1, C.sizeof_struct_gf1_cm_conn_param))
	defer C.free(unsafe.Pointer(param))
	data := C.CBytes(p.PrivateData)
	defer C.free(data)
	param.private_data_len = C.uint8_t(min(len(p.PrivateData), PrivateMost))
	param.responder_resources = C.uint8_t(p.ResponderResources)
	param.initiator_depth = C.uint8_t(p.InitiatorDepth)
	param.flow_control = flag(p.FlowControl)
	param.retry_count = C.uint8_t(p.RetryCount)
	param.rnr_retry_count = C.uint8_t(p.RNRRetryCount)
	param.srq = flag(p.SRQ)
	param.qp_num = C.uint32_t(p.QPNum)
	if accept {
		return errno(C.gf1_cm_accept(load.table, id.c(), param, data))
	}
	return errno(C.gf1_cm_connect(load.table, id.c(), param, data))
}

func flag(set bool) C.uint8_t {
	if set {
		return 1
	}
	return 0
}

// Establish tells the peer that its answer was taken, where the queue pair is
// not the library's.
//
// Implements: rdma_establish.
func (id ID) Establish() error { return errno(C.gf1_cm_establish(load.table, id.c())) }

// Listen begins to take requests.
//
// Implements: rdma_listen.
func (id ID) Listen(backlog int) error {
	return errno(C.gf1_cm_listen(load.table, id.c(), C.int(backlog)))
}

// Reject refuses a request. With ece, it is because of the options offered.
//
// Implements: rdma_reject, rdma_reject_ece.
func (id ID) Reject(data []byte, ece bool) error {
	n := min(len(data), PrivateMost)
	return errno(C.gf1_cm_reject(load.table, id.c(), unsafe.Pointer(unsafe.SliceData(data)), C.uint8_t(n), C.int(flag(ece))))
}

// Notify tells the connection manager of a queue pair's asynchronous event.
//
// Implements: rdma_notify.
func (id ID) Notify(event int32) error {
	return errno(C.gf1_cm_notify(load.table, id.c(), C.int(event)))
}

// Disconnect ends the connection, or answers the peer that ended it.
//
// Implements: rdma_disconnect.
func (id ID) Disconnect() error { return errno(C.gf1_cm_disconnect(load.table, id.c())) }

// Join joins a multicast group; an event with the context tells the end.
//
// Implements: rdma_join_multicast.
func (id ID) Join(addr *Sockaddr, context uint64) error {
	return errno(C.gf1_cm_join(load.table, id.c(), unsafe.Pointer(addr), C.uintptr_t(context)))
}

// JoinEx is Join with a kind of membership, one of RDMA_MC_JOIN_FLAG_*.
//
// Implements: rdma_join_multicast_ex.
func (id ID) JoinEx(addr *Sockaddr, flags uint32, context uint64) error {
	rc := C.gf1_cm_join_ex(load.table, id.c(), unsafe.Pointer(addr), C.uint32_t(flags), C.uintptr_t(context))
	return errno(rc)
}

// Leave leaves a multicast group.
//
// Implements: rdma_leave_multicast.
func (id ID) Leave(addr *Sockaddr) error {
	return errno(C.gf1_cm_leave(load.table, id.c(), unsafe.Pointer(addr)))
}
