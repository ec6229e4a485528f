package conformance

import (
	"errors"
	"os"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var xrcCases = []Case{
	{"XRCToSharedReceiveQueues", xrcSends},
	{"XRCReachesMemory", xrcMemory},
	{"XRCOpenQueuePair", xrcOpen},
	{"XRCDomainOfAFile", xrcFile},
	{"XRCLifetimes", xrcLifetimes},
	{"XRCTransitionsAreChecked", xrcTransitions},
}

// xrcSide is what one process has of XRC.
type xrcSide struct {
	xrcd *verbs.XRCD
	cq   *verbs.CQ
	srq  *verbs.SRQ
	num  uint32
}

// xrc opens a domain, or answers nil on a device that cannot.
func (r *Rig) xrc() *verbs.XRCD {
	r.Helper()
	x, err := r.Dev.OpenXRCD(verbs.XRCDOptions{})
	if errors.Is(err, verbs.ErrNotSupported) {
		r.refuses(err, "ibv_open_xrcd")
		return nil
	}
	require.NoError(r, err)
	return x
}

// xrcSRQ makes a shared receive queue in a domain.
func (r *Rig) xrcSRQ(x *verbs.XRCD) *xrcSide {
	r.Helper()
	s := &xrcSide{xrcd: x, cq: r.cq(verbs.CQOptions{Events: true})}
	var err error
	s.srq, err = r.PD.CreateSRQEx(verbs.SRQExOptions{XRCD: x, CQ: s.cq})
	require.NoError(r, err)
	s.num, err = s.srq.Number()
	require.NoError(r, err)
	return s
}

func (r *Rig) postShared(srq *verbs.SRQ, id uint64, local verbs.SGE) {
	r.Helper()
	srq.RecvBatch().Recv(id, local)
	_, err := srq.RecvBatch().Post()
	require.NoError(r, err)
}

// xrcPair connects a sending queue pair to a receiving one of the domain.
func (r *Rig) xrcPair(x *verbs.XRCD, opts verbs.QPExOptions, connect verbs.ConnectOptions) (a *End, target *verbs.QP) {
	r.Helper()
	a = &End{r: r, Send: r.cq(verbs.CQOptions{Events: true})}
	opts.Type, opts.SendCQ = verbs.XRCSend, a.Send
	var err error
	a.QP, err = r.PD.CreateQPEx(opts)
	require.NoError(r, err)
	target, err = x.CreateQP(verbs.QPOptions{})
	require.NoError(r, err)
	require.NoError(r, a.QP.Connect(r.ctx, r.endpoint(target), connect))
	require.NoError(r, target.Connect(r.ctx, r.endpoint(a.QP), connect))
	return a, target
}

func xrcSends(r *Rig) {
	x := r.xrc()
	if x == nil {
		return
	}
	r.covers("ibv_open_xrcd", "ibv_close_xrcd", "ibv_create_srq_ex", "ibv_get_srq_num", "ibv_create_qp_ex", "ibv_wr_set_xrc_srqn",
		"ibv_wr_send", "ibv_modify_qp", "ibv_destroy_srq")
	one, two := r.xrcSRQ(x), r.xrcSRQ(x)
	require.NotEqual(r, one.num, two.num)
	mr := r.memory(512)
	want := r.random(mr)
	want = append([]byte{}, want[256:320]...)
	for _, opts := range []verbs.QPExOptions{{}, {SendOps: movers}} {
		a, target := r.xrcPair(x, opts, verbs.ConnectOptions{})
		r.postShared(one.srq, 11, mr.SGE(0, 64))
		r.postShared(two.srq, 22, mr.SGE(64, 64))
		r.postShared(two.srq, 23, mr.SGE(128, 64))
		s := a.QP.SendBatch()
		s.Send(1, mr.SGE(256, 10)).ToSRQ(two.num)
		s.SendImm(2, 99, mr.SGE(266, 20)).ToSRQ(one.num)
		s.Send(3, mr.SGE(286, 30)).ToSRQ(two.num)
		a.post(3)
		for i := range 3 {
			r.good(a.sent(), uint64(1+i), verbs.WCSend)
		}
		c := r.next(one.cq)
		r.good(c, 11, verbs.WCRecv)
		require.Equal(r, target.Num(), c.QPN())
		imm, ok := c.Imm()
		require.True(r, ok)
		require.Equal(r, uint32(99), imm)
		r.good(r.next(two.cq), 22, verbs.WCRecv)
		r.good(r.next(two.cq), 23, verbs.WCRecv)
		require.Equal(r, want[10:30], mr.Bytes()[:20])
		require.Equal(r, want[:10], mr.Bytes()[64:74])
		require.Equal(r, want[30:60], mr.Bytes()[128:158])
		_, err := target.RecvBatch().Post()
		require.NoError(r, err)
		target.RecvBatch().Recv(1, mr.SGE(0, 8))
		_, err = target.RecvBatch().Post()
		require.Error(r, err, "it receives nothing itself")
		target.SendBatch().Send(1, mr.SGE(0, 8))
		_, err = target.SendBatch().Post()
		require.ErrorContains(r, err, "XRC_RECV")
		_, _, err = target.SendBatch().PostAndPoll(make([]verbs.Completion, 1))
		require.ErrorContains(r, err, "no send queue")
		require.NoError(r, a.QP.Close())
		require.NoError(r, target.Close())
	}
	require.Equal(r, uint64(6), one.srq.Stats().Completed+two.srq.Stats().Completed)
}

func xrcMemory(r *Rig) {
	x := r.xrc()
	if x == nil {
		return
	}
	s := r.xrcSRQ(x)
	mr := r.memory(256)
	want := append([]byte{}, r.random(mr)[:64]...)
	a, _ := r.xrcPair(x, verbs.QPExOptions{}, quick)
	b := a.QP.SendBatch()
	b.Write(1, mr.Remote().At(128, 64), mr.SGE(0, 64)).ToSRQ(s.num)
	b.Read(2, mr.Remote().At(128, 64), mr.SGE(64, 64)).ToSRQ(s.num)
	setWord(mr, 24, 5)
	b.FetchAdd(3, mr.Remote().At(192, 8), 7, mr.SGE(200, 8)).ToSRQ(s.num)
	a.post(3)
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
	r.good(a.sent(), 2, verbs.WCRDMARead)
	r.good(a.sent(), 3, verbs.WCFetchAdd)
	require.Equal(r, want, mr.Bytes()[128:192])
	require.Equal(r, want, mr.Bytes()[64:128])
	require.Equal(r, uint64(12), word(mr, 24))
	// A queue that is not there.
	b.Send(4, mr.SGE(0, 8)).ToSRQ(s.num ^ 0x5555)
	a.post(1)
	r.bad(a.sent(), 4, verbs.StatusRemoteInvalidRequest, verbs.StatusRemoteOperation)
}

func xrcOpen(r *Rig) {
	x := r.xrc()
	if x == nil {
		return
	}
	r.covers("ibv_open_qp")
	s := r.xrcSRQ(x)
	mr := r.memory(128)
	a, target := r.xrcPair(x, verbs.QPExOptions{}, verbs.ConnectOptions{})
	other, err := x.OpenQP(target.Num(), verbs.QPOptions{})
	require.NoError(r, err)
	require.Equal(r, target.Num(), other.Num())
	state, err := other.State()
	require.NoError(r, err)
	require.Equal(r, verbs.StateRTS, state)
	_, err = x.OpenQP(a.QP.Num(), verbs.QPOptions{})
	require.Error(r, err, "that one is of another type")
	require.NoError(r, target.Close())
	r.postShared(s.srq, 1, mr.SGE(0, 64))
	a.QP.SendBatch().Send(2, mr.SGE(64, 8)).ToSRQ(s.num)
	a.post(1)
	r.good(a.sent(), 2, verbs.WCSend)
	r.good(r.next(s.cq), 1, verbs.WCRecv)
	require.NoError(r, other.Close())
}

func xrcFile(r *Rig) {
	if r.xrc() == nil {
		return
	}
	f, err := os.CreateTemp(r.TempDir(), "xrc")
	require.NoError(r, err)
	defer f.Close()
	one, err := r.Dev.OpenXRCD(verbs.XRCDOptions{File: f, Exclusive: true})
	require.NoError(r, err)
	_, err = r.Dev.OpenXRCD(verbs.XRCDOptions{File: f, Exclusive: true})
	require.ErrorIs(r, err, os.ErrExist)
	two, err := r.Dev.OpenXRCD(verbs.XRCDOptions{File: f})
	require.NoError(r, err)
	// What is received through one handle goes to a queue of the other.
	s := r.xrcSRQ(two)
	mr := r.memory(128)
	a, _ := r.xrcPair(one, verbs.QPExOptions{}, verbs.ConnectOptions{})
	r.postShared(s.srq, 1, mr.SGE(0, 64))
	a.QP.SendBatch().Send(2, mr.SGE(64, 8)).ToSRQ(s.num)
	a.post(1)
	r.good(a.sent(), 2, verbs.WCSend)
	r.good(r.next(s.cq), 1, verbs.WCRecv)
}

func xrcLifetimes(r *Rig) {
	x := r.xrc()
	if x == nil {
		return
	}
	s := r.xrcSRQ(x)
	mr := r.memory(128)
	a, target := r.xrcPair(x, verbs.QPExOptions{}, verbs.ConnectOptions{})
	require.ErrorIs(r, x.Close(), verbs.ErrBusy)
	require.ErrorContains(r, s.cq.Close(), "SRQ of 128")
	// What the SRQ has on its CQ outlives the queue pair that received it.
	r.postShared(s.srq, 1, mr.SGE(0, 64))
	r.postShared(s.srq, 2, mr.SGE(0, 64))
	a.QP.SendBatch().Send(3, mr.SGE(64, 8)).ToSRQ(s.num)
	a.post(1)
	r.good(a.sent(), 3, verbs.WCSend)
	require.NoError(r, target.Close())
	r.good(r.next(s.cq), 1, verbs.WCRecv)
	_, err := r.PD.CreateSRQEx(verbs.SRQExOptions{XRCD: x})
	require.ErrorContains(r, err, "needs a CQ")
	_, err = r.PD.CreateSRQEx(verbs.SRQExOptions{CQ: s.cq})
	require.ErrorContains(r, err, "one of the two")
	_, err = r.PD.CreateQP(verbs.QPOptions{Type: verbs.XRCRecv})
	require.ErrorContains(r, err, "XRCD.CreateQP")
	_, err = r.PD.CreateQP(verbs.QPOptions{Type: verbs.XRCSend, SendCQ: s.cq, RecvCQ: s.cq})
	require.ErrorContains(r, err, "takes no RecvCQ")
	require.NoError(r, x.CloseAll())
	require.NoError(r, x.Close(), "closing again does nothing")
	_, err = x.CreateQP(verbs.QPOptions{})
	require.ErrorIs(r, err, verbs.ErrClosed)
}

func xrcTransitions(r *Rig) {
	x := r.xrc()
	if x == nil {
		return
	}
	target, err := x.CreateQP(verbs.QPOptions{})
	require.NoError(r, err)
	require.NoError(r, target.Init())
	err = target.Modify(verbs.QPAttr{State: verbs.StateRTR}, verbs.AttrState|verbs.AttrAV|verbs.AttrPathMTU|verbs.AttrDestQPN|
		verbs.AttrRQPSN|verbs.AttrMaxDestReads)
	require.ErrorContains(r, err, "needs: minimum RNR timer")
	cq := r.cq(verbs.CQOptions{})
	ini, err := r.PD.CreateQP(verbs.QPOptions{Type: verbs.XRCSend, SendCQ: cq})
	require.NoError(r, err)
	require.NoError(r, ini.Init())
	err = ini.Modify(verbs.QPAttr{State: verbs.StateRTR}, verbs.AttrState|verbs.AttrAV|verbs.AttrPathMTU|verbs.AttrDestQPN|
		verbs.AttrRQPSN|verbs.AttrMaxDestReads)
	require.ErrorContains(r, err, "does not take: responder resources")
	mr := r.memory(8)
	ini.SendBatch().Send(1, mr.SGE(0, 8)).ToSRQ(1)
	_, err = ini.SendBatch().Post()
	require.ErrorContains(r, err, "in state INIT")
	plain := r.end(pairOptions{})
	plain.QP.SendBatch().Send(1, mr.SGE(0, 8)).ToSRQ(1)
	_, err = plain.QP.SendBatch().Post()
	require.ErrorContains(r, err, "names no SRQ")
}
