package verbs

import (
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// QPState is a state of a queue pair (enum ibv_qp_state).
type QPState int32

// States of a queue pair.
const (
	StateReset QPState = cverbs.IBV_QPS_RESET
	StateInit  QPState = cverbs.IBV_QPS_INIT // receives may be posted
	StateRTR   QPState = cverbs.IBV_QPS_RTR  // receives
	StateRTS   QPState = cverbs.IBV_QPS_RTS  // receives and sends
	StateSQD   QPState = cverbs.IBV_QPS_SQD  // sends no more, for a while
	StateSQE   QPState = cverbs.IBV_QPS_SQE  // a send failed; UC and UD only
	StateErr   QPState = cverbs.IBV_QPS_ERR  // flushes everything
)

// String names the state as the specification does.
func (s QPState) String() string {
	names := []string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("state %d", int32(s))
	}
	return names[s]
}

// AttrMask names attributes of a queue pair (enum ibv_qp_attr_mask).
type AttrMask uint32

// Attributes of a queue pair.
const (
	AttrState            AttrMask = cverbs.IBV_QP_STATE
	AttrCurState         AttrMask = cverbs.IBV_QP_CUR_STATE
	AttrEnSQDAsyncNotify AttrMask = cverbs.IBV_QP_EN_SQD_ASYNC_NOTIFY
	AttrAccess           AttrMask = cverbs.IBV_QP_ACCESS_FLAGS
	AttrPKeyIndex        AttrMask = cverbs.IBV_QP_PKEY_INDEX
	AttrPort             AttrMask = cverbs.IBV_QP_PORT
	AttrQKey             AttrMask = cverbs.IBV_QP_QKEY
	AttrAV               AttrMask = cverbs.IBV_QP_AV
	AttrPathMTU          AttrMask = cverbs.IBV_QP_PATH_MTU
	AttrTimeout          AttrMask = cverbs.IBV_QP_TIMEOUT
	AttrRetryCount       AttrMask = cverbs.IBV_QP_RETRY_CNT
	AttrRNRRetry         AttrMask = cverbs.IBV_QP_RNR_RETRY
	AttrRQPSN            AttrMask = cverbs.IBV_QP_RQ_PSN
	AttrMaxReads         AttrMask = cverbs.IBV_QP_MAX_QP_RD_ATOMIC
	AttrAltPath          AttrMask = cverbs.IBV_QP_ALT_PATH
	AttrMinRNRTimer      AttrMask = cverbs.IBV_QP_MIN_RNR_TIMER
	AttrSQPSN            AttrMask = cverbs.IBV_QP_SQ_PSN
	AttrMaxDestReads     AttrMask = cverbs.IBV_QP_MAX_DEST_RD_ATOMIC
	AttrPathMigState     AttrMask = cverbs.IBV_QP_PATH_MIG_STATE
	AttrCap              AttrMask = cverbs.IBV_QP_CAP
	AttrDestQPN          AttrMask = cverbs.IBV_QP_DEST_QPN
	AttrRateLimit        AttrMask = cverbs.IBV_QP_RATE_LIMIT
)

var attrNames = []struct {
	bit  AttrMask
	name string
}{
	{AttrState, "state"}, {AttrCurState, "current state"}, {AttrEnSQDAsyncNotify, "SQD notification"},
	{AttrAccess, "access"}, {AttrPKeyIndex, "P_Key index"}, {AttrPort, "port"}, {AttrQKey, "Q_Key"},
	{AttrAV, "address vector"}, {AttrPathMTU, "path MTU"}, {AttrTimeout, "timeout"},
	{AttrRetryCount, "retry count"}, {AttrRNRRetry, "RNR retry count"}, {AttrRQPSN, "receive PSN"},
	{AttrMaxReads, "initiator depth"}, {AttrAltPath, "alternate path"}, {AttrMinRNRTimer, "minimum RNR timer"},
	{AttrSQPSN, "send PSN"}, {AttrMaxDestReads, "responder resources"}, {AttrPathMigState, "path migration state"},
	{AttrCap, "capacities"}, {AttrDestQPN, "destination QPN"},
	{AttrRateLimit, "rate limit"},
}

// String lists the attributes by name.
func (m AttrMask) String() string {
	var names []string
	for _, a := range attrNames {
		if m&a.bit != 0 {
			names = append(names, a.name)
			m &^= a.bit
		}
	}
	if m != 0 {
		names = append(names, fmt.Sprintf("unknown bits 0x%x", uint32(m)))
	}
	return strings.Join(names, ", ")
}
