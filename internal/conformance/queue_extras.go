package conformance

import (
	"errors"
	"net/netip"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

// queueExtraCases ask for what few devices have: they check the refusal where
// there is none.
var queueExtraCases = []Case{
	{"TagMatching", tagMatching},
	{"EnhancedConnections", ece},
	{"RateLimit", rateLimit},
	{"OrderOfData", dataOrder},
	{"QueryEveryAttribute", queryAll},
	{"RawPackets", rawPackets},
	{"FlowSteering", flowSteering},
	{"WorkQueues", workQueues},
}

// unsupported reports whether err is the refusal of a function that the device
// has not, and checks that nothing else is wrong.
func (r *Rig) unsupported(err error, function string) bool {
	r.Helper()
	if errors.Is(err, verbs.ErrNotSupported) {
		r.refuses(err, function)
		return true
	}
	require.NoError(r, err)
	return false
}

func tagMatching(r *Rig) {
	cq := r.cq(verbs.CQOptions{Events: true})
	srq, err := r.PD.CreateSRQEx(verbs.SRQExOptions{CQ: cq, MaxTags: 8})
	if !r.unsupported(err, "ibv_create_srq_ex") {
		mr := r.memory(64)
		handle, err := srq.AddTag(verbs.TagReceive{ID: 1, RecvID: 2, Tag: 5, Mask: 0xff, Local: []verbs.SGE{mr.SGE(0, 64)}})
		require.NoError(r, err)
		r.good(r.next(cq), 1, verbs.WCTagAdd)
		require.NoError(r, srq.RemoveTag(3, handle))
		r.good(r.next(cq), 3, verbs.WCTagDel)
	}
	plain, err := r.PD.CreateSRQ(verbs.SRQOptions{})
	require.NoError(r, err)
	_, err = plain.AddTag(verbs.TagReceive{})
	require.ErrorContains(r, err, "without tag matching")
	require.ErrorContains(r, plain.RemoveTag(1, 1), "without tag matching")
	require.ErrorContains(r, plain.SyncTags(1, 1), "without tag matching")
	_, err = plain.Number()
	require.Error(r, err)
}

func ece(r *Rig) {
	a := r.end(pairOptions{})
	can, err := a.QP.QueryECE()
	if !r.unsupported(err, "ibv_query_ece") {
		r.covers("ibv_query_ece")
	}
	require.NoError(r, a.QP.Init())
	if !r.unsupported(a.QP.SetECE(can), "ibv_set_ece") {
		r.covers("ibv_set_ece")
	}
}

func rateLimit(r *Rig) {
	a, _ := r.pair(pairOptions{})
	if !r.unsupported(a.QP.SetRateLimit(verbs.RateLimit{Kbps: 1000}), "ibv_modify_qp_rate_limit") {
		r.covers("ibv_modify_qp_rate_limit")
	}
}

func dataOrder(r *Rig) {
	r.covers("ibv_query_qp_data_in_order")
	a, _ := r.pair(pairOptions{})
	for _, op := range []verbs.WCOpcode{verbs.WCSend, verbs.WCRDMAWrite, verbs.WCRDMARead} {
		order, err := a.QP.DataInOrder(op)
		require.NoError(r, err)
		require.Zero(r, order&^(verbs.OrderWholeMessage|verbs.Order128Bytes))
	}
	_, err := a.QP.DataInOrder(verbs.WCFetchAdd)
	require.Error(r, err)
}

// queryAll asks for everything at once.
func queryAll(r *Rig) {
	r.covers("ibv_query_qp")
	opts := verbs.ConnectOptions{Timeout: 11, Retries: 3, RNRRetries: 4, MinRNRTimer: 6, MaxReads: 2, MTU: verbs.MTU1024}
	a, b := r.pair(pairOptions{qp: verbs.QPOptions{MaxSend: 10, MaxRecv: 20, MaxSendSGE: 3, MaxRecvSGE: 2, MaxInline: 32}, connect: opts})
	got, err := a.QP.Query(verbs.AttrState | verbs.AttrAccess | verbs.AttrPKeyIndex | verbs.AttrPort | verbs.AttrAV |
		verbs.AttrPathMTU | verbs.AttrTimeout | verbs.AttrRetryCount | verbs.AttrRNRRetry | verbs.AttrRQPSN | verbs.AttrMaxReads |
		verbs.AttrMinRNRTimer | verbs.AttrSQPSN | verbs.AttrMaxDestReads | verbs.AttrCap | verbs.AttrDestQPN)
	require.NoError(r, err)
	require.Equal(r, verbs.StateRTS, got.State)
	require.Equal(r, uint8(11), got.Timeout)
	require.Equal(r, uint8(3), got.RetryCount)
	require.Equal(r, uint8(4), got.RNRRetry)
	require.Equal(r, uint8(6), got.MinRNRTimer)
	require.Equal(r, uint8(2), got.MaxReads)
	require.Equal(r, b.QP.Num(), got.DestQPN)
	require.Equal(r, verbs.MTU1024, got.PathMTU)
	require.Equal(r, uint8(1), got.Port)
	require.Equal(r, r.endpoint(a.QP).PSN, got.SQPSN)
	require.Equal(r, r.endpoint(b.QP).PSN, got.RQPSN)
	require.NotZero(r, got.Access&verbs.AccessRemoteWrite)
	require.GreaterOrEqual(r, got.MaxSend, 10)
	require.GreaterOrEqual(r, got.MaxRecv, 20)
	require.GreaterOrEqual(r, got.MaxSendSGE, 3)
	require.GreaterOrEqual(r, got.MaxRecvSGE, 2)
	require.GreaterOrEqual(r, got.MaxInline, 32)
}

// rawQP makes a queue pair for frames, or answers nil on a device that cannot.
func (r *Rig) rawQP(cq *verbs.CQ) *verbs.QP {
	r.Helper()
	qp, err := r.PD.CreateQP(verbs.QPOptions{Type: verbs.RawPacket, SendCQ: cq, RecvCQ: cq})
	if r.unsupported(err, "ibv_create_qp") {
		return nil
	}
	return qp
}

func rawPackets(r *Rig) {
	cq := r.cq(verbs.CQOptions{Events: true})
	qp := r.rawQP(cq)
	if qp == nil {
		return
	}
	err := qp.Modify(verbs.QPAttr{State: verbs.StateInit}, verbs.AttrState)
	require.ErrorContains(r, err, "needs: port")
	require.NoError(r, qp.Activate())
	mr := r.memory(64)
	qp.SendBatch().Write(1, mr.Remote(), mr.SGE(0, 8))
	_, err = qp.SendBatch().Post()
	require.ErrorContains(r, err, "carries no RDMA writes")
	require.Error(r, qp.Connect(r.ctx, verbs.Endpoint{}, verbs.ConnectOptions{}))
}

func flowSteering(r *Rig) {
	a := r.end(pairOptions{})
	rule := verbs.FlowRule{Specs: []verbs.FlowSpec{
		verbs.FlowEth{Val: verbs.EthFields{EtherType: 0x0800}, Mask: verbs.EthFields{EtherType: 0xffff}},
		verbs.FlowIPv4{Val: verbs.IPv4Fields{Dst: netip.MustParseAddr("10.1.2.3")}, Mask: verbs.IPv4Fields{Dst: netip.MustParseAddr("255.255.255.255")}},
		verbs.FlowUDP{Val: verbs.PortFields{Dst: 4791}, Mask: verbs.PortFields{Dst: 0xffff}},
	}}
	f, err := a.QP.CreateFlow(rule)
	if r.unsupported(err, "ibv_create_flow") {
		return
	}
	require.ErrorIs(r, a.QP.Close(), verbs.ErrBusy)
	require.NoError(r, f.Close())
}

func workQueues(r *Rig) {
	cq := r.cq(verbs.CQOptions{})
	wq, err := r.PD.CreateWQ(verbs.WQOptions{CQ: cq})
	_, terr := r.Dev.CreateIndirectionTable()
	require.ErrorContains(r, terr, "power of two")
	_, terr = r.PD.CreateWQ(verbs.WQOptions{})
	require.ErrorContains(r, terr, "needs a CQ")
	if r.unsupported(err, "ibv_create_wq") {
		return
	}
	require.NoError(r, wq.Modify(verbs.WQReady))
	table, err := r.Dev.CreateIndirectionTable(wq, wq)
	require.NoError(r, err)
	require.ErrorIs(r, wq.Close(), verbs.ErrBusy)
	require.NoError(r, table.Close())
	require.NoError(r, wq.Close())
}
