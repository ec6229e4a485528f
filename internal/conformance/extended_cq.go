package conformance

import (
	"errors"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var extendedCQCases = []Case{
	{"ExtendedCQPoll", exCQPoll},
	{"ExtendedCQFieldByField", exCQFields},
	{"EndPollNeverFollowsFailedStart", exCQNoEnd},
	{"ExtendedCQFailedCompletion", exCQFailed},
	{"ExtendedCQPlainPolls", exCQPlain},
	{"ExtendedCQDatagram", exCQDatagram},
	{"ExtendedCQClosedQueuePair", exCQClosedQP},
	{"ExtendedCQTimestamps", exCQTimes},
	{"ExtendedCQFieldsItHasNot", exCQFieldsRefused},
	{"ExtendedCQFlags", exCQFlags},
	{"ExtendedCQConcurrentUse", exCQConcurrent},
}

// exchange has a send n messages with immediate, of lengths from 1 on, and waits
// until all were sent.
func (r *Rig) exchange(a, b *End, mr *verbs.MR, n int) {
	r.Helper()
	for i := range n {
		b.QP.RecvBatch().Recv(uint64(1000+i), mr.SGE(0, 64))
	}
	posted, err := b.QP.RecvBatch().Post()
	require.NoError(r, err)
	require.Equal(r, n, posted)
	for i := range n {
		a.QP.SendBatch().SendImm(uint64(i), uint32(0xa0b0c000+i), mr.SGE(64, 1+i))
	}
	a.post(n)
	for i := range n {
		r.good(a.sent(), uint64(i), verbs.WCSend)
	}
}

func exCQPoll(r *Rig) {
	r.covers("ibv_create_cq_ex", "ibv_start_poll", "ibv_end_poll", "ibv_wc_read_opcode", "ibv_wc_read_byte_len",
		"ibv_wc_read_imm_data", "ibv_wc_read_qp_num", "ibv_wc_read_src_qp", "ibv_wc_read_wc_flags", "ibv_wc_read_slid",
		"ibv_wc_read_sl", "ibv_wc_read_dlid_path_bits", "ibv_cq_ex_to_cq", "ibv_destroy_cq")
	a, b, cq := r.exCQPair(verbs.CQExOptions{}, verbs.ConnectOptions{})
	require.Equal(r, verbs.FieldsStandard, cq.Fields())
	mr := r.memory(256)
	// Batches that find fewer than they have room for, as many, and more.
	for _, room := range []int{1, 3, 8} {
		const n = 8
		r.exchange(a, b, mr, n)
		dst := make([]verbs.CompletionEx, room)
		for i := 0; i < n; {
			got, err := cq.Wait(r.ctx, dst)
			require.NoError(r, err)
			for _, c := range dst[:got] {
				r.good(&c.Completion, uint64(1000+i), verbs.WCRecv)
				require.Equal(r, 1+i, c.Len())
				imm, ok := c.Imm()
				require.True(r, ok)
				require.Equal(r, uint32(0xa0b0c000+i), imm)
				require.Equal(r, b.QP.Num(), c.QPN())
				flags, ok := c.Flags()
				require.True(r, ok)
				require.NotZero(r, flags&verbs.WCWithImm)
				_, ok = c.SLID()
				require.True(r, ok)
				sl, ok := c.ServiceLevel()
				require.True(r, ok)
				require.Zero(r, sl)
				_, ok = c.Timestamp()
				require.False(r, ok, "it was not asked for")
				_, ok = c.InvalidatedRKey()
				require.False(r, ok)
				i++
			}
		}
	}
	got, err := cq.Poll(make([]verbs.CompletionEx, 4))
	require.NoError(r, err)
	require.Zero(r, got, "nothing comes twice")
}

func exCQFields(r *Rig) {
	r.covers("ibv_start_poll", "ibv_end_poll", "ibv_wc_read_opcode", "ibv_wc_read_byte_len", "ibv_wc_read_imm_data",
		"ibv_wc_read_qp_num", "ibv_wc_read_wc_flags", "ibv_wc_read_vendor_err")
	if r.inProcess() {
		r.covers("ibv_next_poll") // older soft-RoCE providers must not be asked
	}
	a, b, cq := r.exCQPair(verbs.CQExOptions{}, verbs.ConnectOptions{})
	mr := r.memory(256)
	const n = 5
	r.exchange(a, b, mr, n)
	p := cq.Poller()
	for i := 0; i < n; {
		ok, err := p.Start()
		for ; ok; ok, err = p.Next() {
			require.Equal(r, uint64(1000+i), p.ID())
			require.NoError(r, p.Err())
			require.Equal(r, verbs.StatusSuccess, p.Status())
			op, ok := p.Opcode()
			require.True(r, ok)
			require.Equal(r, verbs.WCRecv, op)
			length, ok := p.Len()
			require.True(r, ok)
			require.Equal(r, 1+i, length)
			imm, ok := p.Imm()
			require.True(r, ok)
			require.Equal(r, uint32(0xa0b0c000+i), imm)
			require.Equal(r, b.QP.Num(), p.QPN())
			require.Zero(r, p.VendorErr())
			_, ok = p.InvalidatedRKey()
			require.False(r, ok)
			_, ok = p.FlowTag()
			require.False(r, ok)
			i++
			if i == 3 {
				p.End() // in the middle: the next poll goes on behind it
				break
			}
		}
		require.NoError(r, err)
	}
	_, ok := p.Opcode()
	require.False(r, ok, "no poll is open")
	r.quiet(cq.CQ())
	require.Equal(r, uint64(n), b.QP.Stats().Recv.Completed)
}

// exCQNoEnd: libraries before rdma-core 30 and after it differ in what an end
// without a beginning does; none of it is good (rdma-core#1470).
func exCQNoEnd(r *Rig) {
	a, b, cq := r.exCQPair(verbs.CQExOptions{}, verbs.ConnectOptions{})
	mr := r.memory(256)
	p := cq.Poller()
	for range 3 {
		ok, err := p.Start()
		require.NoError(r, err)
		require.False(r, ok)
		p.End()
		ok, err = p.Next()
		require.Error(r, err)
		require.False(r, ok)
		n, err := cq.Poll(make([]verbs.CompletionEx, 2))
		require.NoError(r, err)
		require.Zero(r, n)
	}
	for range 50 {
		r.exchange(a, b, mr, 2)
		for i := range 2 {
			c := r.nextEx(cq)
			r.good(&c.Completion, uint64(1000+i), verbs.WCRecv)
		}
		ok, err := p.Start()
		require.NoError(r, err)
		require.False(r, ok, "a completion came twice")
		p.End()
	}
}

func exCQFailed(r *Rig) {
	r.covers("ibv_wc_read_vendor_err", "ibv_wc_read_qp_num")
	_, b, cq := r.exCQPair(verbs.CQExOptions{}, quick)
	mr := r.memory(64)
	wrong := mr.Remote()
	wrong.RKey ^= 0x55
	b.QP.SendBatch().Write(7, wrong, mr.SGE(0, 8))
	b.post(1)
	c := r.nextEx(cq)
	r.bad(&c.Completion, 7, verbs.StatusRemoteAccess)
	require.Equal(r, b.QP.Num(), c.QPN())
	_, ok := c.SLID()
	require.False(r, ok)
	_, ok = c.Flags()
	require.False(r, ok)

	b.QP.SendBatch().Write(8, wrong, mr.SGE(0, 8))
	b.post(1)
	p := cq.Poller()
	r.eventually(func() bool {
		ok, err := p.Start()
		require.NoError(r, err)
		return ok
	})
	defer p.End()
	require.Equal(r, uint64(8), p.ID())
	require.Equal(r, verbs.StatusFlushed, p.Status())
	require.ErrorIs(r, p.Err(), verbs.StatusFlushed)
	require.Equal(r, b.QP.Num(), p.QPN())
	_, ok = p.Opcode()
	require.False(r, ok)
	_, ok = p.Len()
	require.False(r, ok)
	_, ok = p.Imm()
	require.False(r, ok)
}

// eventually asks again and again until done.
func (r *Rig) eventually(done func() bool) {
	r.Helper()
	for !done() {
		require.NoError(r, r.ctx.Err(), "nothing came")
		time.Sleep(time.Millisecond)
	}
}

// exCQPlain: what does not know extended queues has plain ones of them.
func exCQPlain(r *Rig) {
	a, b, cq := r.exCQPair(verbs.CQExOptions{}, verbs.ConnectOptions{})
	mr := r.memory(256)
	r.exchange(a, b, mr, 3)
	r.good(r.next(cq.CQ()), 1000, verbs.WCRecv)
	wc := make([]verbs.Completion, 1)
	n, err := cq.CQ().Spin(r.ctx, wc)
	require.NoError(r, err)
	require.Equal(r, 1, n)
	r.good(&wc[0], 1001, verbs.WCRecv)
	// The send side of b completes on the same queue.
	a.receive(5, mr.SGE(0, 64))
	b.QP.SendBatch().Send(6, mr.SGE(0, 4))
	posted, polled, err := b.QP.SendBatch().PostAndPoll(wc)
	require.NoError(r, err)
	require.Equal(r, 1, posted)
	require.Equal(r, 1, polled)
	r.good(&wc[0], 1002, verbs.WCRecv)
	r.good(r.next(cq.CQ()), 6, verbs.WCSend)
	r.good(a.received(), 5, verbs.WCRecv)
}

func exCQDatagram(r *Rig) {
	r.covers("ibv_wc_read_src_qp")
	cq := r.exCQ(verbs.CQExOptions{})
	a := r.udEnd(verbs.QPOptions{})
	qp, err := r.PD.CreateQP(verbs.QPOptions{Type: verbs.UD, SendCQ: cq.CQ(), RecvCQ: cq.CQ()})
	require.NoError(r, err)
	require.NoError(r, qp.Activate())
	b := &End{r: r, QP: qp, Send: cq.CQ(), Recv: cq.CQ()}
	mr := r.memory(512)
	ah := a.address(b)
	for _, lazily := range []bool{false, true} {
		b.receive(1, mr.SGE(0, 256))
		a.QP.SendBatch().SendTo(2, ah, b.QP.Num(), b.QP.QKey(), mr.SGE(256, 10))
		a.post(1)
		r.good(a.sent(), 2, verbs.WCSend)
		if !lazily {
			c := r.nextEx(cq)
			r.good(&c.Completion, 1, verbs.WCRecv)
			src, ok := c.SrcQP()
			require.True(r, ok)
			require.Equal(r, a.QP.Num(), src)
			continue
		}
		p := cq.Poller()
		r.eventually(func() bool {
			ok, err := p.Start()
			require.NoError(r, err)
			return ok
		})
		src, ok := p.SrcQP()
		require.True(r, ok)
		require.Equal(r, a.QP.Num(), src)
		_, ok = p.SLID()
		require.True(r, ok)
		_, ok = p.ServiceLevel()
		require.True(r, ok)
		_, ok = p.DLIDPathBits()
		require.True(r, ok)
		p.End()
	}
}

// exCQClosedQP: what a queue pair leaves is polled from an extended queue too.
func exCQClosedQP(r *Rig) {
	_, b, cq := r.exCQPair(verbs.CQExOptions{}, verbs.ConnectOptions{})
	mr := r.memory(64)
	for i := range 4 {
		b.receive(uint64(i), mr.SGE(0, 8))
	}
	require.NoError(r, b.QP.Close())
	for i := range 2 {
		c := r.nextEx(cq)
		r.bad(&c.Completion, uint64(i), verbs.StatusFlushed)
	}
	p := cq.Poller()
	ok, err := p.Start()
	require.NoError(r, err)
	require.True(r, ok)
	require.Equal(r, uint64(2), p.ID())
	require.Equal(r, verbs.StatusFlushed, p.Status())
	ok, err = p.Next()
	require.NoError(r, err)
	require.True(r, ok)
	require.Equal(r, uint64(3), p.ID())
	ok, err = p.Next()
	require.NoError(r, err)
	require.False(r, ok)
	require.NoError(r, cq.Close())
}

func exCQTimes(r *Rig) {
	cq, err := r.Dev.CreateCQEx(verbs.CQExOptions{Fields: verbs.FieldTimestamp | verbs.FieldWallclockTime})
	if errors.Is(err, verbs.ErrNotSupported) {
		r.refuses(err, "ibv_create_cq_ex")
		return
	}
	require.NoError(r, err)
	require.NoError(r, cq.Close())
	r.covers("ibv_wc_read_completion_ts", "ibv_wc_read_completion_wallclock_ns")
	before := time.Now()
	a, b, cq := r.exCQPair(verbs.CQExOptions{Fields: verbs.FieldsStandard | verbs.FieldTimestamp | verbs.FieldWallclockTime},
		verbs.ConnectOptions{})
	mr := r.memory(256)
	r.exchange(a, b, mr, 3)
	first, second := r.nextEx(cq), r.nextEx(cq)
	one, ok := first.Timestamp()
	require.True(r, ok)
	two, ok := second.Timestamp()
	require.True(r, ok)
	require.GreaterOrEqual(r, two, one)
	at, ok := first.WallclockTime()
	require.True(r, ok)
	require.WithinRange(r, at, before, time.Now())
	p := cq.Poller()
	r.eventually(func() bool {
		ok, err := p.Start()
		require.NoError(r, err)
		return ok
	})
	three, ok := p.Timestamp()
	require.True(r, ok)
	require.GreaterOrEqual(r, three, two)
	at, ok = p.WallclockTime()
	require.True(r, ok)
	require.WithinRange(r, at, before, time.Now())
	p.End()
}

// exCQFieldsRefused asks for fields of packets that are none of RDMA's.
func exCQFieldsRefused(r *Rig) {
	for _, f := range []verbs.WCFields{verbs.FieldCVLAN, verbs.FieldFlowTag, verbs.FieldTag} {
		cq, err := r.Dev.CreateCQEx(verbs.CQExOptions{Fields: f})
		if err == nil {
			require.NoError(r, cq.Close())
			continue
		}
		require.ErrorIs(r, err, verbs.ErrNotSupported)
	}
	_, err := r.Dev.CreateCQEx(verbs.CQExOptions{CQOptions: verbs.CQOptions{Depth: -1}})
	require.ErrorContains(r, err, "depth -1")
}

func exCQFlags(r *Rig) {
	a, b, cq := r.exCQPair(verbs.CQExOptions{SingleThreaded: true}, verbs.ConnectOptions{})
	mr := r.memory(256)
	r.exchange(a, b, mr, 2)
	r.good(&r.nextEx(cq).Completion, 1000, verbs.WCRecv)
	r.good(&r.nextEx(cq).Completion, 1001, verbs.WCRecv)

	small, err := r.Dev.CreateCQEx(verbs.CQExOptions{CQOptions: verbs.CQOptions{Depth: 2, Events: true}, IgnoreOverrun: true})
	if errors.Is(err, verbs.ErrNotSupported) {
		r.refuses(err, "ibv_create_cq_ex")
		return
	}
	require.NoError(r, err)
	qp, err := r.PD.CreateQP(verbs.QPOptions{SendCQ: small.CQ(), RecvCQ: small.CQ()})
	require.NoError(r, err)
	end := &End{r: r, QP: qp, Send: small.CQ(), Recv: small.CQ()}
	other := r.end(pairOptions{})
	r.connect(end, other, verbs.ConnectOptions{})
	for i := range 6 {
		end.QP.SendBatch().Write(uint64(i), mr.Remote().At(128, 8), mr.SGE(0, 8))
	}
	end.post(6)
	r.eventually(func() bool {
		state, err := end.QP.State()
		require.NoError(r, err)
		return state == verbs.StateRTS
	})
	r.good(r.next(small.CQ()), 0, verbs.WCRDMAWrite)
	r.good(r.next(small.CQ()), 1, verbs.WCRDMAWrite)
	r.quiet(small.CQ())
}

func exCQConcurrent(r *Rig) {
	a, b, cq := r.exCQPair(verbs.CQExOptions{}, verbs.ConnectOptions{})
	mr := r.memory(256)
	r.exchange(a, b, mr, 2)
	p := cq.Poller()
	r.eventually(func() bool {
		ok, err := p.Start()
		require.NoError(r, err)
		return ok
	})
	_, err := cq.Poll(make([]verbs.CompletionEx, 1))
	require.ErrorIs(r, err, verbs.ErrConcurrentUse)
	_, err = cq.CQ().Poll(make([]verbs.Completion, 1))
	require.ErrorIs(r, err, verbs.ErrConcurrentUse)
	_, err = p.Start()
	require.ErrorIs(r, err, verbs.ErrConcurrentUse)
	p.End()
	r.good(&r.nextEx(cq).Completion, 1001, verbs.WCRecv)
	require.ErrorIs(r, cq.Close(), verbs.ErrBusy)
	require.NoError(r, cq.CloseAll())
	_, err = p.Start()
	require.ErrorIs(r, err, verbs.ErrClosed)
}
