package conformance

import (
	"errors"
	"sync"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var hostileCases = []Case{
	{"BuildWhileClosing", buildWhileClosing},
	{"ResetAgainstClose", resetAgainstClose},
	{"CreateAgainstCQClose", createAgainstCQClose},
	{"ResetKeepsWhatHadCompleted", resetKeepsCompleted},
	{"CloseFitsAFullCQ", closeFitsFullCQ},
	{"ObjectsNeverMade", neverMade},
	{"EmptyPieceOutsideTheBuffer", emptyPieceOutside},
	{"InlineLimitIsChecked", inlineLimit},
}

// buildWhileClosing: a goroutine may go on building while another closes the
// queue pair, and the batch never outgrows its ring.
func buildWhileClosing(r *Rig) {
	const depth = 8
	a, _ := r.pair(pairOptions{qp: verbs.QPOptions{MaxSend: depth}})
	mr := r.memory(8)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	started := make(chan struct{})
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i := uint64(0); ; i++ {
			a.QP.SendBatch().Write(i, mr.Remote(), mr.SGE(0, 8)).Fence()
			assert.LessOrEqual(r, a.QP.SendBatch().Len(), depth)
			if i == depth {
				_, err := a.QP.SendBatch().Post()
				assert.ErrorIs(r, err, verbs.ErrSendQueueFull)
				close(started)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	<-started
	require.NoError(r, a.QP.Close())
	close(stop)
	wg.Wait()
	_, err := a.QP.SendBatch().Post()
	require.ErrorIs(r, err, verbs.ErrClosed)
}

func resetAgainstClose(r *Rig) {
	for range 10 {
		e := r.end(pairOptions{})
		begun, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			close(begun)
			for {
				if err := e.QP.Reset(); err != nil {
					ended <- err
					return
				}
			}
		}()
		<-begun
		require.NoError(r, e.QP.Close())
		require.ErrorIs(r, <-ended, verbs.ErrClosed)
	}
}

func createAgainstCQClose(r *Rig) {
	for range 5 {
		cq := r.cq(verbs.CQOptions{})
		begun, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			for i := 0; ; i++ {
				qp, err := r.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq})
				if err == nil {
					err = qp.Close()
				}
				if i == 0 {
					close(begun)
				}
				if err != nil {
					ended <- err
					return
				}
			}
		}()
		<-begun
		for {
			err := cq.Close()
			if err == nil {
				break
			}
			require.ErrorIs(r, err, verbs.ErrBusy)
			require.NoError(r, r.ctx.Err())
		}
		require.ErrorIs(r, <-ended, verbs.ErrClosed)
	}
}

// resetKeepsCompleted: what had completed and was not polled is told as it was.
func resetKeepsCompleted(r *Rig) {
	a, b := r.pair(pairOptions{})
	mr := r.memory(8)
	for i := range 3 {
		b.receive(uint64(10+i), mr.SGE(0, 8))
		a.QP.SendBatch().Send(uint64(i), mr.SGE(0, 8))
	}
	b.receive(13, mr.SGE(0, 8))
	a.post(3)
	r.good(a.sent(), 0, verbs.WCSend)
	r.good(a.sent(), 1, verbs.WCSend)
	r.good(a.sent(), 2, verbs.WCSend)
	require.NoError(r, b.QP.Reset())
	for i := range 3 {
		r.good(b.received(), uint64(10+i), verbs.WCRecv)
	}
	r.flushedRest(b.Recv, 13)
}

// closeFitsFullCQ: a CQ that holds just what was posted is not overrun by the
// closing of a queue pair, and its neighbour works on.
func closeFitsFullCQ(r *Rig) {
	const depth = 8
	cq := r.cq(verbs.CQOptions{Depth: 2 * depth, Events: true})
	var qps []*verbs.QP
	for range 2 {
		qp, err := r.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: r.cq(verbs.CQOptions{}), MaxSend: depth})
		require.NoError(r, err)
		require.NoError(r, qp.Connect(r.ctx, r.endpoint(qp), verbs.ConnectOptions{}))
		qps = append(qps, qp)
	}
	mr := r.memory(8)
	for k, qp := range qps {
		for i := range depth {
			qp.SendBatch().Write(uint64(k*depth+i), mr.Remote(), mr.SGE(0, 8))
		}
		n, err := qp.SendBatch().Post()
		require.NoError(r, err)
		require.Equal(r, depth, n)
	}
	require.NoError(r, qps[0].Close())
	seen := map[uint64]bool{}
	for range 2 * depth {
		c := r.next(cq)
		if c.ID() >= depth {
			require.NoError(r, c.Err())
		}
		require.False(r, seen[c.ID()], "twice")
		seen[c.ID()] = true
	}
	qps[1].SendBatch().Write(99, mr.Remote(), mr.SGE(0, 8))
	_, err := qps[1].SendBatch().Post()
	require.NoError(r, err)
	r.good(r.next(cq), 99, verbs.WCRDMAWrite)
}

// neverMade: an object that nobody made is a closed one.
func neverMade(r *Rig) {
	wc := make([]verbs.Completion, 1)
	_, err := new(verbs.CQ).Poll(wc)
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = new(verbs.CQ).Spin(r.ctx, wc)
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = new(verbs.CQ).Wait(r.ctx, wc)
	require.Error(r, err)
	_, err = new(verbs.PD).AllocMR(8, verbs.MROptions{})
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = new(verbs.PD).CreateQP(verbs.QPOptions{})
	require.ErrorIs(r, err, verbs.ErrClosed)
	qp := new(verbs.QP)
	_, err = qp.State()
	require.ErrorIs(r, err, verbs.ErrClosed)
	require.ErrorIs(r, qp.Reset(), verbs.ErrClosed)
	require.ErrorIs(r, qp.Connect(r.ctx, verbs.Endpoint{MTU: verbs.MTU1024}, verbs.ConnectOptions{}), verbs.ErrClosed)
	_, err = qp.SendBatch().Post()
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = qp.RecvBatch().Post()
	require.ErrorIs(r, err, verbs.ErrClosed)
	require.NoError(r, errors.Join(qp.Close(), new(verbs.CQ).Close(), new(verbs.PD).Close(), new(verbs.MR).Close()))
}

func emptyPieceOutside(r *Rig) {
	a, _ := r.pair(pairOptions{})
	mr := r.memory(8)
	for _, add := range []func(*verbs.SendBatch){
		func(s *verbs.SendBatch) { s.Write(1, mr.Remote().At(99, 0)) },
		func(s *verbs.SendBatch) { s.Write(1, mr.Remote().At(99, 0), mr.SGE(0, 0)) },
	} {
		add(a.QP.SendBatch())
		n, err := a.QP.SendBatch().Post()
		require.ErrorContains(r, err, "outside its buffer")
		require.Zero(r, n)
	}
}

func inlineLimit(r *Rig) {
	cq := r.cq(verbs.CQOptions{})
	_, err := r.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, MaxInline: 1 << 32})
	require.ErrorContains(r, err, "MaxInline")
}
