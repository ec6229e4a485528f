/* Values of the verbs interface that the in-process device speaks.
 * values_check.go proves them against package cverbs, which proves its own
 * against rdma-core's headers. */
#ifndef GF1L_VALUES_H
#define GF1L_VALUES_H

enum {
	WR_RDMA_WRITE = 0,
	WR_RDMA_WRITE_WITH_IMM = 1,
	WR_SEND = 2,
	WR_SEND_WITH_IMM = 3,
	WR_RDMA_READ = 4,
	WR_ATOMIC_CMP_AND_SWP = 5,
	WR_ATOMIC_FETCH_AND_ADD = 6,
};

enum {
	SEND_FENCE = 1 << 0,
	SEND_SIGNALED = 1 << 1,
	SEND_SOLICITED = 1 << 2,
	SEND_INLINE = 1 << 3,
};

enum {
	WC_SEND = 0,
	WC_RDMA_WRITE = 1,
	WC_RDMA_READ = 2,
	WC_COMP_SWAP = 3,
	WC_FETCH_ADD = 4,
	WC_RECV = 128,
	WC_RECV_RDMA_WITH_IMM = 129,
};

enum {
	WC_GRH = 1 << 0,
	WC_WITH_IMM = 1 << 1,
};

enum {
	WC_SUCCESS = 0,
	WC_LOC_LEN_ERR = 1,
	WC_LOC_QP_OP_ERR = 2,
	WC_LOC_PROT_ERR = 4,
	WC_WR_FLUSH_ERR = 5,
	WC_REM_INV_REQ_ERR = 9,
	WC_REM_ACCESS_ERR = 10,
	WC_REM_OP_ERR = 11,
	WC_RETRY_EXC_ERR = 12,
	WC_RNR_RETRY_EXC_ERR = 13,
};

enum { QPT_RC = 2, QPT_UC = 3, QPT_UD = 4 };

enum {
	QPS_RESET = 0,
	QPS_INIT = 1,
	QPS_RTR = 2,
	QPS_RTS = 3,
	QPS_SQD = 4,
	QPS_SQE = 5,
	QPS_ERR = 6,
};

enum {
	QP_STATE = 1 << 0,
	QP_CUR_STATE = 1 << 1,
	QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	QP_ACCESS_FLAGS = 1 << 3,
	QP_PKEY_INDEX = 1 << 4,
	QP_PORT = 1 << 5,
	QP_QKEY = 1 << 6,
	QP_AV = 1 << 7,
	QP_PATH_MTU = 1 << 8,
	QP_TIMEOUT = 1 << 9,
	QP_RETRY_CNT = 1 << 10,
	QP_RNR_RETRY = 1 << 11,
	QP_RQ_PSN = 1 << 12,
	QP_MAX_QP_RD_ATOMIC = 1 << 13,
	QP_ALT_PATH = 1 << 14,
	QP_MIN_RNR_TIMER = 1 << 15,
	QP_SQ_PSN = 1 << 16,
	QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	QP_PATH_MIG_STATE = 1 << 18,
	QP_CAP = 1 << 19,
	QP_DEST_QPN = 1 << 20,
};

enum {
	ACCESS_LOCAL_WRITE = 1 << 0,
	ACCESS_REMOTE_WRITE = 1 << 1,
	ACCESS_REMOTE_READ = 1 << 2,
	ACCESS_REMOTE_ATOMIC = 1 << 3,
	ACCESS_OPTIONAL_RANGE = 0x3ff << 20,
};

enum { SRQ_MAX_WR = 1 << 0, SRQ_LIMIT = 1 << 1 };

enum {
	EVENT_CQ_ERR = 0,
	EVENT_QP_FATAL = 1,
	EVENT_QP_REQ_ERR = 2,
	EVENT_QP_ACCESS_ERR = 3,
	EVENT_COMM_EST = 4,
	EVENT_SQ_DRAINED = 5,
	EVENT_DEVICE_FATAL = 8,
	EVENT_PORT_ACTIVE = 9,
	EVENT_PORT_ERR = 10,
	EVENT_SRQ_LIMIT_REACHED = 15,
	EVENT_QP_LAST_WQE_REACHED = 16,
};

enum { PORT_DOWN = 1, PORT_ACTIVE = 4 };
enum { PHYS_DISABLED = 3, PHYS_LINK_UP = 5 };
enum { LINK_INFINIBAND = 1, LINK_ETHERNET = 2 };
enum { MTU_256 = 1, MTU_4096 = 5 };
enum { ATOMIC_GLOB = 2, NODE_CA = 1, TRANSPORT_IB = 0 };

enum {
	DEVICE_BAD_QKEY_CNTR = 1 << 2,
	DEVICE_UD_AV_PORT_ENFORCE = 1 << 6,
	DEVICE_CURR_QP_STATE_MOD = 1 << 7,
	DEVICE_PORT_ACTIVE_EVENT = 1 << 10,
	DEVICE_SYS_IMAGE_GUID = 1 << 11,
	DEVICE_RC_RNR_NAK_GEN = 1 << 12,
	DEVICE_SRQ_RESIZE = 1 << 13,
};

#endif
