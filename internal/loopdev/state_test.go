//go:build linux && cgo

package loopdev_test

import (
	"fmt"
	"testing"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var kinds = map[string]int32{"RC": cverbs.IBV_QPT_RC, "UC": cverbs.IBV_QPT_UC, "UD": cverbs.IBV_QPT_UD}

func forKinds(t *testing.T, f func(t *testing.T, kind int32)) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) { f(t, kind) })
	}
}

func TestEveryAttributeOfATransitionIsNeeded(t *testing.T) {
	forKinds(t, func(t *testing.T, kind int32) {
		a, b := newEnd(t, endOptions{kind: kind}), newEnd(t, endOptions{kind: kind})
		for _, step := range []struct {
			attr *cverbs.QPAttr
			mask uint32
		}{
			{a.initAttr(), a.initMask()}, {a.rtrAttr(b), a.rtrMask()}, {a.rtsAttr(), a.rtsMask()},
		} {
			before := a.state()
			for bit := uint32(1); bit < 1<<21; bit <<= 1 {
				if bit != cverbs.IBV_QP_STATE && step.mask&bit != 0 {
					assert.ErrorIs(t, a.qp.Modify(step.attr, step.mask&^bit), errInvalid, "without %#x", bit)
				}
			}
			assert.ErrorIs(t, a.qp.Modify(step.attr, step.mask|cverbs.IBV_QP_CAP), errInvalid, "not allowed here")
			require.Equal(t, before, a.state(), "a refused call changes nothing")
			a.modify(step.attr, step.mask)
			assert.Equal(t, step.attr.State, a.state())
		}
	})
}

func TestTransitionsThatDoNotExist(t *testing.T) {
	forKinds(t, func(t *testing.T, kind int32) {
		a, b := newEnd(t, endOptions{kind: kind}), newEnd(t, endOptions{kind: kind})
		refuse := func(attr *cverbs.QPAttr, mask uint32) {
			t.Helper()
			assert.ErrorIs(t, a.qp.Modify(attr, mask), errInvalid)
		}
		refuse(a.rtrAttr(b), a.rtrMask())
		refuse(a.rtsAttr(), a.rtsMask())
		a.toInit()
		refuse(a.rtsAttr(), a.rtsMask())
		a.modify(a.rtrAttr(b), a.rtrMask())
		refuse(a.initAttr(), a.initMask())
		refuse(&cverbs.QPAttr{State: cverbs.IBV_QPS_SQD}, cverbs.IBV_QP_STATE)
		refuse(&cverbs.QPAttr{State: cverbs.IBV_QPS_SQE}, cverbs.IBV_QP_STATE)
		a.modify(a.rtsAttr(), a.rtsMask())
		refuse(a.rtrAttr(b), a.rtrMask())
		a.toState(cverbs.IBV_QPS_ERR)
		refuse(a.initAttr(), a.initMask())
		refuse(a.rtsAttr(), a.rtsMask())
		a.toState(cverbs.IBV_QPS_RESET)
		a.toRTS(b)
	})
}

func TestCurrentStateMustBeTheCurrentOne(t *testing.T) {
	a, b := pair(t, endOptions{})
	_ = b
	attr := &cverbs.QPAttr{State: cverbs.IBV_QPS_RTS, CurState: cverbs.IBV_QPS_SQD}
	assert.ErrorIs(t, a.qp.Modify(attr, cverbs.IBV_QP_STATE|cverbs.IBV_QP_CUR_STATE), errInvalid)
	attr.CurState = cverbs.IBV_QPS_RTS
	assert.NoError(t, a.qp.Modify(attr, cverbs.IBV_QP_STATE|cverbs.IBV_QP_CUR_STATE))
}

func TestAttributeValuesOutOfRange(t *testing.T) {
	a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
	for _, port := range []uint8{0, 2} {
		attr := a.initAttr()
		attr.PortNum = port
		assert.ErrorIs(t, a.qp.Modify(attr, a.initMask()), errInvalid, "port %d", port)
	}
	attr := a.initAttr()
	attr.PKeyIndex = 1
	assert.ErrorIs(t, a.qp.Modify(attr, a.initMask()), errInvalid)
	a.toInit()
	for name, change := range map[string]func(*cverbs.QPAttr){
		"no GRH on RoCE":  func(a *cverbs.QPAttr) { a.AH.IsGlobal = 0 },
		"unused GID":      func(a *cverbs.QPAttr) { a.AH.SGIDIndex = 6 },
		"GID past table":  func(a *cverbs.QPAttr) { a.AH.SGIDIndex = 8 },
		"another port":    func(a *cverbs.QPAttr) { a.AH.PortNum = 2 },
		"MTU too small":   func(a *cverbs.QPAttr) { a.PathMTU = 0 },
		"MTU too large":   func(a *cverbs.QPAttr) { a.PathMTU = 6 },
		"queue pair 2^24": func(a *cverbs.QPAttr) { a.DestQPNum = 1 << 24 },
		"RNR timer":       func(a *cverbs.QPAttr) { a.MinRNRTimer = 32 },
		"reads":           func(a *cverbs.QPAttr) { a.MaxDestRdAtomic = 255 },
	} {
		attr := a.rtrAttr(b)
		change(attr)
		assert.ErrorIs(t, a.qp.Modify(attr, a.rtrMask()), errInvalid, name)
	}
	a.modify(a.rtrAttr(b), a.rtrMask())
	for name, change := range map[string]func(*cverbs.QPAttr){
		"timeout":   func(a *cverbs.QPAttr) { a.Timeout = 32 },
		"retries":   func(a *cverbs.QPAttr) { a.RetryCnt = 8 },
		"RNR tries": func(a *cverbs.QPAttr) { a.RNRRetry = 8 },
	} {
		attr := a.rtsAttr()
		change(attr)
		assert.ErrorIs(t, a.qp.Modify(attr, a.rtsMask()), errInvalid, name)
	}
	attr = &cverbs.QPAttr{State: cverbs.IBV_QPS_RTS}
	assert.ErrorIs(t, a.qp.Modify(attr, a.rtsMask()|cverbs.IBV_QP_ALT_PATH), errUnsupported)
}

func TestPostingRulesByState(t *testing.T) {
	forKinds(t, func(t *testing.T, kind int32) {
		a, b := newEnd(t, endOptions{kind: kind}), newEnd(t, endOptions{kind: kind})
		b.toRTS(a)
		send := work{op: cverbs.IBV_WR_SEND, flags: signaled}
		if kind == cverbs.IBV_QPT_UD {
			send.ah, send.remoteQPN = a.address(b), b.qp.Num()
		}
		trySend := func() error { _, err := a.tryPost(send); return err }

		assert.ErrorIs(t, trySend(), errInvalid, "RESET")
		assert.ErrorIs(t, a.tryReceive(1), errInvalid, "RESET")
		a.toInit()
		assert.ErrorIs(t, trySend(), errInvalid, "INIT")
		assert.NoError(t, a.tryReceive(1), "INIT")
		a.modify(a.rtrAttr(b), a.rtrMask())
		assert.ErrorIs(t, trySend(), errInvalid, "RTR")
		assert.NoError(t, a.tryReceive(2), "RTR")
		a.modify(a.rtsAttr(), a.rtsMask())
		a.toState(cverbs.IBV_QPS_ERR)
		wcs := completions(t, a.recv, 2)
		assert.Equal(t, []uint64{1, 2}, ids(wcs))
		assert.NoError(t, trySend(), "ERR flushes")
		assert.NoError(t, a.tryReceive(3), "ERR flushes")
		assert.Equal(t, int32(cverbs.IBV_WC_WR_FLUSH_ERR), completion(t, a.send).Status)
		assert.Equal(t, int32(cverbs.IBV_WC_WR_FLUSH_ERR), completion(t, a.recv).Status)
	})
}

func TestResetForgetsRequestsAndCompletions(t *testing.T) {
	a, b := pair(t, endOptions{})
	b.receive(1, b.sge(0, 8))
	b.receive(2, b.sge(0, 8))
	a.post(work{op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{a.sge(0, 8)}})
	a.toState(cverbs.IBV_QPS_RESET)
	b.toState(cverbs.IBV_QPS_RESET)
	assert.Empty(t, pollOnce(t, a.send, 4))
	assert.Empty(t, pollOnce(t, b.recv, 4))
	connect(a, b)
	for i := range 16 {
		b.receive(uint64(i), b.sge(0, 8))
	}
	a.post(work{op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{a.sge(0, 8)}})
	assert.Zero(t, completion(t, a.send).Status)
	assert.Equal(t, []uint64{0}, ids(completions(t, b.recv, 1)))
}

func TestFlushFollowsTheFailureInOrder(t *testing.T) {
	a, b := pair(t, endOptions{})
	for i := range 3 {
		a.receive(uint64(100+i), a.sge(0, 8))
		b.receive(uint64(200+i), b.sge(0, 8))
	}
	bad := writeTo(b, a.sge(0, 8), 0)
	bad.id, bad.rkey = 2, 0
	good := writeTo(b, a.sge(0, 8), 0)
	good.id = 1
	after := good
	after.id = 3
	last := good
	last.id, last.flags = 4, signaled
	a.post(good, bad, after, last)
	wcs := completions(t, a.send, 3)
	assert.Equal(t, []uint64{2, 3, 4}, ids(wcs))
	assert.Equal(t, []int32{cverbs.IBV_WC_REM_ACCESS_ERR, cverbs.IBV_WC_WR_FLUSH_ERR, cverbs.IBV_WC_WR_FLUSH_ERR}, statuses(wcs))
	assert.Equal(t, []uint64{100, 101, 102}, ids(completions(t, a.recv, 3)))
	wcs = completions(t, b.recv, 3)
	assert.Equal(t, []uint64{200, 201, 202}, ids(wcs))
	for _, wc := range wcs {
		assert.Equal(t, int32(cverbs.IBV_WC_WR_FLUSH_ERR), wc.Status)
	}
}

func TestSendQueueErrorOfUnreliableQueuePairs(t *testing.T) {
	for _, kind := range []int32{cverbs.IBV_QPT_UC, cverbs.IBV_QPT_UD} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			a, b := pair(t, endOptions{kind: kind})
			good := work{op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{a.sge(0, 8)}}
			if kind == cverbs.IBV_QPT_UD {
				good.ah, good.remoteQPN, good.remoteKey = a.address(b), b.qp.Num(), testQKey
			}
			bad := good
			bad.sges = []cverbs.SGE{{Addr: a.addr(0), Length: 8, LKey: 1}}
			a.receive(1, a.sge(0, 100))
			a.post(bad, good)
			assert.Equal(t, []int32{cverbs.IBV_WC_LOC_PROT_ERR, cverbs.IBV_WC_WR_FLUSH_ERR}, statuses(completions(t, a.send, 2)))
			assert.Equal(t, int32(cverbs.IBV_QPS_SQE), a.state())
			a.post(good)
			assert.Equal(t, int32(cverbs.IBV_WC_WR_FLUSH_ERR), completion(t, a.send).Status)

			back := work{op: cverbs.IBV_WR_SEND, sges: []cverbs.SGE{b.sge(0, 8)}}
			if kind == cverbs.IBV_QPT_UD {
				back.ah, back.remoteQPN, back.remoteKey = b.address(a), a.qp.Num(), testQKey
			}
			b.post(back)
			assert.Zero(t, completion(t, a.recv).Status, "it still receives")

			a.toState(cverbs.IBV_QPS_RTS)
			b.receive(7, b.sge(0, 100))
			a.post(good)
			assert.Zero(t, completion(t, a.send).Status)
			assert.Zero(t, completion(t, b.recv).Status)
		})
	}
}

func TestSendQueueDrain(t *testing.T) {
	a, b := pair(t, endOptions{})
	a.post(work{id: 1, op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{a.sge(0, 8)}})
	a.post(work{id: 2, op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{a.sge(0, 8)}})
	// The first waits for a receive, so that the queue cannot be drained yet.
	a.modify(&cverbs.QPAttr{State: cverbs.IBV_QPS_SQD, EnSQDAsyncNotify: 1},
		cverbs.IBV_QP_STATE|cverbs.IBV_QP_EN_SQD_ASYNC_NOTIFY)
	attr, err := a.qp.Query(0)
	require.NoError(t, err)
	assert.Equal(t, int32(cverbs.IBV_QPS_SQD), attr.State)
	assert.Equal(t, uint8(1), attr.SQDraining)
	assert.ErrorIs(t, a.qp.Modify(&cverbs.QPAttr{State: cverbs.IBV_QPS_RTS}, cverbs.IBV_QP_STATE), errInvalid, "not drained yet")

	b.receive(1, b.sge(0, 8))
	b.receive(2, b.sge(0, 8))
	assert.Equal(t, []uint64{1}, ids(completions(t, a.send, 1)))
	var events []int32
	eventually(t, "the event", func() bool { events = append(events, a.asyncEvents()...); return len(events) > 0 })
	assert.Equal(t, []int32{cverbs.IBV_EVENT_SQ_DRAINED}, events)
	a.post(work{id: 3, op: cverbs.IBV_WR_RDMA_WRITE, flags: signaled, remote: b.addr(0), rkey: b.rkey})
	assert.Empty(t, pollOnce(t, a.send, 1), "what came later stays in the queue")

	a.modify(&cverbs.QPAttr{State: cverbs.IBV_QPS_SQD, AccessFlags: 0, Timeout: 3}, cverbs.IBV_QP_STATE|cverbs.IBV_QP_TIMEOUT)
	a.toState(cverbs.IBV_QPS_RTS)
	assert.Equal(t, []uint64{2, 3}, ids(completions(t, a.send, 2)))
}

func TestCommunicationEstablished(t *testing.T) {
	a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
	b.toRTR(a)
	a.toRTS(b)
	b.receive(1, b.sge(0, 8))
	b.receive(2, b.sge(0, 8))
	w := work{op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{a.sge(0, 8)}}
	a.post(w, w)
	completions(t, a.send, 2)
	assert.Equal(t, []int32{cverbs.IBV_EVENT_COMM_EST}, b.asyncEvents(), "once")
	b.modify(b.rtsAttr(), b.rtsMask())
}

func TestTransportsRefuseWhatTheyCannot(t *testing.T) {
	e := newEnd(t, endOptions{})
	for _, kind := range []int32{1, 8, 0xff} {
		caps := cverbs.QPCap{MaxSendWR: 1}
		_, err := e.pd.CreateQP(e.send, e.recv, kind, &caps, false)
		assert.ErrorIs(t, err, errUnsupported, "type %d", kind)
	}
	uc, peer := pair(t, endOptions{kind: cverbs.IBV_QPT_UC})
	for _, op := range []int32{cverbs.IBV_WR_RDMA_READ, cverbs.IBV_WR_ATOMIC_CMP_AND_SWP, cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD, 12, -1} {
		_, err := uc.tryPost(work{op: op, sges: []cverbs.SGE{uc.sge(0, 8)}, remote: peer.addr(0), rkey: peer.rkey})
		assert.ErrorIs(t, err, errInvalid, "opcode %d", op)
	}
	for _, caps := range []cverbs.QPCap{{MaxSendWR: 1 << 16}, {MaxSendSGE: 33}, {MaxRecvWR: 1 << 16}, {MaxRecvSGE: 33}, {MaxInlineData: 1025}} {
		_, err := e.pd.CreateQP(e.send, e.recv, cverbs.IBV_QPT_RC, &caps, false)
		assert.ErrorIs(t, err, errInvalid, "%+v", caps)
	}
}
