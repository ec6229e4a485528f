//go:build linux && cgo

package cverbs

// #include "gf1_data_ex.h"
//
// enum {
//	OFF_WCEX_TS = offsetof(struct gf1_wc_ex, completion_ts),
//	OFF_WCEX_CVLAN = offsetof(struct gf1_wc_ex, cvlan),
//	OFF_SEND_SRQN = offsetof(struct gf1_send_wr, remote_srqn),
//	OFF_SEND_TSO = offsetof(struct gf1_send_wr, tso),
//	OFF_FLOW_FLAGS = offsetof(struct gf1_flow_attr, flags),
// };
import "C"

import "unsafe"

// Each line compiles only if the Go mirror and the C declaration agree.
var (
	_ [unsafe.Sizeof(WCEx{})]byte      = [C.sizeof_struct_gf1_wc_ex]byte{}
	_ [unsafe.Sizeof(Current{})]byte   = [C.sizeof_struct_gf1_current]byte{}
	_ [unsafe.Sizeof(TMInfo{})]byte    = [C.sizeof_struct_gf1_wc_tm_info]byte{}
	_ [unsafe.Sizeof(WQAttr{})]byte    = [C.sizeof_struct_gf1_wq_attr]byte{}
	_ [unsafe.Sizeof(ECE{})]byte       = [C.sizeof_struct_gf1_ece]byte{}
	_ [unsafe.Sizeof(RateLimit{})]byte = [C.sizeof_struct_gf1_qp_rate_limit_attr]byte{}
	_ [FlowAttrLen]byte                = [C.sizeof_struct_gf1_flow_attr]byte{}

	_ [unsafe.Sizeof(WC{}) + unsafe.Offsetof(WCMore{}.CompletionTS)]byte = [C.OFF_WCEX_TS]byte{}
	_ [unsafe.Sizeof(WC{}) + unsafe.Offsetof(WCMore{}.CVLAN)]byte        = [C.OFF_WCEX_CVLAN]byte{}
	_ [unsafe.Offsetof(SendWR{}.RemoteSRQN)]byte                         = [C.OFF_SEND_SRQN]byte{}
	_ [unsafe.Offsetof(SendWR{}.Bind)]byte                               = [C.OFF_SEND_TSO]byte{}
	_ [unsafe.Offsetof(FlowAttr{}.Flags)]byte                            = [C.OFF_FLOW_FLAGS]byte{}

	_ [NeverNextPoll]byte    = [C.GF1_NEVER_NEXT_POLL]byte{}
	_ [ClassicSGEList]byte   = [C.GF1_CLASSIC_SGE_LIST]byte{}
	_ [OneInlinePiece]byte   = [C.GF1_ONE_INLINE_PIECE]byte{}
	_ [FieldWallclockNS]byte = [C.GF1_WC_WALLCLOCK_NS]byte{}
	_ [IBV_WR_FLUSH]byte     = [C.GF1_WR_FLUSH]byte{}
)
