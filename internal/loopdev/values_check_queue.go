//go:build linux && cgo

package loopdev

// #include "gf1l_values.h"
import "C"

import "github.com/gofabric/gofabric/internal/cverbs"

// As values_check.go, for extended queues.
var (
	_ [cverbs.IBV_WR_FLUSH]byte                                  = [C.WR_FLUSH]byte{}
	_ [cverbs.IBV_WR_ATOMIC_WRITE]byte                           = [C.WR_ATOMIC_WRITE]byte{}
	_ [cverbs.IBV_WC_FLUSH]byte                                  = [C.WC_FLUSH]byte{}
	_ [cverbs.IBV_WC_ATOMIC_WRITE]byte                           = [C.WC_ATOMIC_WRITE]byte{}
	_ [cverbs.IBV_QPT_XRC_SEND]byte                              = [C.QPT_XRC_SEND]byte{}
	_ [cverbs.IBV_QPT_XRC_RECV]byte                              = [C.QPT_XRC_RECV]byte{}
	_ [cverbs.IBV_QP_EX_WITH_RDMA_WRITE]byte                     = [C.EX_RDMA_WRITE]byte{}
	_ [cverbs.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM]byte            = [C.EX_RDMA_WRITE_WITH_IMM]byte{}
	_ [cverbs.IBV_QP_EX_WITH_SEND]byte                           = [C.EX_SEND]byte{}
	_ [cverbs.IBV_QP_EX_WITH_SEND_WITH_IMM]byte                  = [C.EX_SEND_WITH_IMM]byte{}
	_ [cverbs.IBV_QP_EX_WITH_RDMA_READ]byte                      = [C.EX_RDMA_READ]byte{}
	_ [cverbs.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP]byte             = [C.EX_ATOMIC_CMP_AND_SWP]byte{}
	_ [cverbs.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD]byte           = [C.EX_ATOMIC_FETCH_AND_ADD]byte{}
	_ [cverbs.IBV_QP_EX_WITH_LOCAL_INV]byte                      = [C.EX_LOCAL_INV]byte{}
	_ [cverbs.IBV_QP_EX_WITH_BIND_MW]byte                        = [C.EX_BIND_MW]byte{}
	_ [cverbs.IBV_QP_EX_WITH_SEND_WITH_INV]byte                  = [C.EX_SEND_WITH_INV]byte{}
	_ [cverbs.IBV_QP_EX_WITH_FLUSH]byte                          = [C.EX_FLUSH]byte{}
	_ [cverbs.IBV_QP_EX_WITH_ATOMIC_WRITE]byte                   = [C.EX_ATOMIC_WRITE]byte{}
	_ [cverbs.IBV_QP_INIT_ATTR_PD]byte                           = [C.QP_INIT_PD]byte{}
	_ [cverbs.IBV_QP_INIT_ATTR_XRCD]byte                         = [C.QP_INIT_XRCD]byte{}
	_ [cverbs.IBV_QP_INIT_ATTR_CREATE_FLAGS]byte                 = [C.QP_INIT_CREATE_FLAGS]byte{}
	_ [cverbs.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS]byte               = [C.QP_INIT_SEND_OPS_FLAGS]byte{}
	_ [cverbs.IBV_QP_OPEN_ATTR_NUM]byte                          = [C.QP_OPEN_NUM]byte{}
	_ [cverbs.IBV_QP_OPEN_ATTR_XRCD]byte                         = [C.QP_OPEN_XRCD]byte{}
	_ [cverbs.IBV_QP_OPEN_ATTR_TYPE]byte                         = [C.QP_OPEN_TYPE]byte{}
	_ [cverbs.IBV_SRQT_BASIC]byte                                = [C.SRQT_BASIC]byte{}
	_ [cverbs.IBV_SRQT_XRC]byte                                  = [C.SRQT_XRC]byte{}
	_ [cverbs.IBV_SRQ_INIT_ATTR_TYPE]byte                        = [C.SRQ_INIT_TYPE]byte{}
	_ [cverbs.IBV_SRQ_INIT_ATTR_PD]byte                          = [C.SRQ_INIT_PD]byte{}
	_ [cverbs.IBV_SRQ_INIT_ATTR_XRCD]byte                        = [C.SRQ_INIT_XRCD]byte{}
	_ [cverbs.IBV_SRQ_INIT_ATTR_CQ]byte                          = [C.SRQ_INIT_CQ]byte{}
	_ [cverbs.IBV_XRCD_INIT_ATTR_FD]byte                         = [C.XRCD_INIT_FD]byte{}
	_ [cverbs.IBV_XRCD_INIT_ATTR_OFLAGS]byte                     = [C.XRCD_INIT_OFLAGS]byte{}
	_ [cverbs.IBV_CQ_INIT_ATTR_MASK_FLAGS]byte                   = [C.CQ_INIT_FLAGS]byte{}
	_ [cverbs.IBV_CQ_INIT_ATTR_MASK_PD]byte                      = [C.CQ_INIT_PD]byte{}
	_ [cverbs.IBV_CREATE_CQ_ATTR_SINGLE_THREADED]byte            = [C.CQ_SINGLE_THREADED]byte{}
	_ [cverbs.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN]byte             = [C.CQ_IGNORE_OVERRUN]byte{}
	_ [cverbs.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP]byte           = [C.WC_EX_TS]byte{}
	_ [cverbs.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK]byte = [C.WC_EX_WALLCLOCK]byte{}
	_ [cverbs.IBV_FLUSH_GLOBAL]byte                              = [C.FLUSH_GLOBAL]byte{}
	_ [cverbs.IBV_FLUSH_PERSISTENT]byte                          = [C.FLUSH_PERSISTENT]byte{}
	_ [cverbs.IBV_FLUSH_RANGE]byte                               = [C.FLUSH_RANGE]byte{}
	_ [cverbs.IBV_FLUSH_MR]byte                                  = [C.FLUSH_MR]byte{}
	_ [cverbs.IBV_ACCESS_FLUSH_GLOBAL]byte                       = [C.ACCESS_FLUSH_GLOBAL]byte{}
	_ [cverbs.IBV_ACCESS_FLUSH_PERSISTENT]byte                   = [C.ACCESS_FLUSH_PERSISTENT]byte{}
)
