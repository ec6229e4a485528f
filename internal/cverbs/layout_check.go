//go:build linux && cgo

package cverbs

// #include "gf1_abi.h"
// #include "gf1_data.h"
//
// enum {
//	OFF_SEND_REMOTE = offsetof(struct gf1_send_wr, wr.rdma.remote_addr),
//	OFF_SEND_RKEY = offsetof(struct gf1_send_wr, wr.rdma.rkey),
//	OFF_SEND_IMM = offsetof(struct gf1_send_wr, imm_data),
//	OFF_SEND_CMP = offsetof(struct gf1_send_wr, wr.atomic.compare_add) - OFF_SEND_REMOTE,
//	OFF_SEND_SWAP = offsetof(struct gf1_send_wr, wr.atomic.swap) - OFF_SEND_REMOTE,
//	OFF_SEND_AKEY = offsetof(struct gf1_send_wr, wr.atomic.rkey) - OFF_SEND_REMOTE,
//	OFF_SEND_UDQPN = offsetof(struct gf1_send_wr, wr.ud.remote_qpn) - OFF_SEND_REMOTE,
//	OFF_SEND_UDQKEY = offsetof(struct gf1_send_wr, wr.ud.remote_qkey) - OFF_SEND_REMOTE,
//	SIZE_SEND_UNION = sizeof(((struct gf1_send_wr *)0)->wr),
//	OFF_RECV_SGE = offsetof(struct gf1_recv_wr, num_sge),
//	OFF_WC_QPN = offsetof(struct gf1_wc, qp_num),
//	OFF_WC_DLID = offsetof(struct gf1_wc, dlid_path_bits),
//	OFF_QUEUE_HEAD = offsetof(struct gf1_queue, head),
//	OFF_QUEUE_COMPLETED = offsetof(struct gf1_queue, completed),
//	OFF_QUEUE_NEXT = offsetof(struct gf1_queue, next),
//	OFF_SRQ_LIMIT = offsetof(struct gf1_srq_attr, srq_limit),
//	OFF_DEV_PORTS = offsetof(struct gf1_device_attr, phys_port_cnt),
//	OFF_DEV_QP = offsetof(struct gf1_device_attr, max_qp),
//	OFF_PORT_LINK = offsetof(struct gf1_port_attr, link_layer),
//	OFF_AH_DLID = offsetof(struct gf1_ah_attr, dlid),
//	OFF_AH_PORT = offsetof(struct gf1_ah_attr, port_num),
//	OFF_ATTR_CAP = offsetof(struct gf1_qp_attr, cap),
//	OFF_ATTR_AH = offsetof(struct gf1_qp_attr, ah_attr),
//	OFF_ATTR_ALT = offsetof(struct gf1_qp_attr, alt_ah_attr),
//	OFF_ATTR_PKEY = offsetof(struct gf1_qp_attr, pkey_index),
//	OFF_ATTR_RATE = offsetof(struct gf1_qp_attr, rate_limit),
// };
import "C"

import "unsafe"

// Each line compiles only if the Go mirror and the C declaration agree.
var (
	_ [unsafe.Sizeof(SGE{})]byte        = [C.sizeof_struct_gf1_sge]byte{}
	_ [unsafe.Sizeof(SendWR{})]byte     = [C.sizeof_struct_gf1_send_wr]byte{}
	_ [unsafe.Sizeof(RecvWR{})]byte     = [C.sizeof_struct_gf1_recv_wr]byte{}
	_ [unsafe.Sizeof(WC{})]byte         = [C.sizeof_struct_gf1_wc]byte{}
	_ [unsafe.Sizeof(Queue{})]byte      = [C.sizeof_struct_gf1_queue]byte{}
	_ [unsafe.Sizeof(Posted{})]byte     = [C.sizeof_struct_gf1_posted]byte{}
	_ [unsafe.Sizeof(DeviceAttr{})]byte = [C.sizeof_struct_gf1_device_attr]byte{}
	_ [unsafe.Sizeof(GIDEntry{})]byte   = [C.sizeof_struct_gf1_gid_entry]byte{}
	_ [unsafe.Sizeof(PortAttr{})]byte   = [C.sizeof_struct_gf1_port_attr]byte{}
	_ [unsafe.Sizeof(SRQAttr{})]byte    = [C.sizeof_struct_gf1_srq_attr]byte{}
	_ [unsafe.Sizeof(GRH{})]byte        = [C.sizeof_struct_gf1_grh]byte{}
	_ [unsafe.Sizeof(QPCap{})]byte      = [C.sizeof_struct_gf1_qp_cap]byte{}
	_ [unsafe.Sizeof(AHAttr{})]byte     = [C.sizeof_struct_gf1_ah_attr]byte{}
	_ [unsafe.Sizeof(QPAttr{})]byte     = [C.sizeof_struct_gf1_qp_attr]byte{}

	_ [unsafe.Offsetof(SendWR{}.RemoteAddr)]byte      = [C.OFF_SEND_REMOTE]byte{}
	_ [unsafe.Offsetof(SendWR{}.RKey)]byte            = [C.OFF_SEND_RKEY]byte{}
	_ [unsafe.Sizeof(atomicWR{})]byte                 = [C.SIZE_SEND_UNION]byte{}
	_ [unsafe.Sizeof(udWR{})]byte                     = [C.SIZE_SEND_UNION]byte{}
	_ [unsafe.Offsetof(atomicWR{}.compareAdd)]byte    = [C.OFF_SEND_CMP]byte{}
	_ [unsafe.Offsetof(atomicWR{}.swap)]byte          = [C.OFF_SEND_SWAP]byte{}
	_ [unsafe.Offsetof(atomicWR{}.rkey)]byte          = [C.OFF_SEND_AKEY]byte{}
	_ [unsafe.Offsetof(udWR{}.remoteQPN)]byte         = [C.OFF_SEND_UDQPN]byte{}
	_ [unsafe.Offsetof(udWR{}.remoteQKey)]byte        = [C.OFF_SEND_UDQKEY]byte{}
	_ [unsafe.Offsetof(SendWR{}.Imm)]byte             = [C.OFF_SEND_IMM]byte{}
	_ [unsafe.Offsetof(RecvWR{}.NumSGE)]byte          = [C.OFF_RECV_SGE]byte{}
	_ [unsafe.Offsetof(WC{}.QPNum)]byte               = [C.OFF_WC_QPN]byte{}
	_ [unsafe.Offsetof(WC{}.DLIDPathBits)]byte        = [C.OFF_WC_DLID]byte{}
	_ [unsafe.Offsetof(Queue{}.Head)]byte             = [C.OFF_QUEUE_HEAD]byte{}
	_ [unsafe.Offsetof(Queue{}.Completed)]byte        = [C.OFF_QUEUE_COMPLETED]byte{}
	_ [unsafe.Offsetof(Queue{}.Next)]byte             = [C.OFF_QUEUE_NEXT]byte{}
	_ [unsafe.Offsetof(SRQAttr{}.Limit)]byte          = [C.OFF_SRQ_LIMIT]byte{}
	_ [unsafe.Offsetof(DeviceAttr{}.PhysPortCnt)]byte = [C.OFF_DEV_PORTS]byte{}
	_ [unsafe.Offsetof(DeviceAttr{}.MaxQP)]byte       = [C.OFF_DEV_QP]byte{}
	_ [unsafe.Offsetof(PortAttr{}.LinkLayer)]byte     = [C.OFF_PORT_LINK]byte{}
	_ [unsafe.Offsetof(AHAttr{}.DLID)]byte            = [C.OFF_AH_DLID]byte{}
	_ [unsafe.Offsetof(AHAttr{}.PortNum)]byte         = [C.OFF_AH_PORT]byte{}
	_ [unsafe.Offsetof(QPAttr{}.Cap)]byte             = [C.OFF_ATTR_CAP]byte{}
	_ [unsafe.Offsetof(QPAttr{}.AH)]byte              = [C.OFF_ATTR_AH]byte{}
	_ [unsafe.Offsetof(QPAttr{}.AltAH)]byte           = [C.OFF_ATTR_ALT]byte{}
	_ [unsafe.Offsetof(QPAttr{}.PKeyIndex)]byte       = [C.OFF_ATTR_PKEY]byte{}
	_ [unsafe.Offsetof(QPAttr{}.RateLimit)]byte       = [C.OFF_ATTR_RATE]byte{}
)
