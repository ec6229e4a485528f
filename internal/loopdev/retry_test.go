//go:build linux && cgo

package loopdev_test

import (
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// connectWith connects a and b; change sets a's attributes for RTS.
func connectWith(a, b *end, change func(*cverbs.QPAttr)) {
	a.t.Helper()
	b.toRTS(a)
	a.toRTR(b)
	attr := a.rtsAttr()
	change(attr)
	a.modify(attr, a.rtsMask())
}

func send(e *end, id uint64) work {
	return work{id: id, op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{e.sge(0, 8)}}
}

func TestReceiverNotReadyIsRetriedInOrder(t *testing.T) {
	a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
	connectWith(a, b, func(attr *cverbs.QPAttr) { attr.RNRRetry = 7 })
	write := writeTo(b, a.sge(0, 8), 100)
	write.id, write.flags = 2, signaled
	a.mem[0] = 1
	a.post(send(a, 1), write)
	assert.Empty(t, pollOnce(t, a.send, 1))
	assert.Zero(t, b.mem[100], "nothing overtakes")
	b.receive(1, b.sge(0, 8))
	assert.Equal(t, []uint64{1, 2}, ids(completions(t, a.send, 2)))
	assert.Equal(t, byte(1), b.mem[100])
}

func TestReceiverNotReadyExhausted(t *testing.T) {
	for _, retries := range []uint8{0, 3} {
		a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
		connectWith(a, b, func(attr *cverbs.QPAttr) { attr.RNRRetry = retries })
		a.post(send(a, 1))
		assert.Equal(t, int32(cverbs.IBV_WC_RNR_RETRY_EXC_ERR), completion(t, a.send).Status)
		assert.Equal(t, int32(cverbs.IBV_QPS_ERR), a.state())
		assert.Equal(t, int32(cverbs.IBV_QPS_RTS), b.state(), "the responder lives")
	}
}

// Seven RNR retries are for ever: a storm that a count would not outlast.
func TestReceiverNotReadyForEver(t *testing.T) {
	a, b := pair(t, endOptions{})
	b.receive(1, b.sge(0, 8))
	require.NoError(t, loopdev.StormRNR(b.device, b.qp.Num(), 50))
	a.post(send(a, 1))
	assert.Zero(t, completion(t, a.send).Status)
}

func TestStormOutlastsRetries(t *testing.T) {
	a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
	connectWith(a, b, func(attr *cverbs.QPAttr) { attr.RNRRetry = 3 })
	b.receive(1, b.sge(0, 8))
	require.NoError(t, loopdev.StormRNR(b.device, b.qp.Num(), 3))
	a.post(send(a, 1))
	assert.Zero(t, completion(t, a.send).Status, "three retries are enough for three")
	b.receive(1, b.sge(0, 8))
	require.NoError(t, loopdev.StormRNR(b.device, b.qp.Num(), 4))
	a.post(send(a, 2))
	assert.Equal(t, int32(cverbs.IBV_WC_RNR_RETRY_EXC_ERR), completion(t, a.send).Status)
}

func TestPeerThatIsNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(a, b *end)
		count  uint8
	}{
		"reset":            {func(a, b *end) { b.toState(cverbs.IBV_QPS_RESET) }, 2},
		"only initialised": {func(a, b *end) { b.toState(cverbs.IBV_QPS_RESET); b.toInit() }, 2},
		"failed":           {func(a, b *end) { b.toState(cverbs.IBV_QPS_ERR) }, 2},
		"destroyed":        {func(a, b *end) { b.destroyQP() }, 2},
		"port down":        {func(a, b *end) { require.NoError(a.t, loopdev.SetPort(b.device, 1, false)) }, 2},
		"own port down":    {func(a, b *end) { require.NoError(a.t, loopdev.SetPort(a.device, 1, false)) }, 2},
		"device gone":      {func(a, b *end) { require.NoError(a.t, loopdev.RemoveDevice(b.device)) }, 2},
		"no retries":       {func(a, b *end) { b.toState(cverbs.IBV_QPS_ERR) }, 0},
		"seven retries":    {func(a, b *end) { b.toState(cverbs.IBV_QPS_ERR) }, 7},
		"connected to another": {func(a, b *end) {
			c := newEnd(a.t, endOptions{})
			c.toInit()
			b.toState(cverbs.IBV_QPS_RESET)
			b.toRTS(c)
		}, 2},
		"another sequence number": {func(a, b *end) {
			b.toState(cverbs.IBV_QPS_RESET)
			b.toInit()
			attr := b.rtrAttr(a)
			attr.RQPSN++
			b.modify(attr, b.rtrMask())
			b.modify(b.rtsAttr(), b.rtsMask())
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
			connectWith(a, b, func(attr *cverbs.QPAttr) { attr.RetryCnt = c.count })
			c.break_(a, b)
			a.post(send(a, 1), send(a, 2))
			wcs := completions(t, a.send, 2)
			assert.Equal(t, []int32{cverbs.IBV_WC_RETRY_EXC_ERR, cverbs.IBV_WC_WR_FLUSH_ERR}, statuses(wcs))
			assert.Equal(t, []uint64{1, 2}, ids(wcs))
		})
	}
}

func TestPeerThatComesInTime(t *testing.T) {
	a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
	b.toInit()
	a.toRTR(b)
	attr := a.rtsAttr()
	attr.Timeout, attr.RetryCnt = 12, 7
	a.modify(attr, a.rtsMask())
	b.receive(1, b.sge(0, 8))
	a.post(send(a, 1))
	assert.Empty(t, pollOnce(t, a.send, 1))
	b.modify(b.rtrAttr(a), b.rtrMask())
	assert.Zero(t, completion(t, a.send).Status)
}

// A timeout of 0 has no end: only the consumer can give up.
func TestNoTimeout(t *testing.T) {
	a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
	connectWith(a, b, func(attr *cverbs.QPAttr) { attr.Timeout = 0 })
	b.toState(cverbs.IBV_QPS_RESET)
	a.post(send(a, 1))
	assert.Empty(t, pollOnce(t, a.send, 1))
	a.toState(cverbs.IBV_QPS_ERR)
	assert.Equal(t, int32(cverbs.IBV_WC_WR_FLUSH_ERR), completion(t, a.send).Status)
}

func TestDroppedMessagesAreSentAgain(t *testing.T) {
	a, b := pair(t, endOptions{})
	b.receive(1, b.sge(0, 8))
	require.NoError(t, loopdev.DropMessages(a.device, a.qp.Num(), 2))
	a.post(send(a, 1))
	assert.Zero(t, completion(t, a.send).Status)
	completion(t, b.recv)
	require.NoError(t, loopdev.DropMessages(a.device, a.qp.Num(), 3))
	a.post(send(a, 2))
	assert.Equal(t, int32(cverbs.IBV_WC_RETRY_EXC_ERR), completion(t, a.send).Status)
}

func TestDroppedMessagesOfUnreliableQueuePairsAreLost(t *testing.T) {
	a, b := pair(t, endOptions{kind: cverbs.IBV_QPT_UC})
	b.receive(1, b.sge(0, 8))
	require.NoError(t, loopdev.DropMessages(a.device, a.qp.Num(), 1))
	a.post(send(a, 1))
	assert.Zero(t, completion(t, a.send).Status)
	assert.Empty(t, pollOnce(t, b.recv, 1))
	a.post(send(a, 2))
	assert.Zero(t, completion(t, b.recv).Status)
}

func TestDelayedMessagesStayInOrder(t *testing.T) {
	a, b := pair(t, endOptions{})
	b.receive(1, b.sge(0, 8))
	b.receive(2, b.sge(0, 8))
	require.NoError(t, loopdev.DelayMessages(a.device, a.qp.Num(), 5*time.Millisecond))
	a.post(send(a, 1), send(a, 2))
	assert.Empty(t, pollOnce(t, b.recv, 1))
	require.NoError(t, loopdev.DelayMessages(a.device, a.qp.Num(), 0))
	assert.Equal(t, []uint64{1, 2}, ids(completions(t, a.send, 2)))
	assert.Equal(t, []uint64{1, 2}, ids(completions(t, b.recv, 2)))
}

func TestFailingPosts(t *testing.T) {
	a, b := pair(t, endOptions{})
	require.NoError(t, loopdev.FailPosts(a.device, a.qp.Num(), 1))
	n, err := a.tryPost(send(a, 1), send(a, 2))
	assert.ErrorIs(t, err, errNoMemory)
	assert.Zero(t, n)
	require.NoError(t, loopdev.FailPosts(b.device, b.qp.Num(), 1))
	assert.ErrorIs(t, b.tryReceive(1, b.sge(0, 8)), errNoMemory)
	b.receive(1, b.sge(0, 8))
	a.post(send(a, 1))
	assert.Zero(t, completion(t, a.send).Status)
}

func TestUnreliableConnectionDropsWhatIsRefused(t *testing.T) {
	a, b := pair(t, endOptions{kind: cverbs.IBV_QPT_UC})
	bad := writeTo(b, a.sge(0, 8), 0)
	bad.rkey = 0
	a.post(send(a, 1), bad) // no receive, no key
	b.receive(5, b.sge(0, 8))
	imm := bad
	imm.op = cverbs.IBV_WR_RDMA_WRITE_WITH_IMM
	a.post(imm)
	assert.Empty(t, pollOnce(t, b.recv, 1), "a message that is dropped takes no receive")
	a.post(send(a, 2))
	assert.Equal(t, uint64(5), completion(t, b.recv).WRID)
	assert.Equal(t, int32(cverbs.IBV_QPS_RTS), a.state())
	assert.Equal(t, int32(cverbs.IBV_QPS_RTS), b.state())

	b.receive(6, b.sge(0, 4))
	a.post(send(a, 3))
	assert.Equal(t, int32(cverbs.IBV_WC_LOC_LEN_ERR), completion(t, b.recv).Status)
	assert.Equal(t, int32(cverbs.IBV_QPS_ERR), b.state())
}

func TestInjectionNamesWhatIsNotThere(t *testing.T) {
	e := newEnd(t, endOptions{})
	assert.ErrorIs(t, loopdev.DropMessages("loop9999", 1, 1), errNoDevice)
	assert.ErrorIs(t, loopdev.DropMessages(e.device, 0xfffff, 1), errNoEntry)
	assert.ErrorIs(t, loopdev.SetPort(e.device, 2, true), errInvalid)
}
