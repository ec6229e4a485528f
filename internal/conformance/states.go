package conformance

import (
	"context"
	"syscall"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var stateCases = []Case{
	{"StatesUpToRTS", states},
	{"TransitionsAreChecked", transitions},
	{"DeviceRefusesBadAttribute", badAttribute},
	{"ResetAndConnectAgain", resetAndReconnect},
	{"ResetDeliversWhatWasPosted", resetDelivers},
	{"ConnectOptionsReachTheDevice", connectOptions},
	{"ConnectChecksItsOptions", connectChecks},
	{"ConnectCancelled", connectCancelled},
	{"EndpointRoundTrip", endpointRoundTrip},
}

func states(r *Rig) {
	a, b := r.end(pairOptions{}), r.end(pairOptions{})
	at := func(want verbs.QPState) {
		r.Helper()
		got, err := a.QP.State()
		require.NoError(r, err)
		require.Equal(r, want, got)
	}
	at(verbs.StateReset)
	require.NoError(r, a.QP.Init())
	at(verbs.StateInit)
	peer := r.endpoint(b.QP)
	require.NoError(r, a.QP.RTR(peer, verbs.ConnectOptions{}))
	at(verbs.StateRTR)
	require.NoError(r, a.QP.RTS(peer, verbs.ConnectOptions{}))
	at(verbs.StateRTS)
	require.NoError(r, a.QP.Err())
	at(verbs.StateErr)
	require.NoError(r, a.QP.Reset())
	at(verbs.StateReset)
}

// transitions are refused by name before the device is asked.
func transitions(r *Rig) {
	a := r.end(pairOptions{})
	for _, c := range []struct {
		attr verbs.QPAttr
		mask verbs.AttrMask
		text string
	}{
		{verbs.QPAttr{State: verbs.StateRTS}, verbs.AttrState, "cannot go from RESET to RTS"},
		{verbs.QPAttr{State: verbs.StateInit}, verbs.AttrState | verbs.AttrPort, "needs: access, P_Key index"},
		{verbs.QPAttr{State: verbs.StateErr}, verbs.AttrState | verbs.AttrPathMTU, "does not take: path MTU"},
	} {
		err := a.QP.Modify(c.attr, c.mask)
		require.ErrorContains(r, err, c.text)
		require.NotErrorIs(r, err, syscall.EINVAL, "the device was asked")
	}
	require.NoError(r, a.QP.Init())
	err := a.QP.Modify(verbs.QPAttr{State: verbs.StateRTR}, verbs.AttrState|verbs.AttrAV|verbs.AttrDestQPN|
		verbs.AttrRQPSN|verbs.AttrMaxDestReads|verbs.AttrMinRNRTimer)
	require.ErrorContains(r, err, "needs: path MTU")
}

func badAttribute(r *Rig) {
	a := r.end(pairOptions{})
	err := a.QP.Modify(verbs.QPAttr{State: verbs.StateInit, Port: 99},
		verbs.AttrState|verbs.AttrPKeyIndex|verbs.AttrPort|verbs.AttrAccess)
	require.ErrorIs(r, err, syscall.EINVAL)
	var op *verbs.OpError
	require.ErrorAs(r, err, &op)
	require.Equal(r, r.Dev.Name(), op.Device)
	require.Equal(r, a.QP.Num(), op.QPN)
	require.NoError(r, a.QP.Init(), "the failed change left the queue pair in RESET")
}

func resetAndReconnect(r *Rig) {
	a, b := r.pair(pairOptions{connect: quick})
	mr := r.memory(64)
	bad := mr.Remote()
	bad.RKey ^= 0x55
	r.failing(a, func(s *verbs.SendBatch) { s.Write(1, bad, mr.SGE(0, 8)) }, verbs.StatusRemoteAccess)
	require.NoError(r, a.QP.Reset())
	require.NoError(r, b.QP.Reset())
	r.connect(a, b, verbs.ConnectOptions{})
	copy(mr.Bytes(), "again")
	a.QP.SendBatch().Write(2, mr.Remote().At(32, 5), mr.SGE(0, 5))
	a.post(1)
	r.good(a.sent(), 2, verbs.WCRDMAWrite)
	require.Equal(r, "again", string(mr.Bytes()[32:37]))
}

func resetDelivers(r *Rig) {
	a, _ := r.pair(pairOptions{})
	mr := r.memory(64)
	for i := range 3 {
		a.receive(uint64(i), mr.SGE(0, 8))
	}
	require.NoError(r, a.QP.Reset())
	r.flushedRest(a.Recv, 0, 1, 2)
	require.Equal(r, 128, a.QP.RecvBatch().Room(), "all places are free again")
}

func connectOptions(r *Rig) {
	r.covers("ibv_query_qp")
	a, b := r.end(pairOptions{}), r.end(pairOptions{})
	opts := verbs.ConnectOptions{
		MTU: verbs.MTU1024, Timeout: 10, Retries: 3, RNRRetries: 2, MinRNRTimer: 5, MaxReads: 2, TrafficClass: 32,
	}
	r.connect(a, b, opts)
	got, err := a.QP.Query(verbs.AttrState | verbs.AttrAV | verbs.AttrPathMTU | verbs.AttrTimeout | verbs.AttrRetryCount |
		verbs.AttrRNRRetry | verbs.AttrMinRNRTimer | verbs.AttrMaxReads | verbs.AttrDestQPN | verbs.AttrSQPSN)
	require.NoError(r, err)
	require.Equal(r, verbs.StateRTS, got.State)
	require.Equal(r, verbs.MTU1024, got.PathMTU)
	require.Equal(r, uint8(10), got.Timeout)
	require.Equal(r, uint8(3), got.RetryCount)
	require.Equal(r, uint8(2), got.RNRRetry)
	require.Equal(r, uint8(5), got.MinRNRTimer)
	require.Equal(r, uint8(2), got.MaxReads)
	require.Equal(r, b.QP.Num(), got.DestQPN)
	require.Equal(r, b.QP.GID().GID, got.AV.DGID)
	require.Equal(r, uint8(a.QP.GID().Index), got.AV.SGIDIndex)
	require.Equal(r, uint8(32), got.AV.TrafficClass)
}

func connectChecks(r *Rig) {
	a, b := r.end(pairOptions{}), r.end(pairOptions{})
	peer := r.endpoint(b.QP)
	for _, opts := range []verbs.ConnectOptions{
		{Timeout: 32}, {Timeout: verbs.None}, {Retries: 8}, {RNRRetries: 8}, {MinRNRTimer: 32}, {MTU: 9},
		{MaxReads: 1 << 20}, {ServiceLevel: 16}, {FlowLabel: 1 << 20},
	} {
		require.Error(r, a.QP.Connect(r.ctx, peer, opts), "%+v", opts)
	}
	for _, change := range []func(*verbs.Endpoint){
		func(e *verbs.Endpoint) { e.QPN = 1 << 24 },
		func(e *verbs.Endpoint) { e.PSN = 1 << 24 },
		func(e *verbs.Endpoint) { e.MTU = 0 },
	} {
		bad := peer
		change(&bad)
		require.Error(r, a.QP.Connect(r.ctx, bad, verbs.ConnectOptions{}))
	}
	require.NoError(r, a.QP.Connect(r.ctx, peer, verbs.ConnectOptions{}))
}

func connectCancelled(r *Rig) {
	a, b := r.end(pairOptions{}), r.end(pairOptions{})
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	require.ErrorIs(r, a.QP.Connect(ctx, r.endpoint(b.QP), verbs.ConnectOptions{}), context.Canceled)
}

func endpointRoundTrip(r *Rig) {
	a := r.end(pairOptions{})
	want := r.endpoint(a.QP)
	text, err := want.MarshalText()
	require.NoError(r, err)
	var got verbs.Endpoint
	require.NoError(r, got.UnmarshalText(text))
	require.Equal(r, want, got)
	raw, err := want.MarshalBinary()
	require.NoError(r, err)
	got = verbs.Endpoint{}
	require.NoError(r, got.UnmarshalBinary(raw))
	require.Equal(r, want, got)
	require.Equal(r, a.QP.Num(), got.QPN)
}
