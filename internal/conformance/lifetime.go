package conformance

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var lifetimeCases = []Case{
	{"CloseInWrongOrder", wrongOrder},
	{"DoubleClose", doubleClose},
	{"UseAfterClose", useAfterClose},
	{"CloseAll", closeAll},
	{"CloseWithReceivesPosted", closeWithReceives},
	{"CloseWithSendsInFlight", closeWithSends},
	{"CloseLeavesOthersCompletions", closeLeavesOthers},
	{"LeakIsListed", leakIsListed},
}

func wrongOrder(r *Rig) {
	a, _ := r.pair(pairOptions{})
	mr := r.memory(8)
	for _, c := range []struct {
		close func() error
		user  string
	}{
		{r.Dev.Close, "PD"}, {r.PD.Close, "MR of 8 bytes"}, {a.Send.Close, "QP"}, {a.Recv.Close, "QP"},
	} {
		err := c.close()
		require.ErrorIs(r, err, verbs.ErrBusy)
		require.ErrorContains(r, err, c.user)
	}
	a.QP.SendBatch().Write(1, mr.Remote(), mr.SGE(0, 8))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
}

func doubleClose(r *Rig) {
	r.covers("ibv_destroy_qp", "ibv_destroy_cq", "ibv_dereg_mr", "ibv_dealloc_pd", "ibv_close_device")
	a, b := r.pair(pairOptions{})
	mr := r.memory(8)
	for range 2 {
		require.NoError(r, a.QP.Close())
		require.NoError(r, b.QP.CloseAll())
		require.NoError(r, mr.Close())
		for _, e := range []*End{a, b} {
			require.NoError(r, e.Send.Close())
			require.NoError(r, e.Recv.Close())
		}
		require.NoError(r, r.PD.Close())
		require.NoError(r, r.Dev.Close())
	}
}

func useAfterClose(r *Rig) {
	a, b := r.pair(pairOptions{})
	mr := r.memory(8)
	peer := r.endpoint(b.QP)
	require.NoError(r, a.QP.Close())
	s := a.QP.SendBatch()
	s.Write(1, mr.Remote(), mr.SGE(0, 8)).Unsignaled().Fence().Solicited().Inline()
	_, err := s.Post()
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, _, err = s.PostAndPoll(nil)
	require.ErrorIs(r, err, verbs.ErrClosed)
	a.QP.RecvBatch().Recv(1, mr.SGE(0, 8))
	_, err = a.QP.RecvBatch().Post()
	require.ErrorIs(r, err, verbs.ErrClosed)
	require.ErrorIs(r, a.QP.Init(), verbs.ErrClosed)
	require.ErrorIs(r, a.QP.Err(), verbs.ErrClosed)
	require.ErrorIs(r, a.QP.Reset(), verbs.ErrClosed)
	require.ErrorIs(r, a.QP.Connect(r.ctx, peer, verbs.ConnectOptions{}), verbs.ErrClosed)
	_, err = a.QP.State()
	require.ErrorIs(r, err, verbs.ErrClosed)

	require.NoError(r, a.Send.Close())
	wc := make([]verbs.Completion, 1)
	_, err = a.Send.Poll(wc)
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = a.Send.Wait(r.ctx, wc)
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = a.Send.Spin(r.ctx, wc)
	require.ErrorIs(r, err, verbs.ErrClosed)
	require.Zero(r, a.Send.Depth())
	_, err = r.PD.CreateQP(verbs.QPOptions{SendCQ: a.Send, RecvCQ: a.Recv})
	require.ErrorIs(r, err, verbs.ErrClosed)

	require.NoError(r, r.PD.CloseAll())
	_, err = r.PD.AllocMR(8, verbs.MROptions{})
	require.ErrorIs(r, err, verbs.ErrClosed)

	require.NoError(r, r.Dev.CloseAll())
	_, err = r.Dev.AllocPD()
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = r.Dev.CreateCQ(verbs.CQOptions{})
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = r.Dev.Port(1)
	require.ErrorIs(r, err, verbs.ErrClosed)
}

func closeAll(r *Rig) {
	a, b := r.pair(pairOptions{})
	mr := r.memory(64)
	b.receive(1, mr.SGE(0, 8))
	a.QP.SendBatch().Send(1, mr.SGE(8, 8))
	a.post(1)
	require.NoError(r, r.Dev.CloseAll())
	_, err := a.Send.Poll(make([]verbs.Completion, 1))
	require.ErrorIs(r, err, verbs.ErrClosed)
	require.NoError(r, r.Dev.CloseAll())
}

// closeWithReceives: what was posted is delivered as flushed, after the queue
// pair is gone.
func closeWithReceives(r *Rig) {
	_, b := r.pair(pairOptions{})
	mr := r.memory(64)
	for i := range 5 {
		b.receive(uint64(10+i), mr.SGE(0, 8))
	}
	require.NoError(r, b.QP.Close())
	r.flushedRest(b.Recv, 10, 11, 12, 13, 14)
}

// closeWithSends: every request is accounted for, as done or as flushed, once
// and in order.
func closeWithSends(r *Rig) {
	const n = 16
	a, _ := r.pair(pairOptions{connect: verbs.ConnectOptions{MinRNRTimer: 20}})
	mr := r.memory(1 << 16)
	for i := range n {
		if i < n/2 {
			a.QP.SendBatch().Write(uint64(i), mr.Remote(), mr.SGE(0, 1<<12))
		} else {
			// Nobody receives these.
			a.QP.SendBatch().Send(uint64(i), mr.SGE(0, 1<<12))
		}
	}
	a.post(n)
	require.NoError(r, a.QP.Close())
	for i := range n {
		c := r.next(a.Send)
		require.Equal(r, uint64(i), c.ID())
		if i >= n/2 {
			require.Equal(r, verbs.StatusFlushed, c.Status())
		}
	}
	r.quiet(a.Send)
}

// closeLeavesOthers: draining one queue pair keeps what another has on the
// same CQ.
func closeLeavesOthers(r *Rig) {
	cq := r.cq(verbs.CQOptions{Events: true})
	var qps []*verbs.QP
	for range 2 {
		qp, err := r.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq})
		require.NoError(r, err)
		qps = append(qps, qp)
	}
	require.NoError(r, qps[0].Connect(r.ctx, r.endpoint(qps[1]), verbs.ConnectOptions{}))
	require.NoError(r, qps[1].Connect(r.ctx, r.endpoint(qps[0]), verbs.ConnectOptions{}))
	mr := r.memory(64)
	for i, qp := range qps {
		qp.RecvBatch().Recv(uint64(20+i), mr.SGE(0, 8))
		_, err := qp.RecvBatch().Post()
		require.NoError(r, err)
	}
	// The bytes of a read are here when its peer has done its part.
	mr.Bytes()[0] = 0xa5
	qps[0].SendBatch().Read(1, mr.Remote(), mr.SGE(8, 8))
	_, err := qps[0].SendBatch().Post()
	require.NoError(r, err)
	arrived := (*uint32)(unsafe.Pointer(&mr.Bytes()[8]))
	require.Eventually(r, func() bool { return atomic.LoadUint32(arrived) != 0 }, patience, 1e6)
	require.NoError(r, qps[1].Close())
	seen := map[uint64]verbs.Status{}
	for range 2 {
		c := r.next(cq)
		seen[c.ID()] = c.Status()
	}
	require.Equal(r, map[uint64]verbs.Status{1: verbs.StatusSuccess, 21: verbs.StatusFlushed}, seen)
	require.NoError(r, qps[0].Close())
	r.flushedRest(cq, 20)
}

// leakIsListed: what is dropped without Close is told with where it was made,
// and CloseAll finds it.
func leakIsListed(r *Rig) {
	func() { r.memory(12345) }()
	runtime.GC()
	var leak *life.Info
	for _, o := range life.Open() {
		if strings.HasPrefix(o.Name, "MR of 12345 bytes") {
			leak = &o
		}
	}
	require.NotNil(r, leak, "the region is not listed")
	require.Contains(r, leak.Stack, "leakIsListed")
	require.ErrorContains(r, r.PD.Close(), leak.Name)
	require.NoError(r, r.PD.CloseAll())
}

// Leaks lists what the suite left open.
func Leaks() error {
	var errs []error
	for _, o := range life.Open() {
		errs = append(errs, fmt.Errorf("%s, made at\n%s", o.Name, o.Stack))
	}
	return errors.Join(errs...)
}
