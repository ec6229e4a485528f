//go:build linux && cgo

package loopdev_test

import (
	"testing"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sharedPairs makes n pairs whose second ends share a receive queue.
func sharedPairs(t *testing.T, s *sharedQueue, n int) (senders, receivers []*end) {
	for range n {
		a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{srq: s})
		connect(a, b)
		senders, receivers = append(senders, a), append(receivers, b)
	}
	return senders, receivers
}

func TestSharedReceivesGoToWhoNeedsThem(t *testing.T) {
	s := newSharedQueue(t, 4)
	a, b := sharedPairs(t, s, 2)
	for i := range 4 {
		require.NoError(t, s.tryReceive(uint64(10+i), b[0].sge(i*8, 8)))
	}
	assert.ErrorIs(t, s.tryReceive(99), errNoMemory)
	assert.ErrorIs(t, b[0].tryReceive(1), errInvalid, "the queue pair has none of its own")
	a[1].post(send(a[1], 1))
	a[0].post(send(a[0], 2))
	a[1].post(send(a[1], 3))
	assert.Equal(t, []uint64{10, 12}, ids(completions(t, b[1].recv, 2)))
	require.NoError(t, s.tryReceive(20, b[0].sge(0, 8)), "polling freed slots")
	require.NoError(t, s.tryReceive(21, b[0].sge(0, 8)))
	assert.Equal(t, []uint64{11}, ids(completions(t, b[0].recv, 1)))
	for i := range 3 {
		a[0].post(send(a[0], uint64(i)))
	}
	assert.Equal(t, []uint64{13, 20, 21}, ids(completions(t, b[0].recv, 3)))
	assert.Equal(t, uint64(6), s.queue.Completed)
	assert.Zero(t, s.queue.Failed)
}

func TestSharedQueueWithoutReceiveIsNotReady(t *testing.T) {
	s := newSharedQueue(t, 4)
	a, b := sharedPairs(t, s, 1)
	a[0].post(send(a[0], 1))
	assert.Empty(t, pollOnce(t, a[0].send, 1))
	require.NoError(t, s.tryReceive(1, b[0].sge(0, 8)))
	assert.Zero(t, completion(t, a[0].send).Status)
}

func TestSharedQueueLimit(t *testing.T) {
	s := newSharedQueue(t, 8)
	a, b := sharedPairs(t, s, 1)
	for i := range 4 {
		require.NoError(t, s.tryReceive(uint64(i), b[0].sge(0, 8)))
	}
	require.NoError(t, s.srq.Modify(&cverbs.SRQAttr{Limit: 3}, cverbs.IBV_SRQ_LIMIT))
	attr, err := s.srq.Query()
	require.NoError(t, err)
	assert.Equal(t, cverbs.SRQAttr{MaxWR: 8, MaxSGE: 2, Limit: 3}, attr)

	a[0].post(send(a[0], 1))
	assert.Empty(t, b[0].asyncEvents(), "three are left: not below the limit")
	a[0].post(send(a[0], 2), send(a[0], 3))
	ev, err := s.ctx.NextAsyncEvent()
	require.NoError(t, err)
	assert.Equal(t, int32(cverbs.IBV_EVENT_SRQ_LIMIT_REACHED), ev.Type())
	assert.Equal(t, s.srq, ev.SRQ())
	require.NoError(t, ev.Ack())
	assert.Empty(t, b[0].asyncEvents(), "once")
	attr, err = s.srq.Query()
	require.NoError(t, err)
	assert.Zero(t, attr.Limit, "it has to be set again")

	require.NoError(t, s.srq.Modify(&cverbs.SRQAttr{Limit: 5}, cverbs.IBV_SRQ_LIMIT))
	assert.Equal(t, []int32{cverbs.IBV_EVENT_SRQ_LIMIT_REACHED}, b[0].asyncEvents(), "below it already")
	assert.ErrorIs(t, s.srq.Modify(&cverbs.SRQAttr{Limit: 9}, cverbs.IBV_SRQ_LIMIT), errInvalid)
}

func TestSharedQueueResize(t *testing.T) {
	s := newSharedQueue(t, 4)
	a, b := sharedPairs(t, s, 1)
	for i := range 3 {
		require.NoError(t, s.tryReceive(uint64(i), b[0].sge(0, 8)))
	}
	assert.ErrorIs(t, s.srq.Modify(&cverbs.SRQAttr{MaxWR: 2}, cverbs.IBV_SRQ_MAX_WR), errInvalid)
	require.NoError(t, s.srq.Modify(&cverbs.SRQAttr{MaxWR: 100}, cverbs.IBV_SRQ_MAX_WR))
	for i := range 3 {
		a[0].post(send(a[0], uint64(i)))
	}
	assert.Equal(t, []uint64{0, 1, 2}, ids(completions(t, b[0].recv, 3)))
}

func TestLastReceiveReached(t *testing.T) {
	s := newSharedQueue(t, 4)
	a, b := sharedPairs(t, s, 2)
	require.NoError(t, s.tryReceive(1, b[0].sge(0, 8)))
	b[0].toState(cverbs.IBV_QPS_ERR)
	ev, err := s.ctx.NextAsyncEvent()
	require.NoError(t, err)
	assert.Equal(t, int32(cverbs.IBV_EVENT_QP_LAST_WQE_REACHED), ev.Type())
	assert.Equal(t, b[0].qp, ev.QP())
	require.NoError(t, ev.Ack())
	assert.Empty(t, pollOnce(t, b[0].recv, 1), "shared receives are not flushed")
	a[1].post(send(a[1], 1))
	assert.Equal(t, []uint64{1}, ids(completions(t, b[1].recv, 1)))
}

func TestSharedReceiveOfADestroyedQueuePairIsFreed(t *testing.T) {
	s := newSharedQueue(t, 1)
	a, b := sharedPairs(t, s, 1)
	require.NoError(t, s.tryReceive(1, b[0].sge(0, 8)))
	a[0].post(send(a[0], 1))
	b[0].destroyQP() // with the completion unpolled
	wr := &cverbs.RecvWR{}
	r := s.srq.PostRecv(wr, 1)
	assert.Zero(t, r.RC)
}

func TestSharedQueueRefusals(t *testing.T) {
	s := newSharedQueue(t, 2)
	_, err := s.pd.CreateSRQ(&cverbs.SRQAttr{})
	assert.ErrorIs(t, err, errInvalid)
	_, err = s.pd.CreateSRQ(&cverbs.SRQAttr{MaxWR: 1 << 16})
	assert.ErrorIs(t, err, errInvalid)
	e := newEnd(t, endOptions{})
	assert.ErrorIs(t, s.tryReceive(1, e.sge(0, 1), e.sge(0, 1), e.sge(0, 1)), errInvalid)
	_, err = e.pd.CreateQPOn(s.srq, e.send, e.recv, cverbs.IBV_QPT_RC, &cverbs.QPCap{}, false)
	assert.ErrorIs(t, err, errInvalid, "of another domain")
}
