package cverbs

//go:generate go test -run TestCheckedValues -update .

// Values of libibverbs, under its names. values_test.go keeps
// abi/check_values.c in step, which proves them against rdma-core's headers.
const (
	IBV_WR_RDMA_WRITE           = 0
	IBV_WR_RDMA_WRITE_WITH_IMM  = 1
	IBV_WR_SEND                 = 2
	IBV_WR_SEND_WITH_IMM        = 3
	IBV_WR_RDMA_READ            = 4
	IBV_WR_ATOMIC_CMP_AND_SWP   = 5
	IBV_WR_ATOMIC_FETCH_AND_ADD = 6

	IBV_SEND_FENCE     = 1 << 0
	IBV_SEND_SIGNALED  = 1 << 1
	IBV_SEND_SOLICITED = 1 << 2
	IBV_SEND_INLINE    = 1 << 3

	IBV_WC_SEND               = 0
	IBV_WC_RDMA_WRITE         = 1
	IBV_WC_RDMA_READ          = 2
	IBV_WC_COMP_SWAP          = 3
	IBV_WC_FETCH_ADD          = 4
	IBV_WC_RECV               = 128
	IBV_WC_RECV_RDMA_WITH_IMM = 129

	IBV_WC_GRH      = 1 << 0
	IBV_WC_WITH_IMM = 1 << 1

	IBV_WC_SUCCESS            = 0
	IBV_WC_LOC_LEN_ERR        = 1
	IBV_WC_LOC_QP_OP_ERR      = 2
	IBV_WC_LOC_EEC_OP_ERR     = 3
	IBV_WC_LOC_PROT_ERR       = 4
	IBV_WC_WR_FLUSH_ERR       = 5
	IBV_WC_MW_BIND_ERR        = 6
	IBV_WC_BAD_RESP_ERR       = 7
	IBV_WC_LOC_ACCESS_ERR     = 8
	IBV_WC_REM_INV_REQ_ERR    = 9
	IBV_WC_REM_ACCESS_ERR     = 10
	IBV_WC_REM_OP_ERR         = 11
	IBV_WC_RETRY_EXC_ERR      = 12
	IBV_WC_RNR_RETRY_EXC_ERR  = 13
	IBV_WC_LOC_RDD_VIOL_ERR   = 14
	IBV_WC_REM_INV_RD_REQ_ERR = 15
	IBV_WC_REM_ABORT_ERR      = 16
	IBV_WC_INV_EECN_ERR       = 17
	IBV_WC_INV_EEC_STATE_ERR  = 18
	IBV_WC_FATAL_ERR          = 19
	IBV_WC_RESP_TIMEOUT_ERR   = 20
	IBV_WC_GENERAL_ERR        = 21

	IBV_QPT_RC = 2
	IBV_QPT_UC = 3
	IBV_QPT_UD = 4

	IBV_QPS_RESET = 0
	IBV_QPS_INIT  = 1
	IBV_QPS_RTR   = 2
	IBV_QPS_RTS   = 3
	IBV_QPS_SQD   = 4
	IBV_QPS_SQE   = 5
	IBV_QPS_ERR   = 6

	IBV_QP_STATE               = 1 << 0
	IBV_QP_CUR_STATE           = 1 << 1
	IBV_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2
	IBV_QP_ACCESS_FLAGS        = 1 << 3
	IBV_QP_PKEY_INDEX          = 1 << 4
	IBV_QP_PORT                = 1 << 5
	IBV_QP_QKEY                = 1 << 6
	IBV_QP_AV                  = 1 << 7
	IBV_QP_PATH_MTU            = 1 << 8
	IBV_QP_TIMEOUT             = 1 << 9
	IBV_QP_RETRY_CNT           = 1 << 10
	IBV_QP_RNR_RETRY           = 1 << 11
	IBV_QP_RQ_PSN              = 1 << 12
	IBV_QP_MAX_QP_RD_ATOMIC    = 1 << 13
	IBV_QP_ALT_PATH            = 1 << 14
	IBV_QP_MIN_RNR_TIMER       = 1 << 15
	IBV_QP_SQ_PSN              = 1 << 16
	IBV_QP_MAX_DEST_RD_ATOMIC  = 1 << 17
	IBV_QP_PATH_MIG_STATE      = 1 << 18
	IBV_QP_CAP                 = 1 << 19
	IBV_QP_DEST_QPN            = 1 << 20

	IBV_ACCESS_LOCAL_WRITE      = 1 << 0
	IBV_ACCESS_REMOTE_WRITE     = 1 << 1
	IBV_ACCESS_REMOTE_READ      = 1 << 2
	IBV_ACCESS_REMOTE_ATOMIC    = 1 << 3
	IBV_ACCESS_RELAXED_ORDERING = 1 << 20

	IBV_CQ_ATTR_MODERATE = 1 << 0

	IBV_SRQ_MAX_WR = 1 << 0
	IBV_SRQ_LIMIT  = 1 << 1

	IBV_EVENT_CQ_ERR              = 0
	IBV_EVENT_QP_FATAL            = 1
	IBV_EVENT_QP_REQ_ERR          = 2
	IBV_EVENT_QP_ACCESS_ERR       = 3
	IBV_EVENT_COMM_EST            = 4
	IBV_EVENT_SQ_DRAINED          = 5
	IBV_EVENT_PATH_MIG            = 6
	IBV_EVENT_PATH_MIG_ERR        = 7
	IBV_EVENT_DEVICE_FATAL        = 8
	IBV_EVENT_PORT_ACTIVE         = 9
	IBV_EVENT_PORT_ERR            = 10
	IBV_EVENT_LID_CHANGE          = 11
	IBV_EVENT_PKEY_CHANGE         = 12
	IBV_EVENT_SM_CHANGE           = 13
	IBV_EVENT_SRQ_ERR             = 14
	IBV_EVENT_SRQ_LIMIT_REACHED   = 15
	IBV_EVENT_QP_LAST_WQE_REACHED = 16
	IBV_EVENT_CLIENT_REREGISTER   = 17
	IBV_EVENT_GID_CHANGE          = 18
	IBV_EVENT_WQ_FATAL            = 19

	IBV_PORT_DOWN   = 1
	IBV_PORT_ACTIVE = 4

	IBV_MTU_256  = 1
	IBV_MTU_4096 = 5

	IBV_DEVICE_BAD_QKEY_CNTR      = 1 << 2
	IBV_DEVICE_UD_AV_PORT_ENFORCE = 1 << 6
	IBV_DEVICE_CURR_QP_STATE_MOD  = 1 << 7
	IBV_DEVICE_PORT_ACTIVE_EVENT  = 1 << 10
	IBV_DEVICE_SYS_IMAGE_GUID     = 1 << 11
	IBV_DEVICE_RC_RNR_NAK_GEN     = 1 << 12
	IBV_DEVICE_SRQ_RESIZE         = 1 << 13

	IBV_LINK_LAYER_INFINIBAND = 1
	IBV_LINK_LAYER_ETHERNET   = 2

	IBV_ATOMIC_NONE = 0
	IBV_ATOMIC_HCA  = 1
	IBV_ATOMIC_GLOB = 2
)
