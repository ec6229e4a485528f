package conformance

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var eventCases = []Case{
	{"EventNextCancelled", eventCancelled},
	{"EventQueueEnds", eventQueueEnds},
	{"EventOfOverflownCQ", eventOverflow},
	{"EventOfDrainedSendQueue", eventDrained},
	{"EventOfLastReceive", eventLastReceive},
	{"EventsOfClosedObjects", eventsOfClosed},
	{"EventsPastASlowConsumer", eventsPastSlow},
}

// softRoCE reports whether the device is the kernel's rdma_rxe, whose support
// table testutil has.
func (r *Rig) softRoCE() bool { return strings.HasPrefix(r.Dev.Name(), "rxe") }

func (r *Rig) events() *verbs.EventQueue {
	q, err := r.Dev.Events(verbs.EventOptions{})
	require.NoError(r, err)
	return q
}

// event waits for an event of a kind; others may come before it.
func (r *Rig) event(q *verbs.EventQueue, kind verbs.EventType) verbs.Event {
	r.Helper()
	for {
		ev, err := q.Next(r.ctx)
		require.NoError(r, err, "waiting for %v", kind)
		if ev.Type == kind {
			require.NotEmpty(r, ev.String())
			return ev
		}
	}
}

// ended checks that the queue has ended, after what is left in it.
func (r *Rig) ended(q *verbs.EventQueue, want error) {
	r.Helper()
	for {
		_, err := q.Next(r.ctx)
		if err != nil {
			require.ErrorIs(r, err, want)
			return
		}
	}
}

func eventCancelled(r *Rig) {
	q := r.events()
	ctx, cancel := context.WithTimeout(r.ctx, 5*time.Millisecond)
	defer cancel()
	_, err := q.Next(ctx)
	require.ErrorIs(r, err, context.DeadlineExceeded)
	require.NoError(r, q.Close())
	require.NoError(r, q.Close())
	r.ended(q, verbs.ErrClosed)
	_, err = r.Dev.Events(verbs.EventOptions{Depth: -1})
	require.Error(r, err)
}

func eventQueueEnds(r *Rig) {
	q := r.events()
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := q.Next(r.ctx); err != nil {
				done <- err
				return
			}
		}
	}()
	require.NoError(r, r.Dev.CloseAll())
	require.ErrorIs(r, <-done, verbs.ErrClosed)
	_, err := r.Dev.Events(verbs.EventOptions{})
	require.ErrorIs(r, err, verbs.ErrClosed)
}

// overflow fills a small CQ beyond what it holds.
func (r *Rig) overflow() (qp *verbs.QP, cq *verbs.CQ) {
	r.Helper()
	cq = r.cq(verbs.CQOptions{Depth: 2})
	n := cq.Depth() + 2
	ample := r.cq(verbs.CQOptions{Depth: 2 * n})
	qp, err := r.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: ample, MaxSend: n})
	require.NoError(r, err)
	b := r.end(pairOptions{})
	require.NoError(r, qp.Connect(r.ctx, r.endpoint(b.QP), verbs.ConnectOptions{}))
	require.NoError(r, b.QP.Connect(r.ctx, r.endpoint(qp), verbs.ConnectOptions{}))
	mr := r.memory(8)
	for i := range n {
		qp.SendBatch().Write(uint64(i), mr.Remote(), mr.SGE(0, 8))
	}
	// A device may stop taking requests when it finds the CQ full.
	_, err = qp.SendBatch().Post()
	if err != nil {
		var op *verbs.OpError
		require.ErrorAs(r, err, &op)
	}
	return qp, cq
}

func eventOverflow(r *Rig) {
	q := r.events()
	_, cq := r.overflow()
	ev := r.event(q, verbs.EventCQError)
	require.Same(r, cq, ev.CQ)
	require.Nil(r, ev.QP)
	require.Positive(r, r.Dev.Stats().AsyncEvents)
}

func eventDrained(r *Rig) {
	a, _ := r.pair(pairOptions{})
	q := r.events()
	require.NoError(r, a.QP.DrainSends(r.ctx))
	ev := r.event(q, verbs.EventSQDrained)
	require.Same(r, a.QP, ev.QP)
}

func eventLastReceive(r *Rig) {
	if r.softRoCE() {
		testutil.RequireKernelFeature(r, testutil.FeatureLastWQE)
	}
	srq := r.srq(verbs.SRQOptions{})
	_, b := r.sharedPair(srq, verbs.ConnectOptions{})
	q := r.events()
	require.NoError(r, b.QP.Err())
	ev := r.event(q, verbs.EventLastWQE)
	require.Same(r, b.QP, ev.QP)
}

// eventsOfClosed: destroying an object waits for the acknowledgement of its
// events, which nobody has looked at.
func eventsOfClosed(r *Rig) {
	q := r.events()
	srq := r.srq(verbs.SRQOptions{MaxRecv: 4})
	_, b := r.sharedPair(srq, verbs.ConnectOptions{})
	mr := r.memory(8)
	r.feed(srq, 1, mr.SGE(0, 8))
	require.NoError(r, srq.ArmLimit(1))
	qp, cq := r.overflow()
	r.event(q, verbs.EventCQError)
	require.NoError(r, b.QP.DrainSends(r.ctx))
	require.NoError(r, b.QP.Close())
	require.NoError(r, srq.Close())
	require.NoError(r, qp.Close())
	require.NoError(r, cq.Close())
}

// eventsPastSlow: who does not listen loses events, is told how many, and holds
// up nobody else.
func eventsPastSlow(r *Rig) {
	const rounds = 10
	slow, err := r.Dev.Events(verbs.EventOptions{Depth: 2})
	require.NoError(r, err)
	quick := r.events()
	a, _ := r.pair(pairOptions{})
	for range rounds {
		require.NoError(r, a.QP.DrainSends(r.ctx))
		r.event(quick, verbs.EventSQDrained)
		require.NoError(r, a.QP.Resume())
	}
	seen, lost := 0, 0
	for seen < 2 {
		ev, err := slow.Next(r.ctx)
		require.NoError(r, err)
		seen++
		lost += ev.Lost
	}
	require.NoError(r, a.QP.DrainSends(r.ctx))
	r.event(quick, verbs.EventSQDrained)
	ev := r.event(slow, verbs.EventSQDrained)
	lost += ev.Lost
	require.Positive(r, lost)
	require.Equal(r, r.Dev.Stats().AsyncEvents, uint64(seen+lost+1))
	require.Equal(r, uint64(lost), r.Dev.Stats().LostEvents)
	ctx, cancel := context.WithTimeout(r.ctx, time.Millisecond)
	defer cancel()
	_, err = slow.Next(ctx)
	require.True(r, errors.Is(err, context.DeadlineExceeded), "%v", err)
}
