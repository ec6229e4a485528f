//go:build linux && cgo

package verbstest_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/verbstest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// few makes a lost peer known after three messages.
var few = verbs.ConnectOptions{Timeout: 1, Retries: 2, RNRRetries: 2, MinRNRTimer: 1}

func post(t *testing.T, e *verbstest.End) {
	t.Helper()
	_, err := e.QP.SendBatch().Post()
	require.NoError(t, err)
}

func receive(t *testing.T, e *verbstest.End) {
	t.Helper()
	e.QP.RecvBatch().Recv(1, e.MR.SGE(0, 8))
	_, err := e.QP.RecvBatch().Post()
	require.NoError(t, err)
}

func wait(t *testing.T, cq *verbs.CQ) verbs.Completion {
	t.Helper()
	wc := make([]verbs.Completion, 1)
	_, err := cq.Wait(t.Context(), wc)
	require.NoError(t, err)
	return wc[0]
}

func send(t *testing.T, e *verbstest.End) verbs.Completion {
	t.Helper()
	e.QP.SendBatch().Send(1, e.MR.SGE(0, 8))
	post(t, e)
	return wait(t, e.SendCQ)
}

func TestDrop(t *testing.T) {
	a, b := verbstest.Pair(t, verbstest.PairOptions{Connect: few})
	receive(t, b)
	a.Device.Drop(a.QP, 2)
	c := send(t, a)
	assert.NoError(t, c.Err(), "two retries are enough for two losses")
	a.Device.Drop(a.QP, 3)
	c = send(t, a)
	assert.ErrorIs(t, c.Err(), verbs.StatusRetryExceeded)
}

func TestDelay(t *testing.T) {
	a, b := verbstest.Pair(t, verbstest.PairOptions{})
	receive(t, b)
	a.Device.Delay(a.QP, time.Hour)
	a.QP.SendBatch().Send(1, a.MR.SGE(0, 8))
	post(t, a)
	wc := make([]verbs.Completion, 1)
	n, err := a.SendCQ.Poll(wc)
	require.NoError(t, err)
	assert.Zero(t, n, "it has not left")
	require.NoError(t, a.QP.Err())
	c := wait(t, a.SendCQ)
	assert.ErrorIs(t, c.Err(), verbs.StatusFlushed)
}

func TestStormRNR(t *testing.T) {
	a, b := verbstest.Pair(t, verbstest.PairOptions{Connect: few})
	receive(t, b)
	b.Device.StormRNR(b.QP, 2)
	c := send(t, a)
	assert.NoError(t, c.Err())
	receive(t, b)
	b.Device.StormRNR(b.QP, 3)
	c = send(t, a)
	assert.ErrorIs(t, c.Err(), verbs.StatusRNRRetryExceeded)
}

func TestFailPosts(t *testing.T) {
	a, b := verbstest.Pair(t, verbstest.PairOptions{})
	a.Device.FailPosts(a.QP, 1)
	a.QP.SendBatch().Write(1, b.MR.Remote().At(0, 8), a.MR.SGE(0, 8))
	a.QP.SendBatch().Write(2, b.MR.Remote().At(0, 8), a.MR.SGE(0, 8))
	n, err := a.QP.SendBatch().Post()
	assert.ErrorIs(t, err, syscall.ENOMEM)
	assert.Zero(t, n)
	a.QP.SendBatch().Write(3, b.MR.Remote().At(0, 8), a.MR.SGE(0, 8))
	post(t, a)
	c := wait(t, a.SendCQ)
	assert.EqualValues(t, 3, c.ID())
}

func TestSpuriousEvents(t *testing.T) {
	a, b := verbstest.Pair(t, verbstest.PairOptions{})
	receive(t, b)
	got := make(chan verbs.Completion, 1)
	go func() {
		wc := make([]verbs.Completion, 1)
		n, err := b.RecvCQ.Wait(t.Context(), wc)
		assert.NoError(t, err)
		assert.Equal(t, 1, n, "woken without a completion")
		got <- wc[0]
	}()
	for range 10 {
		b.Device.SpuriousEvents(b.QP, 100)
	}
	c := send(t, a)
	require.NoError(t, c.Err())
	c = <-got
	assert.NoError(t, c.Err())
}

func TestLateEvents(t *testing.T) {
	a, b := verbstest.Pair(t, verbstest.PairOptions{})
	b.Device.LateEvents(time.Millisecond)
	receive(t, b)
	got := make(chan verbs.Completion, 1)
	go func() { got <- wait(t, b.RecvCQ) }()
	c := send(t, a)
	require.NoError(t, c.Err())
	c = <-got
	assert.NoError(t, c.Err())
}

func TestFailAllocations(t *testing.T) {
	dev := verbstest.Open(t)
	dev.FailAllocations(1)
	_, err := dev.AllocPD()
	assert.ErrorIs(t, err, syscall.ENOMEM)
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	require.NoError(t, pd.Close())
}

func TestSetPort(t *testing.T) {
	a, b := verbstest.Pair(t, verbstest.PairOptions{Connect: few})
	receive(t, b)
	a.Device.SetPort(1, false)
	port, err := a.Device.Port(1)
	require.NoError(t, err)
	assert.Equal(t, verbs.PortDown, port.State)
	c := send(t, a)
	assert.ErrorIs(t, c.Err(), verbs.StatusRetryExceeded)
	a.Device.SetPort(1, true)
	port, err = a.Device.Port(1)
	require.NoError(t, err)
	assert.Equal(t, verbs.PortActive, port.State)
}

func TestRemove(t *testing.T) {
	here, there := verbstest.Open(t), verbstest.Open(t)
	a, b := verbstest.Pair(t, verbstest.PairOptions{Device: here, Peer: there, Connect: few})
	gone := make(chan error, 1)
	go func() {
		_, err := b.RecvCQ.Wait(t.Context(), make([]verbs.Completion, 1))
		gone <- err
	}()
	there.Remove()
	there.Remove() // once is enough
	assert.ErrorIs(t, <-gone, verbs.ErrDeviceGone)
	_, err := b.RecvCQ.Wait(t.Context(), make([]verbs.Completion, 1))
	assert.ErrorIs(t, err, verbs.ErrDeviceGone, "also for one that comes late")
	_, err = there.AllocPD()
	assert.ErrorIs(t, err, syscall.EIO)
	c := send(t, a)
	assert.ErrorIs(t, c.Err(), verbs.StatusRetryExceeded)
}

func TestFaultThatCannotBeInjected(t *testing.T) {
	a, _ := verbstest.Pair(t, verbstest.PairOptions{})
	f := newFake()
	problems := f.run(func() { verbstest.Open(f).Drop(a.QP, 1) })
	require.Len(t, problems, 1, "a queue pair of another device")
	f = newFake()
	problems = f.run(func() { verbstest.Open(f).SetPort(2, false) })
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "port 2")
}
