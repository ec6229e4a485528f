package conformance

import (
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var sharedReceiveCases = []Case{
	{"SRQServesManyQueuePairs", srqServes},
	{"SRQManyTurns", srqManyTurns},
	{"SRQFull", srqFull},
	{"SRQWrongRequests", srqWrongRequests},
	{"SRQOptionsAreChecked", srqChecks},
	{"SRQLimitEvent", srqLimit},
	{"SRQResize", srqResize},
	{"SRQCloseOrder", srqCloseOrder},
	{"SRQOutlivesItsQueuePairs", srqOutlives},
	{"SRQLosesNoReceive", srqLosesNone},
	{"SRQWithWaitingPoller", srqWaitingPoller},
	{"SRQReset", srqReset},
	{"SRQDatagrams", srqDatagrams},
	{"SRQWriteImmediate", srqWriteImm},
	{"SRQReceiverNotReady", srqNotReady},
}

func (r *Rig) srq(opts verbs.SRQOptions) *verbs.SRQ {
	srq, err := r.PD.CreateSRQ(opts)
	require.NoError(r, err)
	return srq
}

// sharedPair makes a connected pair whose second end takes from an SRQ.
func (r *Rig) sharedPair(srq *verbs.SRQ, connect verbs.ConnectOptions) (a, b *End) {
	a, b = r.end(pairOptions{}), r.end(pairOptions{qp: verbs.QPOptions{SRQ: srq}})
	r.connect(a, b, connect)
	return a, b
}

func (r *Rig) feed(srq *verbs.SRQ, id uint64, local ...verbs.SGE) {
	r.Helper()
	srq.RecvBatch().Recv(id, local...)
	n, err := srq.RecvBatch().Post()
	require.NoError(r, err)
	require.Equal(r, 1, n)
}

// say sends some bytes and waits for their completion.
func (e *End) say(text string, mr *verbs.MR) {
	e.r.Helper()
	copy(mr.Bytes(), text)
	e.QP.SendBatch().Send(1, mr.SGE(0, len(text)))
	e.post(1)
	e.r.good(e.sent(), 1, verbs.WCSend)
}

func srqServes(r *Rig) {
	r.covers("ibv_create_srq", "ibv_post_srq_recv", "ibv_destroy_srq")
	srq := r.srq(verbs.SRQOptions{MaxRecv: 16, MaxSGE: 2})
	src, dst := r.memory(64), r.memory(1600)
	for i := range 4 {
		srq.RecvBatch().Recv(uint64(70+i), dst.SGE(100*i, 3), dst.SGE(100*i+50, 50))
	}
	n, err := srq.RecvBatch().Post()
	require.NoError(r, err)
	require.Equal(r, 4, n)
	var ends []*End
	for i := range 4 {
		a, b := r.sharedPair(srq, verbs.ConnectOptions{})
		a.say([]string{"zero!", "one!!", "two!!", "three"}[i], src)
		ends = append(ends, b)
	}
	for i, b := range ends {
		c := b.received()
		r.good(c, uint64(70+i), verbs.WCRecv)
		require.Equal(r, b.QP.Num(), c.QPN())
		require.Equal(r, 5, c.Len())
		got := string(dst.Bytes()[100*i:][:3]) + string(dst.Bytes()[100*i+50:][:2])
		require.Equal(r, []string{"zero!", "one!!", "two!!", "three"}[i], got)
	}
	require.Equal(r, verbs.QueueStats{Posted: 4, Completed: 4}, srq.Stats())
}

// srqManyTurns: slots come back in whatever order they complete in.
func srqManyTurns(r *Rig) {
	const depth, rounds = 5, 60
	srq := r.srq(verbs.SRQOptions{MaxRecv: depth})
	src, dst := r.memory(8), r.memory(8*depth)
	var senders, receivers []*End
	for range 3 {
		a, b := r.sharedPair(srq, verbs.ConnectOptions{})
		senders, receivers = append(senders, a), append(receivers, b)
	}
	free := []int{0, 1, 2, 3, 4}
	for i := range rounds {
		for _, at := range free {
			srq.RecvBatch().Recv(uint64(at), dst.SGE(8*at, 8))
		}
		n, err := srq.RecvBatch().Post()
		require.NoError(r, err)
		require.Equal(r, len(free), n)
		require.Zero(r, srq.RecvBatch().Room())
		free = free[:0]
		// Two of the receivers get one each, and tell in the opposite order.
		first, second := i%3, (i+1)%3
		for _, k := range []int{first, second} {
			senders[k].say(string([]byte{byte(i), byte(k)}), src)
		}
		for _, k := range []int{second, first} {
			c := receivers[k].received()
			require.NoError(r, c.Err())
			at := int(c.ID())
			require.Equal(r, []byte{byte(i), byte(k)}, dst.Bytes()[8*at:][:2])
			free = append(free, at)
		}
	}
	require.Equal(r, uint64(2*rounds), srq.Stats().Completed)
}

func srqFull(r *Rig) {
	const depth = 4
	srq := r.srq(verbs.SRQOptions{MaxRecv: depth})
	a, b := r.sharedPair(srq, verbs.ConnectOptions{})
	mr := r.memory(64)
	fill := func(n int) (int, error) {
		for i := range n {
			srq.RecvBatch().Recv(uint64(i), mr.SGE(32, 8))
		}
		return srq.RecvBatch().Post()
	}
	require.Equal(r, depth, srq.RecvBatch().Room())
	n, err := fill(depth + 2)
	require.ErrorIs(r, err, verbs.ErrRecvQueueFull)
	require.Equal(r, depth, n)
	n, err = fill(1)
	require.ErrorIs(r, err, verbs.ErrRecvQueueFull)
	require.Zero(r, n)
	a.say("x", mr)
	r.good(b.received(), 0, verbs.WCRecv)
	require.Equal(r, 1, srq.RecvBatch().Room())
	n, err = fill(1)
	require.NoError(r, err)
	require.Equal(r, 1, n)
}

func srqWrongRequests(r *Rig) {
	srq := r.srq(verbs.SRQOptions{MaxRecv: 4})
	_, b := r.sharedPair(srq, verbs.ConnectOptions{})
	mr := r.memory(64)
	s := srq.RecvBatch()
	s.Recv(1, mr.SGE(0, 8))
	s.Recv(2, mr.SGE(60, 8))
	require.Equal(r, 2, s.Len())
	n, err := s.Post()
	require.ErrorContains(r, err, "request 2: piece 0")
	require.Zero(r, n)
	s.Recv(3, mr.SGE(0, 8), mr.SGE(8, 8))
	_, err = s.Post()
	require.ErrorContains(r, err, "MaxSGE")
	require.Equal(r, 4, s.Room(), "what was not posted takes no place")
	n, err = s.Post()
	require.NoError(r, err)
	require.Zero(r, n)

	b.QP.RecvBatch().Recv(1, mr.SGE(0, 8))
	_, err = b.QP.RecvBatch().Post()
	require.ErrorContains(r, err, "its SRQ")
}

func srqChecks(r *Rig) {
	a := r.Dev.Attributes()
	for _, o := range []verbs.SRQOptions{
		{MaxRecv: -1}, {MaxRecv: a.MaxSRQWR + 1}, {MaxSGE: -1}, {MaxSGE: a.MaxSRQSGE + 1},
	} {
		_, err := r.PD.CreateSRQ(o)
		require.Error(r, err, "%+v", o)
	}
	srq := r.srq(verbs.SRQOptions{})
	require.Error(r, srq.ArmLimit(-1))
	require.Error(r, srq.ArmLimit(1000))
	require.Error(r, srq.Resize(0))
	got, err := srq.Query()
	require.NoError(r, err)
	require.GreaterOrEqual(r, got.MaxRecv, 128)
	require.GreaterOrEqual(r, got.MaxSGE, 1)
	require.Zero(r, got.Limit)
	require.NoError(r, srq.Close())
	require.NoError(r, srq.CloseAll())
	require.ErrorIs(r, srq.ArmLimit(1), verbs.ErrClosed)
	_, err = srq.Query()
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = srq.RecvBatch().Post()
	require.ErrorIs(r, err, verbs.ErrClosed)
	require.Zero(r, srq.Stats())
	cq := r.cq(verbs.CQOptions{})
	_, err = r.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, SRQ: srq})
	require.ErrorIs(r, err, verbs.ErrClosed)
}

// srqLimit: the event comes once for each time that it was asked for.
func srqLimit(r *Rig) {
	r.covers("ibv_modify_srq", "ibv_query_srq", "ibv_get_async_event", "ibv_ack_async_event")
	srq := r.srq(verbs.SRQOptions{MaxRecv: 8})
	a, b := r.sharedPair(srq, verbs.ConnectOptions{})
	mr := r.memory(64)
	events := r.events()
	for turn := range 2 {
		for srq.RecvBatch().Room() > 0 {
			srq.RecvBatch().Recv(1, mr.SGE(32, 8))
		}
		_, err := srq.RecvBatch().Post()
		require.NoError(r, err)
		require.NoError(r, srq.ArmLimit(6))
		got, err := srq.Query()
		require.NoError(r, err)
		require.Equal(r, 6, got.Limit)
		for range 4 {
			a.say("x", mr)
			r.good(b.received(), 1, verbs.WCRecv)
		}
		ev := r.event(events, verbs.EventSRQLimit)
		require.Same(r, srq, ev.SRQ)
		require.Nil(r, ev.QP)
		got, err = srq.Query()
		require.NoError(r, err)
		require.Zero(r, got.Limit, "turn %d: it is not armed any more", turn)
	}
	require.NoError(r, b.QP.Close())
	require.NoError(r, srq.Close())
	require.NoError(r, events.Close())
	r.ended(events, verbs.ErrClosed)
}

func srqResize(r *Rig) {
	srq := r.srq(verbs.SRQOptions{MaxRecv: 2})
	a, b := r.sharedPair(srq, verbs.ConnectOptions{})
	src, dst := r.memory(8), r.memory(64)
	for i := range 2 {
		r.feed(srq, uint64(i), dst.SGE(i, 1))
	}
	require.NoError(r, srq.Resize(6))
	require.Equal(r, 4, srq.RecvBatch().Room())
	for i := 2; i < 6; i++ {
		srq.RecvBatch().Recv(uint64(i), dst.SGE(i, 1))
	}
	n, err := srq.RecvBatch().Post()
	require.NoError(r, err)
	require.Equal(r, 4, n)
	for i := range 6 {
		a.say(string([]byte{byte(10 + i)}), src)
		r.good(b.received(), uint64(i), verbs.WCRecv)
	}
	require.Equal(r, []byte{10, 11, 12, 13, 14, 15}, dst.Bytes()[:6])
	require.NoError(r, srq.Resize(3))
	require.Equal(r, 3, srq.RecvBatch().Room())
	r.feed(srq, 99, dst.SGE(0, 1))
	a.say("z", src)
	r.good(b.received(), 99, verbs.WCRecv)
}

func srqCloseOrder(r *Rig) {
	srq := r.srq(verbs.SRQOptions{})
	_, b := r.sharedPair(srq, verbs.ConnectOptions{})
	err := srq.Close()
	require.ErrorIs(r, err, verbs.ErrBusy)
	require.ErrorContains(r, err, "QP")
	require.ErrorContains(r, r.PD.Close(), "SRQ of 128")
	require.NoError(r, b.QP.Close())
	require.NoError(r, srq.Close())
}

// srqOutlives: closing a queue pair leaves receives that it had not taken, and
// completions that had come stay to be polled.
func srqOutlives(r *Rig) {
	srq := r.srq(verbs.SRQOptions{MaxRecv: 8})
	a, b := r.sharedPair(srq, verbs.ConnectOptions{})
	mr := r.memory(64)
	for i := range 4 {
		r.feed(srq, uint64(i), mr.SGE(32+i, 1))
	}
	a.say("A", mr)
	require.NoError(r, b.QP.Close())
	r.good(b.received(), 0, verbs.WCRecv)
	r.quiet(b.Recv)
	require.NoError(r, b.Recv.Close())
	a2, b2 := r.sharedPair(srq, verbs.ConnectOptions{})
	for i := 1; i < 4; i++ {
		a2.say(string([]byte{byte('A' + i)}), mr)
		r.good(b2.received(), uint64(i), verbs.WCRecv)
	}
	require.Equal(r, "ABCD", string(mr.Bytes()[32:36]))
	require.Equal(r, 8, srq.RecvBatch().Room())
	require.NoError(r, b2.QP.Close())
	require.NoError(r, srq.Close())
	r.quiet(b2.Recv)
}

// srqLosesNone closes queue pairs in the middle of messages: each receive
// either completes or stays in the queue.
func srqLosesNone(r *Rig) {
	if r.softRoCE() {
		testutil.RequireKernelFeature(r, testutil.FeatureSRQFlush)
	}
	const receives, size = 8, 1 << 16
	srq := r.srq(verbs.SRQOptions{MaxRecv: receives})
	src, dst := r.memory(size), r.memory(size)
	for i := range receives {
		r.feed(srq, uint64(i), dst.SGE(0, size))
	}
	completed := 0
	wc := make([]verbs.Completion, receives)
	for range 3 {
		a, b := r.sharedPair(srq, quick)
		a.QP.SendBatch().Send(1, src.SGE(0, size))
		a.QP.SendBatch().Send(2, src.SGE(0, size))
		a.post(2)
		require.NoError(r, b.QP.Close())
		n, err := b.Recv.Poll(wc)
		require.NoError(r, err)
		for _, c := range wc[:n] {
			if c.Err() != nil {
				require.Equal(r, verbs.StatusFlushed, c.Status())
			}
		}
		completed += n
		require.NoError(r, a.QP.Close())
	}
	require.Equal(r, uint64(completed), srq.Stats().Completed)
	require.Equal(r, completed, srq.RecvBatch().Room())
	a, b := r.sharedPair(srq, verbs.ConnectOptions{})
	for range receives - completed {
		a.QP.SendBatch().Send(3, src.SGE(0, 8))
		a.post(1)
		r.good(a.sent(), 3, verbs.WCSend)
		require.NoError(r, b.received().Err())
	}
	require.Equal(r, receives, srq.RecvBatch().Room())
}

// srqWaitingPoller closes a queue pair while another goroutine sleeps on its
// CQ: it gets what was on the way, and closing does not take its whole patience.
func srqWaitingPoller(r *Rig) {
	srq := r.srq(verbs.SRQOptions{MaxRecv: 64})
	mr := r.memory(64)
	for i := range 40 {
		r.feed(srq, uint64(i), mr.SGE(32, 8))
	}
	a, b := r.sharedPair(srq, verbs.ConnectOptions{})
	got := make(chan int)
	go func() {
		total := 0
		wc := make([]verbs.Completion, 3)
		for {
			n, err := b.Recv.Wait(r.ctx, wc)
			if err != nil {
				got <- total
				return
			}
			total += n
		}
	}()
	for range 20 {
		a.say("x", mr)
	}
	require.NoError(r, b.QP.Close())
	require.Equal(r, uint64(20), srq.Stats().Completed)
	require.NoError(r, b.Recv.Close())
	require.Equal(r, 20, <-got)
}

func srqReset(r *Rig) {
	srq := r.srq(verbs.SRQOptions{MaxRecv: 4})
	a, b := r.sharedPair(srq, verbs.ConnectOptions{})
	mr := r.memory(64)
	for i := range 3 {
		r.feed(srq, uint64(i), mr.SGE(32, 8))
	}
	a.say("x", mr)
	require.NoError(r, b.QP.Reset())
	require.NoError(r, a.QP.Reset())
	r.good(b.received(), 0, verbs.WCRecv)
	r.connect(a, b, verbs.ConnectOptions{})
	a.say("y", mr)
	r.good(b.received(), 1, verbs.WCRecv)
	require.Equal(r, "y", string(mr.Bytes()[32:33]))
}

func srqDatagrams(r *Rig) {
	srq := r.srq(verbs.SRQOptions{MaxRecv: 4})
	a := r.udEnd(verbs.QPOptions{})
	b, c := r.udEnd(verbs.QPOptions{SRQ: srq}), r.udEnd(verbs.QPOptions{SRQ: srq})
	mr := r.memory(512)
	r.feed(srq, 1, mr.SGE(100, 100))
	r.arrives(a, b, a.address(b), mr, 1)
	r.feed(srq, 2, mr.SGE(200, 100))
	r.arrives(a, c, a.address(c), mr, 2)
	require.Equal(r, "arrives", string(mr.Bytes()[200+verbs.GRHLen:][:7]))
}

func srqWriteImm(r *Rig) {
	srq := r.srq(verbs.SRQOptions{MaxRecv: 4})
	a, b := r.sharedPair(srq, verbs.ConnectOptions{})
	mr := r.memory(64)
	r.feed(srq, 5)
	copy(mr.Bytes(), "written")
	a.QP.SendBatch().WriteImm(1, 42, mr.Remote().At(32, 7), mr.SGE(0, 7))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
	c := b.received()
	r.good(c, 5, verbs.WCRecvRDMAWithImm)
	imm, ok := c.Imm()
	require.True(r, ok)
	require.Equal(r, uint32(42), imm)
	require.Equal(r, "written", string(mr.Bytes()[32:39]))
}

// srqNotReady: an empty queue makes the sender wait, and a receive that comes
// late is found.
func srqNotReady(r *Rig) {
	srq := r.srq(verbs.SRQOptions{MaxRecv: 4})
	a, b := r.sharedPair(srq, verbs.ConnectOptions{})
	mr := r.memory(64)
	copy(mr.Bytes(), "late")
	a.QP.SendBatch().Send(1, mr.SGE(0, 4))
	a.post(1)
	r.quiet(b.Recv)
	r.feed(srq, 2, mr.SGE(32, 8))
	r.good(b.received(), 2, verbs.WCRecv)
	r.good(a.sent(), 1, verbs.WCSend)
	require.Equal(r, "late", string(mr.Bytes()[32:36]))
}
