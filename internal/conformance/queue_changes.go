package conformance

import (
	"bytes"
	"log/slog"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var queueChangeCases = []Case{
	{"ResizeCQ", resizeCQ},
	{"ResizeCQKeepsCompletions", resizeKeeps},
	{"ModerateCQ", moderateCQ},
	{"StatsOfQueues", queueStats},
	{"LoggerGetsTheControlPath", logged},
}

func resizeCQ(r *Rig) {
	cq := r.cq(verbs.CQOptions{Depth: 10})
	require.NoError(r, cq.Resize(1000))
	require.GreaterOrEqual(r, cq.Depth(), 1000)
	for _, depth := range []int{0, -1, r.Dev.Attributes().MaxCQE + 1} {
		require.ErrorContains(r, cq.Resize(depth), "the device allows")
	}
	require.NoError(r, cq.Close())
	require.ErrorIs(r, cq.Resize(10), verbs.ErrClosed)
}

// resizeKeeps: what is on the queue stays in order, and the room is real.
func resizeKeeps(r *Rig) {
	r.covers("ibv_resize_cq")
	const small, more = 4, 300
	a, _ := r.pair(pairOptions{cq: verbs.CQOptions{Depth: small}, qp: verbs.QPOptions{MaxSend: small + more}})
	src, dst := r.memory(small+more), r.memory(small+more)
	want := r.random(src)
	write := func(from, n int) {
		for i := from; i < from+n; i++ {
			a.QP.SendBatch().Write(uint64(i), dst.Remote().At(uint64(i), 1), src.SGE(i, 1))
		}
		a.post(n)
	}
	write(0, small)
	require.NoError(r, a.Send.Resize(small+more))
	write(small, more)
	for i := range small + more {
		r.good(a.sent(), uint64(i), verbs.WCRDMAWrite)
	}
	require.Equal(r, want, dst.Bytes())
}

// moderateCQ: a device can or it says that it cannot.
func moderateCQ(r *Rig) {
	cq := r.cq(verbs.CQOptions{Events: true})
	require.Error(r, cq.Moderate(-1, 0))
	require.Error(r, cq.Moderate(1<<16, 0))
	require.Error(r, cq.Moderate(0, time.Second))
	if err := cq.Moderate(16, 10*time.Microsecond); err != nil {
		r.refuses(err, "ibv_modify_cq")
		return
	}
	r.covers("ibv_modify_cq")
	require.NoError(r, cq.Moderate(0, 0))
}

func queueStats(r *Rig) {
	a, b := r.pair(pairOptions{connect: quick})
	mr := r.memory(64)
	b.receive(1, mr.SGE(0, 8))
	b.receive(2, mr.SGE(0, 8))
	s := a.QP.SendBatch()
	s.Write(1, mr.Remote(), mr.SGE(0, 8)).Unsignaled()
	s.Send(2, mr.SGE(0, 8))
	a.post(2)
	r.good(a.sent(), 2, verbs.WCSend)
	r.good(b.received(), 1, verbs.WCRecv)
	require.Equal(r, verbs.QPStats{Send: verbs.QueueStats{Posted: 2, Completed: 1}}, a.QP.Stats())
	require.Equal(r, verbs.QPStats{Recv: verbs.QueueStats{Posted: 2, Completed: 1}}, b.QP.Stats())
	bad := mr.Remote()
	bad.RKey ^= 0x55
	s.Write(3, bad, mr.SGE(0, 8))
	a.post(1)
	r.bad(a.sent(), 3, verbs.StatusRemoteAccess)
	require.Equal(r, verbs.QueueStats{Posted: 3, Completed: 2, Failed: 1}, a.QP.Stats().Send)

	before := a.Send.Stats()
	require.Equal(r, uint64(2), before.Completions)
	require.Equal(r, before.Polls-before.EmptyPolls, before.Completions, "each came with a poll of its own")
	r.quiet(a.Send)
	after := a.Send.Stats()
	require.Equal(r, before.EmptyPolls+1, after.EmptyPolls)
	require.Equal(r, before.Polls+1, after.Polls)

	// A wait that is woken went to sleep and got an event.
	idle := r.cq(verbs.CQOptions{Events: true})
	require.Equal(r, verbs.CQStats{}, idle.Stats())
	x, y := r.pair(pairOptions{})
	y.receive(7, mr.SGE(0, 8))
	done := make(chan error, 1)
	go func() {
		_, err := y.Recv.Wait(r.ctx, make([]verbs.Completion, 1))
		done <- err
	}()
	require.Eventually(r, func() bool { return y.Recv.Stats().Waits > 0 }, patience, 1e6)
	x.QP.SendBatch().Send(1, mr.SGE(0, 8))
	x.post(1)
	require.NoError(r, <-done)
	require.Equal(r, uint64(1), y.Recv.Stats().Events)
}

func logged(r *Rig) {
	var text bytes.Buffer
	verbs.SetLogger(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer verbs.SetLogger(nil)
	a, b := r.pair(pairOptions{})
	_ = b
	require.NoError(r, a.QP.Close())
	verbs.SetLogger(nil)
	for _, want := range []string{"QP created", "to=RTR", "QP connected", "QP destroyed", "device=" + r.Dev.Name()} {
		require.Contains(r, text.String(), want)
	}
}
