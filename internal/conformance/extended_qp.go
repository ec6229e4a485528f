package conformance

import (
	"encoding/binary"
	"errors"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var extendedQPCases = []Case{
	{"BuildersMoveData", buildersMove},
	{"BuildersAtomics", buildersAtomics},
	{"BuildersPiecesOfUnequalLength", buildersPieces},
	{"BuildersInline", buildersInline},
	{"BuildersDatagram", buildersDatagram},
	{"BuildersUnreliable", buildersUC},
	{"BuildersAbort", buildersAbort},
	{"BuildersFlush", buildersFlush},
	{"BuildersAtomicWrite", buildersAtomicWrite},
	{"BuildersFullQueue", buildersFull},
	{"BuildersCarryWhatTheyWereMadeFor", buildersOps},
	{"PlainQueuePairHasNoBuilders", plainHasNone},
	{"ExtendedQueuePairOptions", exQPOptions},
	{"BuildersMemoryWindow", buildersWindow},
	{"BuildersCloseWithWork", buildersClose},
}

const (
	movers  = verbs.OpSend | verbs.OpSendImm | verbs.OpWrite | verbs.OpWriteImm | verbs.OpRead
	atomics = verbs.OpCompareSwap | verbs.OpFetchAdd
)

func buildersMove(r *Rig) {
	r.covers("ibv_create_qp_ex", "ibv_qp_to_qp_ex", "ibv_wr_start", "ibv_wr_complete", "ibv_wr_send", "ibv_wr_send_imm",
		"ibv_wr_rdma_write", "ibv_wr_rdma_write_imm", "ibv_wr_rdma_read", "ibv_wr_set_sge", "ibv_wr_set_sge_list")
	a, b := r.builtPair(verbs.QPExOptions{SendOps: movers}, verbs.ConnectOptions{})
	ops, err := a.QP.SendOps()
	require.NoError(r, err)
	require.Equal(r, movers, ops)
	src, dst := r.memory(1024), r.memory(1024)
	want := r.random(src)
	for i := range 4 {
		b.receive(uint64(100+i), dst.SGE(64*i, 64))
	}
	s := a.QP.SendBatch()
	s.Send(1, src.SGE(0, 64))
	s.SendImm(2, 0x01020304, src.SGE(64, 64))
	s.Write(3, dst.Remote().At(512, 64), src.SGE(512, 64))
	s.WriteImm(4, 0xfffefdfc, dst.Remote().At(576, 64), src.SGE(576, 64))
	s.Read(5, dst.Remote().At(512, 64), src.SGE(960, 64)).Fence()
	s.Send(6)
	a.post(6)
	for i, op := range []verbs.WCOpcode{verbs.WCSend, verbs.WCSend, verbs.WCRDMAWrite, verbs.WCRDMAWrite, verbs.WCRDMARead, verbs.WCSend} {
		r.good(a.sent(), uint64(1+i), op)
	}
	c := b.received()
	r.good(c, 100, verbs.WCRecv)
	_, ok := c.Imm()
	require.False(r, ok)
	c = b.received()
	r.good(c, 101, verbs.WCRecv)
	imm, ok := c.Imm()
	require.True(r, ok)
	require.Equal(r, uint32(0x01020304), imm)
	c = b.received()
	r.good(c, 102, verbs.WCRecvRDMAWithImm)
	imm, _ = c.Imm()
	require.Equal(r, uint32(0xfffefdfc), imm)
	c = b.received()
	r.good(c, 103, verbs.WCRecv)
	require.Zero(r, c.Len())
	require.Equal(r, want[:128], dst.Bytes()[:128])
	require.Equal(r, want[512:640], dst.Bytes()[512:640])
	require.Equal(r, src.Bytes()[512:576], src.Bytes()[960:])
}

func buildersAtomics(r *Rig) {
	r.needAtomics()
	r.covers("ibv_wr_atomic_cmp_swp", "ibv_wr_atomic_fetch_add")
	a, _ := r.builtPair(verbs.QPExOptions{SendOps: atomics}, verbs.ConnectOptions{})
	local, remote := r.memory(16), r.memory(16)
	setWord(remote, 1, 40)
	target := remote.Remote().At(8, 8)
	a.QP.SendBatch().FetchAdd(1, target, 2, local.SGE(0, 8))
	a.QP.SendBatch().CompareSwap(2, target, 42, 0x1122334455667788, local.SGE(8, 8))
	a.post(2)
	r.good(a.sent(), 1, verbs.WCFetchAdd)
	r.good(a.sent(), 2, verbs.WCCompareSwap)
	require.Equal(r, uint64(40), word(local, 0))
	require.Equal(r, uint64(42), word(local, 1))
	require.Equal(r, uint64(0x1122334455667788), word(remote, 1))
}

// buildersPieces: soft-RoCE's provider before rdma-core 64 counts the first
// piece's length for each.
func buildersPieces(r *Rig) {
	a, b := r.builtPair(verbs.QPExOptions{QPOptions: verbs.QPOptions{MaxSendSGE: 4}, SendOps: movers}, verbs.ConnectOptions{})
	src, dst := r.memory(512), r.memory(512)
	want := r.random(src)
	var all []byte
	s := a.QP.SendBatch()
	s.Write(1, dst.Remote().At(0, 8), src.SGE(0, 8))
	s.Write(2, dst.Remote().At(8, 101), src.SGE(8, 1), src.SGE(16, 60), src.SGE(100, 7), src.SGE(200, 33))
	s.Write(3, dst.Remote().At(109, 32), src.SGE(300, 16), src.SGE(400, 16))
	s.Write(4, dst.Remote().At(141, 40), src.SGE(50, 39), src.SGE(2, 1))
	a.post(4)
	for i := range 4 {
		r.good(a.sent(), uint64(1+i), verbs.WCRDMAWrite)
	}
	for _, p := range [][2]int{{0, 8}, {8, 1}, {16, 60}, {100, 7}, {200, 33}, {300, 16}, {400, 16}, {50, 39}, {2, 1}} {
		all = append(all, want[p[0]:p[0]+p[1]]...)
	}
	require.Equal(r, all, dst.Bytes()[:len(all)])
	requireZero(r, dst.Bytes()[len(all):])
	b.receive(9, dst.SGE(256, 128))
	s.Send(5, src.SGE(0, 3), src.SGE(10, 70))
	a.post(1)
	r.good(a.sent(), 5, verbs.WCSend)
	c := b.received()
	r.good(c, 9, verbs.WCRecv)
	require.Equal(r, 73, c.Len())
	require.Equal(r, append(append([]byte{}, want[:3]...), want[10:80]...), dst.Bytes()[256:329])
}

func buildersInline(r *Rig) {
	r.covers("ibv_wr_set_inline_data")
	if r.inProcess() {
		r.covers("ibv_wr_set_inline_data_list") // older soft-RoCE providers must not be asked
	}
	a, _ := r.builtPair(verbs.QPExOptions{QPOptions: verbs.QPOptions{MaxInline: 128, MaxSendSGE: 4}, SendOps: movers}, verbs.ConnectOptions{})
	src, dst := r.memory(128), r.memory(256)
	want := append([]byte{}, r.random(src)...)
	s := a.QP.SendBatch()
	s.Write(1, dst.Remote().At(0, 32), src.SGE(0, 32)).Inline()
	s.Write(2, dst.Remote().At(32, 60), src.SGE(64, 1), src.SGE(70, 50), src.SGE(0, 9)).Inline()
	a.post(2)
	clear(src.Bytes()) // the data was copied
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
	r.good(a.sent(), 2, verbs.WCRDMAWrite)
	all := append(append(append(append([]byte{}, want[:32]...), want[64]), want[70:120]...), want[:9]...)
	require.Equal(r, all, dst.Bytes()[:92])
	requireZero(r, dst.Bytes()[92:])
	s.Write(3, dst.Remote().At(0, 128), src.SGE(0, 128), src.SGE(0, 1)).Inline()
	_, err := s.Post()
	require.ErrorContains(r, err, "129 bytes")
}

func buildersDatagram(r *Rig) {
	r.covers("ibv_wr_set_ud_addr")
	opts := verbs.QPExOptions{QPOptions: verbs.QPOptions{Type: verbs.UD}, SendOps: verbs.OpSend | verbs.OpSendImm}
	a, b := r.builtEnd(opts), r.builtEnd(opts)
	require.NoError(r, a.QP.Activate())
	require.NoError(r, b.QP.Activate())
	mr := r.memory(512)
	want := r.random(mr)
	ah := a.address(b)
	for i := range 3 {
		b.receive(uint64(i), mr.SGE(128*i, 128))
	}
	want = append([]byte{}, want[400:420]...)
	a.QP.SendBatch().SendTo(1, ah, b.QP.Num(), b.QP.QKey(), mr.SGE(400, 20))
	a.QP.SendBatch().SendImmTo(2, 77, ah, b.QP.Num(), b.QP.QKey(), mr.SGE(400, 20))
	a.QP.SendBatch().SendTo(3, ah, b.QP.Num(), b.QP.QKey())
	a.post(3)
	for i := range 3 {
		r.good(a.sent(), uint64(1+i), verbs.WCSend)
		c := b.received()
		r.good(c, uint64(i), verbs.WCRecv)
		src, ok := c.SrcQP()
		require.True(r, ok)
		require.Equal(r, a.QP.Num(), src)
		if i == 2 {
			require.Equal(r, verbs.GRHLen, c.Len(), "an empty datagram")
			continue
		}
		require.Equal(r, verbs.GRHLen+20, c.Len())
		require.Equal(r, want, mr.Bytes()[128*i+verbs.GRHLen:][:20])
	}
}

func buildersUC(r *Rig) {
	a, b := r.builtPair(verbs.QPExOptions{
		QPOptions: verbs.QPOptions{Type: verbs.UC}, SendOps: verbs.OpSend | verbs.OpWrite | verbs.OpWriteImm,
	}, verbs.ConnectOptions{})
	src, dst := r.memory(128), r.memory(128)
	want := r.random(src)
	b.receive(1, dst.SGE(0, 64))
	a.QP.SendBatch().Write(2, dst.Remote().At(64, 64), src.SGE(64, 64))
	a.QP.SendBatch().Send(3, src.SGE(0, 64))
	a.post(2)
	r.good(a.sent(), 2, verbs.WCRDMAWrite)
	r.good(a.sent(), 3, verbs.WCSend)
	r.good(b.received(), 1, verbs.WCRecv)
	require.Equal(r, want, dst.Bytes())
}

func buildersAbort(r *Rig) {
	r.covers("ibv_wr_start", "ibv_wr_abort")
	a, _ := r.builtPair(verbs.QPExOptions{SendOps: movers}, verbs.ConnectOptions{})
	src, dst := r.memory(64), r.memory(64)
	want := r.random(src)
	s := a.QP.SendBatch()
	for i := range 5 {
		s.Write(uint64(i), dst.Remote(), src.SGE(0, 64))
	}
	require.NoError(r, s.Abort())
	require.Zero(r, s.Len())
	require.Equal(r, 128, s.Room(), "the places are free again")
	s.Write(9, dst.Remote().At(0, 8), src.SGE(0, 8))
	a.post(1)
	r.good(a.sent(), 9, verbs.WCRDMAWrite)
	r.quiet(a.Send)
	require.Equal(r, want[:8], dst.Bytes()[:8])
	requireZero(r, dst.Bytes()[8:])
	plain, _ := r.pair(pairOptions{})
	plain.QP.SendBatch().Write(1, dst.Remote(), src.SGE(0, 8))
	require.ErrorContains(r, plain.QP.SendBatch().Abort(), "no builders")
	require.Zero(r, plain.QP.SendBatch().Len())
}

func buildersFlush(r *Rig) {
	access := allRights | verbs.AccessFlushGlobal
	opts := verbs.QPExOptions{QPOptions: verbs.QPOptions{Access: access}, SendOps: movers | verbs.OpFlush}
	if !r.canBuild(opts) {
		r.kernelLacks(testutil.FeatureFlush, 45)
		return
	}
	r.covers("ibv_wr_flush")
	a, _ := r.builtPair(opts, quick)
	src, dst := r.memory(128), r.memoryWith(4096, access)
	want := r.random(src)
	s := a.QP.SendBatch()
	s.Write(1, dst.Remote().At(0, 128), src.SGE(0, 128))
	s.Flush(2, dst.Remote().At(0, 128), verbs.FlushGlobal, verbs.FlushRange)
	s.Flush(3, dst.Remote(), verbs.FlushGlobal, verbs.FlushRegion)
	a.post(3)
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
	r.good(a.sent(), 2, verbs.WCFlush)
	r.good(a.sent(), 3, verbs.WCFlush)
	require.Equal(r, want, dst.Bytes()[:128])
	for _, c := range []func(){
		func() { s.Flush(4, dst.Remote(), 0, verbs.FlushRange) },
		func() { s.Flush(4, dst.Remote(), verbs.FlushGlobal, 2) },
		func() { s.Flush(4, dst.Remote().At(0, 5000), verbs.FlushGlobal, verbs.FlushRange) },
	} {
		c()
		_, err := s.Post()
		require.Error(r, err)
	}
	// Memory that does not allow it.
	s.Flush(5, src.Remote(), verbs.FlushGlobal, verbs.FlushRange)
	a.post(1)
	r.bad(a.sent(), 5, verbs.StatusRemoteAccess, verbs.StatusRemoteInvalidRequest)
}

func buildersAtomicWrite(r *Rig) {
	opts := verbs.QPExOptions{SendOps: movers | verbs.OpAtomicWrite}
	if !r.canBuild(opts) {
		r.kernelLacks(testutil.FeatureAtomicWrite, 44)
		return
	}
	r.covers("ibv_wr_atomic_write")
	a, _ := r.builtPair(opts, verbs.ConnectOptions{})
	dst := r.memory(64)
	s := a.QP.SendBatch()
	s.AtomicWrite(1, dst.Remote().At(8, 8), 0x0123456789abcdef)
	s.AtomicWrite(2, dst.Remote().At(56, 8), 7)
	a.post(2)
	r.good(a.sent(), 1, verbs.WCAtomicWrite)
	r.good(a.sent(), 2, verbs.WCAtomicWrite)
	require.Equal(r, uint64(0x0123456789abcdef), word(dst, 1))
	require.Equal(r, uint64(7), binary.NativeEndian.Uint64(dst.Bytes()[56:]))
	requireZero(r, dst.Bytes()[:8])
	requireZero(r, dst.Bytes()[16:56])
	s.AtomicWrite(3, dst.Remote().At(4, 8), 1)
	_, err := s.Post()
	require.ErrorContains(r, err, "not a multiple of 8")
	s.AtomicWrite(4, dst.Remote().At(60, 4), 1)
	_, err = s.Post()
	require.Error(r, err)
}

func buildersFull(r *Rig) {
	a, _ := r.builtPair(verbs.QPExOptions{QPOptions: verbs.QPOptions{MaxSend: 4}, SendOps: movers}, verbs.ConnectOptions{})
	mr := r.memory(64)
	s := a.QP.SendBatch()
	for round := range 20 {
		for i := range 6 {
			s.Write(uint64(10*round+i), mr.Remote().At(32, 8), mr.SGE(0, 8))
		}
		n, err := s.Post()
		require.ErrorIs(r, err, verbs.ErrSendQueueFull)
		require.Equal(r, 4, n)
		for i := range 4 {
			r.good(a.sent(), uint64(10*round+i), verbs.WCRDMAWrite)
		}
	}
}

func buildersOps(r *Rig) {
	a, _ := r.builtPair(verbs.QPExOptions{SendOps: verbs.OpSend}, verbs.ConnectOptions{})
	mr := r.memory(64)
	s := a.QP.SendBatch()
	for _, c := range []struct {
		add  func()
		text string
	}{
		{func() { s.Write(1, mr.Remote(), mr.SGE(0, 8)) }, "without RDMA writes (SendOps)"},
		{func() { s.Read(1, mr.Remote(), mr.SGE(0, 8)) }, "without RDMA reads (SendOps)"},
		{func() { s.AtomicWrite(1, mr.Remote().At(0, 8), 1) }, "without atomic writes (SendOps)"},
	} {
		c.add()
		n, err := s.Post()
		require.ErrorContains(r, err, c.text)
		require.Zero(r, n)
	}
}

// plainHasNone: libraries have been known to crash here (sideway#101,
// perftest#100).
func plainHasNone(r *Rig) {
	a, _ := r.pair(pairOptions{})
	_, err := a.QP.SendOps()
	require.ErrorContains(r, err, "made without SendOps")
	mr := r.memory(64)
	s := a.QP.SendBatch()
	s.Flush(1, mr.Remote(), verbs.FlushGlobal, verbs.FlushRange)
	_, err = s.Post()
	require.ErrorIs(r, err, verbs.ErrNotSupported)
	s.AtomicWrite(2, mr.Remote().At(0, 8), 1)
	_, err = s.Post()
	require.ErrorIs(r, err, verbs.ErrNotSupported)
	s.Write(3, mr.Remote().At(8, 8), mr.SGE(0, 8))
	a.post(1)
	r.good(a.sent(), 3, verbs.WCRDMAWrite)
	// Made by the extended verb, without builders.
	e := r.builtEnd(verbs.QPExOptions{})
	_, err = e.QP.SendOps()
	require.ErrorContains(r, err, "made without SendOps")
}

func exQPOptions(r *Rig) {
	cq := r.cq(verbs.CQOptions{})
	base := verbs.QPOptions{SendCQ: cq, RecvCQ: cq}
	for _, o := range []verbs.QPExOptions{
		{SendOps: verbs.OpSegmentedSend},
		{CreateFlags: verbs.CreateScatterFCS},
		{SourceQPN: 5},
		{SendOps: 1 << 40},
	} {
		o.QPOptions = base
		qp, err := r.PD.CreateQPEx(o)
		if err == nil {
			require.NoError(r, qp.Close())
			continue
		}
		r.refuses(err, "ibv_create_qp_ex")
	}
	bad := base
	bad.Type = verbs.XRCRecv
	for _, o := range []verbs.QPExOptions{{QPOptions: base, MaxTSOHeader: 1 << 16}, {QPOptions: bad}, {QPOptions: base, Spread: &verbs.Spread{}}} {
		_, err := r.PD.CreateQPEx(o)
		require.Error(r, err)
		require.False(r, errors.Is(err, verbs.ErrNotSupported), "%v", err)
	}
}

func buildersClose(r *Rig) {
	a, _ := r.builtPair(verbs.QPExOptions{SendOps: movers}, verbs.ConnectOptions{Retries: 6, RNRRetries: 7})
	mr := r.memory(64)
	for i := range 5 {
		a.QP.SendBatch().Send(uint64(i), mr.SGE(0, 8)) // nobody receives
	}
	a.post(5)
	require.NoError(r, a.QP.Close())
	for i := range 5 {
		c := r.next(a.Send)
		require.Equal(r, uint64(i), c.ID())
		require.Error(r, c.Err())
	}
	r.quiet(a.Send)
}

// buildersWindow binds a window, lets a peer use it, and invalidates it from
// either side.
func buildersWindow(r *Rig) {
	r.covers("ibv_wr_bind_mw", "ibv_wr_local_inv", "ibv_wr_send_inv")
	if !r.softRoCE() {
		r.covers("ibv_wc_read_invalidated_rkey") // see invalidated
	}
	ops := movers | verbs.OpBindMW | verbs.OpLocalInv | verbs.OpSendInv
	cq := r.exCQ(verbs.CQExOptions{})
	a := r.builtEnd(verbs.QPExOptions{SendOps: ops})
	qp, err := r.PD.CreateQPEx(verbs.QPExOptions{QPOptions: verbs.QPOptions{SendCQ: cq.CQ(), RecvCQ: cq.CQ()}, SendOps: ops})
	require.NoError(r, err)
	b := &End{r: r, QP: qp, Send: cq.CQ(), Recv: cq.CQ()}
	r.connect(a, b, quick)
	mr, src := r.bindable(4096), r.memory(64)
	want := r.random(src)
	mw := r.window(verbs.MWType2)
	for round := range 2 {
		b.QP.SendBatch().BindMW(1, mw, verbs.Binding{MR: mr, Off: 64 * uint64(round), Len: 64, Access: verbs.AccessRemoteWrite})
		b.post(1)
		r.good(b.sent(), 1, verbs.WCBindMW)
		r.write(a, mw.Remote(), src)
		require.Equal(r, want, mr.Bytes()[64*round:][:64])
		key := mw.RKey()
		if round == 0 {
			b.QP.SendBatch().LocalInv(2, key)
			b.post(1)
			r.good(b.sent(), 2, verbs.WCLocalInv)
		} else {
			in := r.memory(8)
			b.receive(3, in.SGE(0, 8))
			a.QP.SendBatch().SendInv(4, key, src.SGE(0, 8))
			a.post(1)
			r.good(a.sent(), 4, verbs.WCSend)
			c := r.nextEx(cq)
			r.good(&c.Completion, 3, verbs.WCRecv)
			r.invalidated(&c.Completion, key)
			_, ok := c.Imm()
			require.False(r, ok)
		}
		require.True(r, mw.Invalidated(key))
	}
	require.NoError(r, mw.Close())
}
