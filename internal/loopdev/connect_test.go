//go:build linux && cgo

package loopdev_test

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/stretchr/testify/require"
)

// The GID that the tests address by: RoCE v2 over IPv4.
const gidIndex = 3

// readGID reads an entry of a port's table as discovery does.
func readGID(t testing.TB, device string, port uint8, index int) (gid [16]byte) {
	t.Helper()
	p, ok := cverbs.ProviderOf(device)
	require.True(t, ok)
	text, err := fs.ReadFile(p.Root(), fmt.Sprintf("sys/class/infiniband/%s/ports/%d/gids/%d", device, port, index))
	require.NoError(t, err)
	raw, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), ":", ""))
	require.NoError(t, err)
	require.Equal(t, 16, copy(gid[:], raw))
	return gid
}

func addressOf(t testing.TB, device string, port uint8, index int, ownPort uint8) cverbs.AHAttr {
	a := cverbs.AHAttr{IsGlobal: 1, PortNum: ownPort, SGIDIndex: uint8(index), HopLimit: 64}
	a.DGID = readGID(t, device, port, index)
	return a
}

const (
	maskInit = cverbs.IBV_QP_STATE | cverbs.IBV_QP_PKEY_INDEX | cverbs.IBV_QP_PORT
	maskRTR  = cverbs.IBV_QP_STATE | cverbs.IBV_QP_AV | cverbs.IBV_QP_PATH_MTU | cverbs.IBV_QP_DEST_QPN | cverbs.IBV_QP_RQ_PSN
	maskRTS  = cverbs.IBV_QP_STATE | cverbs.IBV_QP_SQ_PSN
	moreRTR  = cverbs.IBV_QP_MAX_DEST_RD_ATOMIC | cverbs.IBV_QP_MIN_RNR_TIMER
	moreRTS  = cverbs.IBV_QP_TIMEOUT | cverbs.IBV_QP_RETRY_CNT | cverbs.IBV_QP_RNR_RETRY | cverbs.IBV_QP_MAX_QP_RD_ATOMIC
)

func (e *end) initMask() uint32 {
	if e.kind == cverbs.IBV_QPT_UD {
		return maskInit | cverbs.IBV_QP_QKEY
	}
	return maskInit | cverbs.IBV_QP_ACCESS_FLAGS
}

func (e *end) rtrMask() uint32 {
	switch e.kind {
	case cverbs.IBV_QPT_RC:
		return maskRTR | moreRTR
	case cverbs.IBV_QPT_UC:
		return maskRTR
	}
	return cverbs.IBV_QP_STATE
}

func (e *end) rtsMask() uint32 {
	if e.kind == cverbs.IBV_QPT_RC {
		return maskRTS | moreRTS
	}
	return maskRTS
}

const testQKey = 0x11111111

func (e *end) initAttr() *cverbs.QPAttr {
	return &cverbs.QPAttr{State: cverbs.IBV_QPS_INIT, PortNum: e.port, AccessFlags: e.access, QKey: testQKey}
}

func (e *end) rtrAttr(peer *end) *cverbs.QPAttr {
	return &cverbs.QPAttr{State: cverbs.IBV_QPS_RTR, PathMTU: 3, DestQPNum: peer.qp.Num(), RQPSN: psn(peer),
		MaxDestRdAtomic: 1, MinRNRTimer: 1, AH: addressOf(e.t, peer.device, peer.port, gidIndex, e.port)}
}

// psn differs between queue pairs, so that nobody's is right by accident.
func psn(e *end) uint32 { return e.qp.Num()*7919 + uint32(e.device[len(e.device)-1]) }

func (e *end) rtsAttr() *cverbs.QPAttr {
	return &cverbs.QPAttr{State: cverbs.IBV_QPS_RTS, SQPSN: psn(e), Timeout: 8, RetryCnt: 2, RNRRetry: 7, MaxRdAtomic: 1}
}

func (e *end) modify(attr *cverbs.QPAttr, mask uint32) {
	e.t.Helper()
	require.NoError(e.t, e.qp.Modify(attr, mask))
}

func (e *end) toState(state int32) {
	e.t.Helper()
	e.modify(&cverbs.QPAttr{State: state}, cverbs.IBV_QP_STATE)
}

func (e *end) state() int32 {
	attr, err := e.qp.Query(cverbs.IBV_QP_STATE)
	require.NoError(e.t, err)
	return attr.State
}

func (e *end) toInit() {
	e.t.Helper()
	e.modify(e.initAttr(), e.initMask())
}

func (e *end) toRTR(peer *end) {
	e.t.Helper()
	e.toInit()
	e.modify(e.rtrAttr(peer), e.rtrMask())
}

func (e *end) toRTS(peer *end) {
	e.t.Helper()
	e.toRTR(peer)
	e.modify(e.rtsAttr(), e.rtsMask())
}

func connect(a, b *end) {
	a.t.Helper()
	a.toRTS(b)
	b.toRTS(a)
}

// pair makes two connected ends with the same options on two devices.
func pair(t testing.TB, o endOptions) (a, b *end) {
	t.Helper()
	a, b = newEnd(t, o), newEnd(t, o)
	connect(a, b)
	return a, b
}

// address makes an address handle of peer for e.
func (e *end) address(peer *end) cverbs.AH {
	e.t.Helper()
	attr := addressOf(e.t, peer.device, peer.port, gidIndex, e.port)
	ah, err := e.pd.CreateAH(&attr)
	require.NoError(e.t, err)
	e.handles = append(e.handles, ah)
	return ah
}
