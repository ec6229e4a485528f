package conformance

import (
	"context"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var sendStateCases = []Case{
	{"DrainSendsAndResume", drainAndResume},
	{"ResumeSendsAtOnce", resumeAtOnce},
	{"DrainSendsWaits", drainWaits},
	{"DrainSendsCancelled", drainCancelled},
	{"ResumeNeedsAReason", resumeNeedsReason},
	{"ChangeInSQD", changeInSQD},
}

// drainAndResume: what is posted in SQD waits for Resume.
func drainAndResume(r *Rig) {
	a, b := r.pair(pairOptions{})
	src, dst := r.memory(64), r.memory(64)
	want := r.random(src)
	for range 3 {
		require.NoError(r, a.QP.DrainSends(r.ctx))
		state, err := a.QP.State()
		require.NoError(r, err)
		require.Equal(r, verbs.StateSQD, state)
		clear(dst.Bytes())
		a.QP.SendBatch().Write(9, dst.Remote(), src.SGE(0, 64))
		a.post(1)
		// It still answers: a read by the peer goes through.
		b.QP.SendBatch().Read(5, src.Remote().At(0, 8), dst.SGE(0, 8))
		b.post(1)
		r.good(b.sent(), 5, verbs.WCRDMARead)
		r.quiet(a.Send)
		requireZero(r, dst.Bytes()[8:])
		require.NoError(r, a.QP.Resume())
		a.QP.SendBatch().Write(10, dst.Remote().At(0, 1), src.SGE(0, 1))
		a.post(1)
		r.good(a.sent(), 9, verbs.WCRDMAWrite)
		r.good(a.sent(), 10, verbs.WCRDMAWrite)
		require.Equal(r, want, dst.Bytes())
	}
}

// resumeAtOnce: what waited goes on without another request that wakes the
// device. Soft-RoCE mostly needs one.
func resumeAtOnce(r *Rig) {
	a, _ := r.pair(pairOptions{})
	mr := r.memory(64)
	require.NoError(r, a.QP.DrainSends(r.ctx))
	a.QP.SendBatch().Write(1, mr.Remote(), mr.SGE(0, 8))
	a.post(1)
	require.NoError(r, a.QP.Resume())
	if r.softRoCE() {
		a.QP.SendBatch().Write(2, mr.Remote(), mr.SGE(0, 8)).Unsignaled()
		a.post(1)
	}
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
}

// drainWaits for what is under way: a message that finds no receive. Soft-RoCE
// takes a message that it has to send again for one that it has not begun.
func drainWaits(r *Rig) {
	a, b := r.pair(pairOptions{})
	mr := r.memory(64)
	a.QP.SendBatch().Send(1, mr.SGE(0, 8))
	a.post(1)
	done := make(chan error, 1)
	go func() { done <- a.QP.DrainSends(r.ctx) }()
	require.Eventually(r, func() bool {
		state, err := a.QP.State()
		require.NoError(r, err)
		return state == verbs.StateSQD
	}, patience, 1e6)
	b.receive(2, mr.SGE(32, 8))
	b.receive(3, mr.SGE(40, 8))
	require.NoError(r, <-done)
	if !r.softRoCE() {
		r.good(a.sent(), 1, verbs.WCSend)
	}
	require.NoError(r, a.QP.Resume())
	a.QP.SendBatch().Send(2, mr.SGE(0, 8))
	a.post(1)
	if r.softRoCE() {
		r.good(a.sent(), 1, verbs.WCSend)
	}
	r.good(a.sent(), 2, verbs.WCSend)
	r.good(b.received(), 2, verbs.WCRecv)
	r.good(b.received(), 3, verbs.WCRecv)
}

func drainCancelled(r *Rig) {
	a, _ := r.pair(pairOptions{})
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	require.ErrorIs(r, a.QP.DrainSends(ctx), context.Canceled)
	mr := r.memory(64)
	a.QP.SendBatch().Send(1, mr.SGE(0, 8))
	a.post(1)
	ctx, cancel = context.WithTimeout(r.ctx, 20*time.Millisecond)
	defer cancel()
	if err := a.QP.DrainSends(ctx); err != nil || !r.softRoCE() {
		require.ErrorIs(r, err, context.DeadlineExceeded)
	}
	require.NoError(r, a.QP.Close())
	r.bad(a.sent(), 1, verbs.StatusFlushed)
}

func resumeNeedsReason(r *Rig) {
	a, _ := r.pair(pairOptions{})
	require.ErrorContains(r, a.QP.Resume(), "state RTS")
	fresh := r.end(pairOptions{})
	require.ErrorContains(r, fresh.QP.DrainSends(r.ctx), "cannot go from RESET to SQD")
}

// changeInSQD changes what cannot be changed in RTS.
func changeInSQD(r *Rig) {
	a, _ := r.pair(pairOptions{})
	attr := verbs.QPAttr{Timeout: 12}
	require.ErrorContains(r, a.QP.Modify(attr, verbs.AttrTimeout), "does not take: timeout")
	require.NoError(r, a.QP.DrainSends(r.ctx))
	require.NoError(r, a.QP.Modify(attr, verbs.AttrTimeout))
	require.NoError(r, a.QP.Resume())
	got, err := a.QP.Query(verbs.AttrTimeout)
	require.NoError(r, err)
	require.Equal(r, uint8(12), got.Timeout)
	mr := r.memory(8)
	a.QP.SendBatch().Write(1, mr.Remote(), mr.SGE(0, 8))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
}
