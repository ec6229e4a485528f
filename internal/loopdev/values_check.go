//go:build linux && cgo

package loopdev

// #include "gf1l_values.h"
import "C"

import "github.com/gofabric/gofabric/internal/cverbs"

// Each line compiles only if the C value is the one that package cverbs has
// proven.
var (
	_ [cverbs.IBV_WR_RDMA_WRITE]byte               = [C.WR_RDMA_WRITE]byte{}
	_ [cverbs.IBV_WR_RDMA_WRITE_WITH_IMM]byte      = [C.WR_RDMA_WRITE_WITH_IMM]byte{}
	_ [cverbs.IBV_WR_SEND]byte                     = [C.WR_SEND]byte{}
	_ [cverbs.IBV_WR_SEND_WITH_IMM]byte            = [C.WR_SEND_WITH_IMM]byte{}
	_ [cverbs.IBV_WR_RDMA_READ]byte                = [C.WR_RDMA_READ]byte{}
	_ [cverbs.IBV_WR_ATOMIC_CMP_AND_SWP]byte       = [C.WR_ATOMIC_CMP_AND_SWP]byte{}
	_ [cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD]byte     = [C.WR_ATOMIC_FETCH_AND_ADD]byte{}
	_ [cverbs.IBV_SEND_FENCE]byte                  = [C.SEND_FENCE]byte{}
	_ [cverbs.IBV_SEND_SIGNALED]byte               = [C.SEND_SIGNALED]byte{}
	_ [cverbs.IBV_SEND_SOLICITED]byte              = [C.SEND_SOLICITED]byte{}
	_ [cverbs.IBV_SEND_INLINE]byte                 = [C.SEND_INLINE]byte{}
	_ [cverbs.IBV_WC_SEND]byte                     = [C.WC_SEND]byte{}
	_ [cverbs.IBV_WC_RDMA_WRITE]byte               = [C.WC_RDMA_WRITE]byte{}
	_ [cverbs.IBV_WC_RDMA_READ]byte                = [C.WC_RDMA_READ]byte{}
	_ [cverbs.IBV_WC_COMP_SWAP]byte                = [C.WC_COMP_SWAP]byte{}
	_ [cverbs.IBV_WC_FETCH_ADD]byte                = [C.WC_FETCH_ADD]byte{}
	_ [cverbs.IBV_WC_RECV]byte                     = [C.WC_RECV]byte{}
	_ [cverbs.IBV_WC_RECV_RDMA_WITH_IMM]byte       = [C.WC_RECV_RDMA_WITH_IMM]byte{}
	_ [cverbs.IBV_WC_GRH]byte                      = [C.WC_GRH]byte{}
	_ [cverbs.IBV_WC_WITH_IMM]byte                 = [C.WC_WITH_IMM]byte{}
	_ [cverbs.IBV_WC_SUCCESS]byte                  = [C.WC_SUCCESS]byte{}
	_ [cverbs.IBV_WC_LOC_LEN_ERR]byte              = [C.WC_LOC_LEN_ERR]byte{}
	_ [cverbs.IBV_WC_LOC_QP_OP_ERR]byte            = [C.WC_LOC_QP_OP_ERR]byte{}
	_ [cverbs.IBV_WC_LOC_PROT_ERR]byte             = [C.WC_LOC_PROT_ERR]byte{}
	_ [cverbs.IBV_WC_WR_FLUSH_ERR]byte             = [C.WC_WR_FLUSH_ERR]byte{}
	_ [cverbs.IBV_WC_REM_INV_REQ_ERR]byte          = [C.WC_REM_INV_REQ_ERR]byte{}
	_ [cverbs.IBV_WC_REM_ACCESS_ERR]byte           = [C.WC_REM_ACCESS_ERR]byte{}
	_ [cverbs.IBV_WC_REM_OP_ERR]byte               = [C.WC_REM_OP_ERR]byte{}
	_ [cverbs.IBV_WC_RETRY_EXC_ERR]byte            = [C.WC_RETRY_EXC_ERR]byte{}
	_ [cverbs.IBV_WC_RNR_RETRY_EXC_ERR]byte        = [C.WC_RNR_RETRY_EXC_ERR]byte{}
	_ [cverbs.IBV_QPT_RC]byte                      = [C.QPT_RC]byte{}
	_ [cverbs.IBV_QPT_UC]byte                      = [C.QPT_UC]byte{}
	_ [cverbs.IBV_QPT_UD]byte                      = [C.QPT_UD]byte{}
	_ [cverbs.IBV_QPS_RESET]byte                   = [C.QPS_RESET]byte{}
	_ [cverbs.IBV_QPS_INIT]byte                    = [C.QPS_INIT]byte{}
	_ [cverbs.IBV_QPS_RTR]byte                     = [C.QPS_RTR]byte{}
	_ [cverbs.IBV_QPS_RTS]byte                     = [C.QPS_RTS]byte{}
	_ [cverbs.IBV_QPS_SQD]byte                     = [C.QPS_SQD]byte{}
	_ [cverbs.IBV_QPS_SQE]byte                     = [C.QPS_SQE]byte{}
	_ [cverbs.IBV_QPS_ERR]byte                     = [C.QPS_ERR]byte{}
	_ [cverbs.IBV_QP_STATE]byte                    = [C.QP_STATE]byte{}
	_ [cverbs.IBV_QP_CUR_STATE]byte                = [C.QP_CUR_STATE]byte{}
	_ [cverbs.IBV_QP_EN_SQD_ASYNC_NOTIFY]byte      = [C.QP_EN_SQD_ASYNC_NOTIFY]byte{}
	_ [cverbs.IBV_QP_ACCESS_FLAGS]byte             = [C.QP_ACCESS_FLAGS]byte{}
	_ [cverbs.IBV_QP_PKEY_INDEX]byte               = [C.QP_PKEY_INDEX]byte{}
	_ [cverbs.IBV_QP_PORT]byte                     = [C.QP_PORT]byte{}
	_ [cverbs.IBV_QP_QKEY]byte                     = [C.QP_QKEY]byte{}
	_ [cverbs.IBV_QP_AV]byte                       = [C.QP_AV]byte{}
	_ [cverbs.IBV_QP_PATH_MTU]byte                 = [C.QP_PATH_MTU]byte{}
	_ [cverbs.IBV_QP_TIMEOUT]byte                  = [C.QP_TIMEOUT]byte{}
	_ [cverbs.IBV_QP_RETRY_CNT]byte                = [C.QP_RETRY_CNT]byte{}
	_ [cverbs.IBV_QP_RNR_RETRY]byte                = [C.QP_RNR_RETRY]byte{}
	_ [cverbs.IBV_QP_RQ_PSN]byte                   = [C.QP_RQ_PSN]byte{}
	_ [cverbs.IBV_QP_MAX_QP_RD_ATOMIC]byte         = [C.QP_MAX_QP_RD_ATOMIC]byte{}
	_ [cverbs.IBV_QP_ALT_PATH]byte                 = [C.QP_ALT_PATH]byte{}
	_ [cverbs.IBV_QP_MIN_RNR_TIMER]byte            = [C.QP_MIN_RNR_TIMER]byte{}
	_ [cverbs.IBV_QP_SQ_PSN]byte                   = [C.QP_SQ_PSN]byte{}
	_ [cverbs.IBV_QP_MAX_DEST_RD_ATOMIC]byte       = [C.QP_MAX_DEST_RD_ATOMIC]byte{}
	_ [cverbs.IBV_QP_PATH_MIG_STATE]byte           = [C.QP_PATH_MIG_STATE]byte{}
	_ [cverbs.IBV_QP_CAP]byte                      = [C.QP_CAP]byte{}
	_ [cverbs.IBV_QP_DEST_QPN]byte                 = [C.QP_DEST_QPN]byte{}
	_ [cverbs.IBV_ACCESS_LOCAL_WRITE]byte          = [C.ACCESS_LOCAL_WRITE]byte{}
	_ [cverbs.IBV_ACCESS_REMOTE_WRITE]byte         = [C.ACCESS_REMOTE_WRITE]byte{}
	_ [cverbs.IBV_ACCESS_REMOTE_READ]byte          = [C.ACCESS_REMOTE_READ]byte{}
	_ [cverbs.IBV_ACCESS_REMOTE_ATOMIC]byte        = [C.ACCESS_REMOTE_ATOMIC]byte{}
	_ [cverbs.IBV_SRQ_MAX_WR]byte                  = [C.SRQ_MAX_WR]byte{}
	_ [cverbs.IBV_SRQ_LIMIT]byte                   = [C.SRQ_LIMIT]byte{}
	_ [cverbs.IBV_EVENT_CQ_ERR]byte                = [C.EVENT_CQ_ERR]byte{}
	_ [cverbs.IBV_EVENT_QP_FATAL]byte              = [C.EVENT_QP_FATAL]byte{}
	_ [cverbs.IBV_EVENT_QP_REQ_ERR]byte            = [C.EVENT_QP_REQ_ERR]byte{}
	_ [cverbs.IBV_EVENT_QP_ACCESS_ERR]byte         = [C.EVENT_QP_ACCESS_ERR]byte{}
	_ [cverbs.IBV_EVENT_COMM_EST]byte              = [C.EVENT_COMM_EST]byte{}
	_ [cverbs.IBV_EVENT_SQ_DRAINED]byte            = [C.EVENT_SQ_DRAINED]byte{}
	_ [cverbs.IBV_EVENT_DEVICE_FATAL]byte          = [C.EVENT_DEVICE_FATAL]byte{}
	_ [cverbs.IBV_EVENT_PORT_ACTIVE]byte           = [C.EVENT_PORT_ACTIVE]byte{}
	_ [cverbs.IBV_EVENT_PORT_ERR]byte              = [C.EVENT_PORT_ERR]byte{}
	_ [cverbs.IBV_EVENT_SRQ_LIMIT_REACHED]byte     = [C.EVENT_SRQ_LIMIT_REACHED]byte{}
	_ [cverbs.IBV_EVENT_QP_LAST_WQE_REACHED]byte   = [C.EVENT_QP_LAST_WQE_REACHED]byte{}
	_ [cverbs.IBV_PORT_DOWN]byte                   = [C.PORT_DOWN]byte{}
	_ [cverbs.IBV_PORT_ACTIVE]byte                 = [C.PORT_ACTIVE]byte{}
	_ [cverbs.IBV_MTU_256]byte                     = [C.MTU_256]byte{}
	_ [cverbs.IBV_MTU_4096]byte                    = [C.MTU_4096]byte{}
	_ [cverbs.IBV_ATOMIC_GLOB]byte                 = [C.ATOMIC_GLOB]byte{}
	_ [cverbs.IBV_LINK_LAYER_INFINIBAND]byte       = [C.LINK_INFINIBAND]byte{}
	_ [cverbs.IBV_LINK_LAYER_ETHERNET]byte         = [C.LINK_ETHERNET]byte{}
	_ [cverbs.IBV_DEVICE_BAD_QKEY_CNTR]byte        = [C.DEVICE_BAD_QKEY_CNTR]byte{}
	_ [cverbs.IBV_DEVICE_UD_AV_PORT_ENFORCE]byte   = [C.DEVICE_UD_AV_PORT_ENFORCE]byte{}
	_ [cverbs.IBV_DEVICE_CURR_QP_STATE_MOD]byte    = [C.DEVICE_CURR_QP_STATE_MOD]byte{}
	_ [cverbs.IBV_DEVICE_PORT_ACTIVE_EVENT]byte    = [C.DEVICE_PORT_ACTIVE_EVENT]byte{}
	_ [cverbs.IBV_DEVICE_SYS_IMAGE_GUID]byte       = [C.DEVICE_SYS_IMAGE_GUID]byte{}
	_ [cverbs.IBV_DEVICE_RC_RNR_NAK_GEN]byte       = [C.DEVICE_RC_RNR_NAK_GEN]byte{}
	_ [cverbs.IBV_DEVICE_SRQ_RESIZE]byte           = [C.DEVICE_SRQ_RESIZE]byte{}
	_ [cverbs.IBV_WR_LOCAL_INV]byte                = [C.WR_LOCAL_INV]byte{}
	_ [cverbs.IBV_WR_BIND_MW]byte                  = [C.WR_BIND_MW]byte{}
	_ [cverbs.IBV_WR_SEND_WITH_INV]byte            = [C.WR_SEND_WITH_INV]byte{}
	_ [cverbs.IBV_WC_BIND_MW]byte                  = [C.WC_BIND_MW]byte{}
	_ [cverbs.IBV_WC_LOCAL_INV]byte                = [C.WC_LOCAL_INV]byte{}
	_ [cverbs.IBV_WC_WITH_INV]byte                 = [C.WC_WITH_INV]byte{}
	_ [cverbs.IBV_WC_MW_BIND_ERR]byte              = [C.WC_MW_BIND_ERR]byte{}
	_ [cverbs.IBV_ACCESS_MW_BIND]byte              = [C.ACCESS_MW_BIND]byte{}
	_ [cverbs.IBV_ACCESS_ZERO_BASED]byte           = [C.ACCESS_ZERO_BASED]byte{}
	_ [cverbs.IBV_ACCESS_ON_DEMAND]byte            = [C.ACCESS_ON_DEMAND]byte{}
	_ [cverbs.IBV_REREG_MR_CHANGE_TRANSLATION]byte = [C.REREG_TRANSLATION]byte{}
	_ [cverbs.IBV_REREG_MR_CHANGE_PD]byte          = [C.REREG_PD]byte{}
	_ [cverbs.IBV_REREG_MR_CHANGE_ACCESS]byte      = [C.REREG_ACCESS]byte{}
	_ [cverbs.IBV_MW_TYPE_1]byte                   = [C.MW_TYPE_1]byte{}
	_ [cverbs.IBV_MW_TYPE_2]byte                   = [C.MW_TYPE_2]byte{}
	_ [cverbs.IBV_VALUES_MASK_RAW_CLOCK]byte       = [C.VALUES_RAW_CLOCK]byte{}
	_ [cverbs.IBV_DEVICE_MEM_WINDOW]byte           = [C.DEVICE_MEM_WINDOW]byte{}
	_ [cverbs.IBV_DEVICE_MEM_WINDOW_TYPE_2B]byte   = [C.DEVICE_MEM_WINDOW_TYPE_2B]byte{}
)
