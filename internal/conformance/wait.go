package conformance

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var waitCases = []Case{
	{"PingPongOverEvents", pingPong},
	{"WaitersOfOneChannel", manyWaiters},
	{"WaitersComeAndGo", waitersComeAndGo},
	{"WaitCancelled", waitCancelled},
	{"WaitDeadline", waitDeadline},
	{"WaitIsGoodAfterCancel", waitAfterCancel},
	{"CancelledWaitKeepsTheBuffer", cancelKeepsBuffer},
	{"CloseWakesWait", closeWakesWait},
	{"CloseWakesSpin", closeWakesSpin},
	{"SpinGetsCompletions", spin},
	{"SpinCancelled", spinCancelled},
	{"SolicitedOnly", solicitedOnly},
	{"WaitWithoutEvents", waitWithoutEvents},
	{"EventsPileUpAndAreAcknowledged", eventsPileUp},
}

// pingPong loses no wake-up: both ends sleep before each message.
func pingPong(r *Rig) {
	r.covers("ibv_create_comp_channel", "ibv_req_notify_cq", "ibv_get_cq_event",
		"ibv_ack_cq_events", "ibv_destroy_comp_channel")
	const rounds = 200
	a, b := r.pair(pairOptions{})
	mr := r.memory(16)
	echo := make(chan error, 1)
	b.receive(0, mr.SGE(8, 8))
	go func() {
		wc := make([]verbs.Completion, 1)
		for i := range rounds {
			if _, err := b.Recv.Wait(r.ctx, wc); err != nil {
				echo <- err
				return
			}
			b.QP.RecvBatch().Recv(uint64(i), mr.SGE(8, 8))
			if _, err := b.QP.RecvBatch().Post(); err != nil {
				echo <- err
				return
			}
			b.QP.SendBatch().Send(uint64(i), mr.SGE(0, 8))
			if _, err := b.QP.SendBatch().Post(); err != nil {
				echo <- err
				return
			}
			if _, err := b.Send.Wait(r.ctx, wc); err != nil {
				echo <- err
				return
			}
		}
		echo <- nil
	}()
	for i := range rounds {
		a.receive(uint64(i), mr.SGE(8, 8))
		a.QP.SendBatch().Send(uint64(i), mr.SGE(0, 8))
		a.post(1)
		r.good(a.sent(), uint64(i), verbs.WCSend)
		r.good(a.received(), uint64(i), verbs.WCRecv)
	}
	require.NoError(r, <-echo)
}

// manyWaiters has goroutines asleep on many CQs; each gets its own completion.
func manyWaiters(r *Rig) {
	const pairs = 16
	mr := r.memory(pairs)
	type got struct {
		want uint64
		id   uint64
		err  error
	}
	results := make(chan got, pairs)
	senders := make([]*End, pairs)
	for i := range pairs {
		a, b := r.pair(pairOptions{})
		senders[i] = a
		b.receive(uint64(i), mr.SGE(i, 1))
		go func() {
			wc := make([]verbs.Completion, 1)
			_, err := b.Recv.Wait(r.ctx, wc)
			results <- got{uint64(i), wc[0].ID(), err}
		}()
	}
	for _, a := range senders {
		a.QP.SendBatch().Send(1, mr.SGE(0, 1))
		a.post(1)
	}
	for range pairs {
		g := <-results
		require.NoError(r, g.err)
		require.Equal(r, g.want, g.id)
	}
}

// waitersComeAndGo has goroutines asleep on many CQs of which some give up all the
// time, and others' CQs are closed under them. Nobody else may miss an event by it.
func waitersComeAndGo(r *Rig) {
	const pairs, rounds = 6, 40
	mr := r.memory(pairs)
	var wg sync.WaitGroup
	start := func(f func()) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f()
		}()
	}
	for i := range pairs {
		a, b := r.pair(pairOptions{})
		b.receive(0, mr.SGE(i, 1))
		start(func() {
			wc := make([]verbs.Completion, 1)
			for got := 0; got < rounds; {
				ctx, cancel := r.ctx, context.CancelFunc(func() {})
				if i%2 == 0 {
					ctx, cancel = context.WithTimeout(r.ctx, time.Duration(i+1)*time.Millisecond)
				}
				n, err := b.Recv.Wait(ctx, wc)
				cancel()
				if n == 0 && errors.Is(err, context.DeadlineExceeded) && r.ctx.Err() == nil {
					continue
				}
				if !assert.NoError(r, err) {
					return
				}
				got++
				b.QP.RecvBatch().Recv(uint64(got), mr.SGE(i, 1))
				_, err = b.QP.RecvBatch().Post()
				if !assert.NoError(r, err) || got == rounds {
					return
				}
			}
		})
		start(func() {
			wc := make([]verbs.Completion, 1)
			for n := range rounds {
				time.Sleep(time.Duration(n*(i+1)%7) * 100 * time.Microsecond)
				a.QP.SendBatch().Send(uint64(n), mr.SGE(i, 1))
				_, err := a.QP.SendBatch().Post()
				if !assert.NoError(r, err) {
					return
				}
				if _, err = a.Send.Wait(r.ctx, wc); !assert.NoError(r, err) || !assert.NoError(r, wc[0].Err()) {
					return
				}
			}
		})
	}
	for range rounds / 4 {
		cq := r.cq(verbs.CQOptions{Events: true})
		start(func() {
			_, err := cq.Wait(r.ctx, make([]verbs.Completion, 1))
			assert.ErrorIs(r, err, verbs.ErrClosed)
		})
		time.Sleep(time.Millisecond)
		require.NoError(r, cq.Close())
	}
	wg.Wait()
}

func waitCancelled(r *Rig) {
	cq := r.cq(verbs.CQOptions{Events: true})
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := cq.Wait(ctx, make([]verbs.Completion, 1))
		done <- err
	}()
	cancel()
	require.ErrorIs(r, <-done, context.Canceled)
}

func waitDeadline(r *Rig) {
	cq := r.cq(verbs.CQOptions{Events: true})
	ctx, cancel := context.WithTimeout(r.ctx, 5*time.Millisecond)
	defer cancel()
	_, err := cq.Wait(ctx, make([]verbs.Completion, 1))
	require.ErrorIs(r, err, context.DeadlineExceeded)
}

// waitAfterCancel cancels many waits: a later one must still wake.
func waitAfterCancel(r *Rig) {
	a, b := r.pair(pairOptions{})
	mr := r.memory(2)
	wc := make([]verbs.Completion, 1)
	for i := range 50 {
		ctx, cancel := context.WithCancel(r.ctx)
		go cancel()
		_, err := b.Recv.Wait(ctx, wc)
		require.ErrorIs(r, err, context.Canceled)
		b.receive(uint64(i), mr.SGE(1, 1))
		a.QP.SendBatch().Send(uint64(i), mr.SGE(0, 1))
		a.post(1)
		r.good(b.received(), uint64(i), verbs.WCRecv)
		r.good(a.sent(), uint64(i), verbs.WCSend)
	}
}

// cancelKeepsBuffer: who gives up waiting for a receive gives up waiting only.
// The device still has the buffer, and the completion says when it has it no
// more.
func cancelKeepsBuffer(r *Rig) {
	a, b := r.pair(pairOptions{})
	mr := r.memory(64)
	b.receive(1, mr.SGE(32, 8))
	ctx, cancel := context.WithTimeout(r.ctx, time.Millisecond)
	defer cancel()
	_, err := b.Recv.Wait(ctx, make([]verbs.Completion, 1))
	require.ErrorIs(r, err, context.DeadlineExceeded)
	requireZero(r, mr.Bytes())
	copy(mr.Bytes(), "too late")
	a.QP.SendBatch().Send(1, mr.SGE(0, 8))
	a.post(1)
	r.good(b.received(), 1, verbs.WCRecv)
	require.Equal(r, "too late", string(mr.Bytes()[32:40]))
}

func closeWakesWait(r *Rig) {
	cq := r.cq(verbs.CQOptions{Events: true})
	closeWakes(r, cq, cq.Wait)
}

func closeWakesSpin(r *Rig) {
	cq := r.cq(verbs.CQOptions{})
	closeWakes(r, cq, cq.Spin)
}

func closeWakes(r *Rig, cq *verbs.CQ, wait func(context.Context, []verbs.Completion) (int, error)) {
	inside := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		close(inside)
		_, err := wait(r.ctx, make([]verbs.Completion, 1))
		done <- err
	}()
	<-inside
	require.NoError(r, cq.Close())
	require.ErrorIs(r, <-done, verbs.ErrClosed)
}

func spin(r *Rig) {
	a, _ := r.pair(pairOptions{})
	mr := r.memory(16)
	wc := make([]verbs.Completion, 4)
	for i := range 20 {
		a.QP.SendBatch().Write(uint64(i), mr.Remote().At(8, 8), mr.SGE(0, 8))
		a.post(1)
		n, err := a.Send.Spin(r.ctx, wc)
		require.NoError(r, err)
		require.Equal(r, 1, n)
		r.good(&wc[0], uint64(i), verbs.WCRDMAWrite)
	}
}

func spinCancelled(r *Rig) {
	cq := r.cq(verbs.CQOptions{})
	ctx, cancel := context.WithTimeout(r.ctx, 5*time.Millisecond)
	defer cancel()
	_, err := cq.Spin(ctx, make([]verbs.Completion, 1))
	require.ErrorIs(r, err, context.DeadlineExceeded)
}

// solicitedOnly sleeps through plain messages and wakes for a solicited one.
func solicitedOnly(r *Rig) {
	a, b := r.pair(pairOptions{cq: verbs.CQOptions{SolicitedOnly: true}})
	mr := r.memory(16)
	wc := make([]verbs.Completion, 8)
	woken := make(chan int, 1)
	for i := range 3 {
		b.receive(uint64(i), mr.SGE(8, 8))
	}
	asleep := make(chan struct{})
	go func() {
		close(asleep)
		n, err := b.Recv.Wait(r.ctx, wc)
		assert.NoError(r, err)
		woken <- n
	}()
	<-asleep
	// Time to fall asleep: a wait that finds a completion returns at once.
	time.Sleep(50 * time.Millisecond)
	poll := func(id uint64) {
		_, err := a.Send.Spin(r.ctx, wc[7:])
		require.NoError(r, err)
		r.good(&wc[7], id, verbs.WCSend)
	}
	for i := range 2 {
		a.QP.SendBatch().Send(uint64(i), mr.SGE(0, 8))
		a.post(1)
		poll(uint64(i))
	}
	select {
	case <-woken:
		require.Fail(r, "woken without a solicited message")
	case <-time.After(50 * time.Millisecond):
	}
	a.QP.SendBatch().Send(2, mr.SGE(0, 8)).Solicited()
	a.post(1)
	select {
	case n := <-woken:
		require.Positive(r, n)
	case <-r.ctx.Done():
		require.Fail(r, "a solicited message did not wake")
	}
}

func waitWithoutEvents(r *Rig) {
	cq := r.cq(verbs.CQOptions{})
	_, err := cq.Wait(r.ctx, make([]verbs.Completion, 1))
	require.ErrorContains(r, err, "without Events")
}

// eventsPileUp lets more events arrive than are acknowledged at once, and then
// closes: destroying a CQ waits for every acknowledgement.
func eventsPileUp(r *Rig) {
	const rounds = 150
	a, b := r.pair(pairOptions{})
	mr := r.memory(16)
	for i := range rounds {
		b.receive(uint64(i), mr.SGE(8, 8))
		a.QP.SendBatch().Send(uint64(i), mr.SGE(0, 8))
		a.post(1)
		r.good(b.received(), uint64(i), verbs.WCRecv)
		r.good(a.sent(), uint64(i), verbs.WCSend)
	}
	require.NoError(r, b.QP.Close())
	require.NoError(r, b.Recv.Close())
}
