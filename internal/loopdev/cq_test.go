//go:build linux && cgo

package loopdev_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nextEvent takes an event off the channel, if there is one.
func (e *end) nextEvent() (cverbs.CQ, bool) {
	e.t.Helper()
	cq, err := e.channel.NextEvent()
	if err != nil {
		require.ErrorIs(e.t, err, syscall.EAGAIN)
		return cq, false
	}
	return cq, true
}

func (e *end) wantEvent(cq cverbs.CQ) {
	e.t.Helper()
	var got cverbs.CQ
	eventually(e.t, "the event", func() (ok bool) { got, ok = e.nextEvent(); return ok })
	require.Equal(e.t, cq, got)
	require.NoError(e.t, got.AckEvents(1))
}

func (e *end) wantNoEvent() {
	e.t.Helper()
	_, ok := e.nextEvent()
	require.False(e.t, ok)
}

func writes(a, b *end, n int) (list []work) {
	for i := range n {
		w := writeTo(b, a.sge(0, 8), 0)
		w.id, w.flags = uint64(i), signaled
		list = append(list, w)
	}
	return list
}

func TestArmedQueueGivesOneEvent(t *testing.T) {
	a, b := pair(t, endOptions{channel: true})
	a.post(writes(a, b, 1)...)
	a.wantNoEvent()
	require.NoError(t, a.send.Arm(false))
	a.wantNoEvent() // what is there already raises none: arm, then poll again
	a.post(writes(a, b, 2)...)
	a.wantEvent(a.send)
	a.wantNoEvent()
	require.NoError(t, a.send.Arm(false))
	a.post(writes(a, b, 1)...)
	a.wantEvent(a.send)
	assert.Len(t, completions(t, a.send, 4), 4)
}

func TestSolicitedEvents(t *testing.T) {
	a, b := pair(t, endOptions{channel: true})
	for i := range 4 {
		b.receive(uint64(i), b.sge(0, 8))
	}
	require.NoError(t, b.recv.Arm(true))
	a.post(send(a, 1))
	b.wantNoEvent()
	w := send(a, 2)
	w.flags |= cverbs.IBV_SEND_SOLICITED
	a.post(w)
	b.wantEvent(b.recv)

	require.NoError(t, b.recv.Arm(false))
	require.NoError(t, b.recv.Arm(true)) // does not take back the wider arming
	a.post(send(a, 3))
	b.wantEvent(b.recv)

	require.NoError(t, b.recv.Arm(true))
	b.toState(cverbs.IBV_QPS_ERR)
	b.wantEvent(b.recv) // a failed completion counts as solicited
}

func TestDestroyTakesBackUnreadEvents(t *testing.T) {
	a, b := pair(t, endOptions{channel: true})
	extra, err := a.ctx.CreateCQ(8, a.channel, 0)
	require.NoError(t, err)
	caps := cverbs.QPCap{MaxSendWR: 4, MaxSendSGE: 1, MaxRecvWR: 4, MaxRecvSGE: 1}
	qp, err := a.pd.CreateQP(extra, extra, cverbs.IBV_QPT_RC, &caps, false)
	require.NoError(t, err)
	require.NoError(t, loopdev.SpuriousEvents(a.device, qp.Num(), 3))
	require.NoError(t, a.send.Arm(false))
	a.post(writes(a, b, 1)...)
	require.NoError(t, qp.Destroy())
	require.NoError(t, extra.Destroy(), "nobody read them: nothing to wait for")
	a.wantEvent(a.send)
	a.wantNoEvent()
}

func TestDestroyWaitsForAcknowledgement(t *testing.T) {
	e := newEnd(t, endOptions{channel: true})
	cq, err := e.ctx.CreateCQ(8, e.channel, 0)
	require.NoError(t, err)
	caps := cverbs.QPCap{}
	qp, err := e.pd.CreateQP(cq, cq, cverbs.IBV_QPT_RC, &caps, false)
	require.NoError(t, err)
	require.NoError(t, loopdev.SpuriousEvents(e.device, qp.Num(), 2))
	require.NoError(t, qp.Destroy())
	_, ok := e.nextEvent()
	require.True(t, ok)
	destroyed := make(chan error, 1)
	go func() { destroyed <- cq.Destroy() }()
	select {
	case <-destroyed:
		t.Fatal("an event that was read is not acknowledged")
	case <-time.After(20 * time.Millisecond):
	}
	require.NoError(t, cq.AckEvents(1))
	require.NoError(t, <-destroyed)
}

func TestEventsBeyondWhatThePipeHolds(t *testing.T) {
	const n = 10000
	e := newEnd(t, endOptions{channel: true})
	require.NoError(t, loopdev.SpuriousEvents(e.device, e.qp.Num(), n))
	for got := 0; got < 2*n; got++ {
		var cq cverbs.CQ
		eventually(t, "the event", func() (ok bool) { cq, ok = e.nextEvent(); return ok })
		require.NoError(t, cq.AckEvents(1))
	}
	e.wantNoEvent()
}

func TestSpuriousEventHasNoCompletion(t *testing.T) {
	e := newEnd(t, endOptions{channel: true})
	require.NoError(t, loopdev.SpuriousEvents(e.device, e.qp.Num(), 1))
	e.wantEvent(e.send)
	e.wantEvent(e.recv)
	assert.Empty(t, pollOnce(t, e.send, 1))
}

func TestLateEvents(t *testing.T) {
	a, b := pair(t, endOptions{channel: true})
	require.NoError(t, loopdev.LateEvents(a.device, 5*time.Millisecond))
	require.NoError(t, a.send.Arm(false))
	a.post(writes(a, b, 1)...)
	completion(t, a.send)
	a.wantNoEvent()
	a.wantEvent(a.send)
}

func TestLateEventOfADestroyedQueue(t *testing.T) {
	e := newEnd(t, endOptions{channel: true})
	require.NoError(t, loopdev.LateEvents(e.device, time.Hour))
	require.NoError(t, loopdev.SpuriousEvents(e.device, e.qp.Num(), 1))
}

func TestFullCompletionQueue(t *testing.T) {
	a, b := pair(t, endOptions{cqe: 2, channel: true})
	a.post(writes(a, b, 4)...)
	assert.Equal(t, []int32{cverbs.IBV_EVENT_CQ_ERR, cverbs.IBV_EVENT_QP_FATAL}, a.asyncEvents())
	assert.Equal(t, int32(cverbs.IBV_QPS_ERR), a.state())
	assert.Equal(t, []uint64{0, 1}, ids(completions(t, a.send, 2)), "what was in it can be polled")
	assert.Equal(t, int32(cverbs.IBV_QPS_RTS), b.state())
}

func TestFullCompletionQueueOfTheReceiver(t *testing.T) {
	a, b := pair(t, endOptions{cqe: 1})
	b.receive(1, b.sge(0, 8))
	b.receive(2, b.sge(0, 8))
	a.post(work{op: cverbs.IBV_WR_SEND}, work{op: cverbs.IBV_WR_SEND})
	assert.Equal(t, []int32{cverbs.IBV_EVENT_CQ_ERR, cverbs.IBV_EVENT_QP_FATAL}, b.asyncEvents())
	assert.Equal(t, int32(cverbs.IBV_QPS_ERR), b.state())
}

func TestAsyncEventHoldsUpDestroyUntilAcknowledged(t *testing.T) {
	a, b := pair(t, endOptions{})
	bad := writeTo(b, a.sge(0, 8), 0)
	bad.rkey = 0
	a.post(bad)
	completion(t, a.send)
	ev, err := b.ctx.NextAsyncEvent()
	require.NoError(t, err)
	assert.Equal(t, int32(cverbs.IBV_EVENT_QP_ACCESS_ERR), ev.Type())
	assert.Equal(t, b.qp, ev.QP())
	b.gone = true
	destroyed := make(chan error, 1)
	go func() { destroyed <- b.qp.Destroy() }()
	select {
	case <-destroyed:
		t.Fatal("the event is not acknowledged")
	case <-time.After(20 * time.Millisecond):
	}
	require.NoError(t, ev.Ack())
	require.NoError(t, <-destroyed)
}

func TestResizeCompletionQueue(t *testing.T) {
	a, b := pair(t, endOptions{cqe: 4})
	a.post(writes(a, b, 3)...)
	assert.ErrorIs(t, a.send.Resize(2), errInvalid, "there are more in it")
	assert.ErrorIs(t, a.send.Resize(0), errInvalid)
	require.NoError(t, a.send.Resize(100))
	assert.Equal(t, 100, a.send.Size())
	a.post(writes(a, b, 6)...)
	assert.Equal(t, []uint64{0, 1, 2, 0, 1, 2, 3, 4, 5}, ids(completions(t, a.send, 9)))
	require.NoError(t, a.send.Resize(1))
	a.post(writes(a, b, 1)...)
	completion(t, a.send)
}

func TestCompletionQueueRefusals(t *testing.T) {
	e := newEnd(t, endOptions{})
	for _, cqe := range []int{0, -1, 1 << 23} {
		_, err := e.ctx.CreateCQ(cqe, cverbs.Channel{}, 0)
		assert.ErrorIs(t, err, errInvalid)
	}
	_, err := e.ctx.CreateCQ(1, cverbs.Channel{}, e.ctx.Vectors())
	assert.ErrorIs(t, err, errInvalid)
	other := newEnd(t, endOptions{})
	_, err = e.pd.CreateQP(other.send, e.recv, cverbs.IBV_QPT_RC, &cverbs.QPCap{}, false)
	assert.ErrorIs(t, err, errInvalid, "a CQ of another device")
}
