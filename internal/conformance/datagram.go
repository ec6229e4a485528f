package conformance

import (
	"bytes"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var datagramCases = []Case{
	{"UDDatagramAndReply", udReply},
	{"UDToManyPeers", udManyPeers},
	{"UDUpToTheMTU", udUpToMTU},
	{"UDLongerThanTheMTU", udTooLong},
	{"UDWrongQKey", udWrongQKey},
	{"UDNoReceive", udNoReceive},
	{"UDReceiveTooSmall", udReceiveTooSmall},
	{"UDRefusesRequestsWithoutAddress", udRefuses},
	{"UDTransitionsAreChecked", udTransitions},
	{"UDAddressHandleClosed", udHandleClosed},
	{"UDBadAddress", udBadAddress},
	{"UDSendErrorAndResume", udSendError},
	{"UDCloseWithUnsignaled", udCloseUnsignaled},
}

func (r *Rig) udEnd(o verbs.QPOptions) *End {
	o.Type = verbs.UD
	e := r.end(pairOptions{qp: o})
	require.NoError(r, e.QP.Activate())
	return e
}

// address makes a handle from one end to the other.
func (e *End) address(to *End) *verbs.AddressHandle {
	ah, err := e.QP.CreateAH(e.r.endpoint(to.QP), verbs.RouteOptions{})
	require.NoError(e.r, err)
	return ah
}

// udReply answers to where the datagram says that it came from.
func udReply(r *Rig) {
	r.covers("ibv_create_ah", "ibv_init_ah_from_wc", "ibv_create_ah_from_wc", "ibv_destroy_ah")
	a, b := r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{QKey: 0x1234})
	mr := r.memory(4096)
	copy(mr.Bytes(), "datagram")
	b.receive(1, mr.SGE(1000, 200))
	a.QP.SendBatch().SendImmTo(5, 0x01020304, a.address(b), b.QP.Num(), b.QP.QKey(), mr.SGE(0, 8))
	a.post(1)
	r.good(a.sent(), 5, verbs.WCSend)
	c := b.received()
	r.good(c, 1, verbs.WCRecv)
	require.Equal(r, verbs.GRHLen+8, c.Len())
	imm, ok := c.Imm()
	require.True(r, ok)
	require.Equal(r, uint32(0x01020304), imm)
	from, ok := c.SrcQP()
	require.True(r, ok)
	require.Equal(r, a.QP.Num(), from)
	received := mr.Bytes()[1000:]
	require.Equal(r, "datagram", string(received[verbs.GRHLen:][:8]))

	info, err := r.Dev.Port(1)
	require.NoError(r, err)
	if info.LinkLayer == verbs.LinkLayerEthernet {
		require.True(r, c.HasGRH(), "RoCE always has one")
	}
	if c.HasGRH() {
		grh, err := verbs.ParseGRH(received)
		require.NoError(r, err)
		require.Equal(r, a.QP.GID().GID, grh.SGID)
		require.Equal(r, b.QP.GID().GID, grh.DGID)
		require.Equal(r, a.QP.GID().GID.IsIPv4Mapped(), grh.IPv4)
	}
	back, err := r.PD.CreateAHFromCompletion(c, received, 1)
	require.NoError(r, err)
	a.receive(2, mr.SGE(2000, 200))
	b.QP.SendBatch().SendTo(6, back, from, a.QP.QKey(), mr.SGE(1000+verbs.GRHLen, 4))
	b.post(1)
	r.good(b.sent(), 6, verbs.WCSend)
	c = a.received()
	r.good(c, 2, verbs.WCRecv)
	require.Equal(r, "data", string(mr.Bytes()[2000+verbs.GRHLen:][:4]))
	_, ok = c.Imm()
	require.False(r, ok)
}

func udManyPeers(r *Rig) {
	const peers = 5
	a := r.udEnd(verbs.QPOptions{})
	mr := r.memory(4096)
	var ends []*End
	for i := range peers {
		mr.Bytes()[i] = byte(0x50 + i)
		e := r.udEnd(verbs.QPOptions{QKey: uint32(100 + i)})
		e.receive(uint64(i), mr.SGE(100+100*i, 100))
		a.QP.SendBatch().SendTo(uint64(i), a.address(e), e.QP.Num(), uint32(100+i), mr.SGE(i, 1))
		ends = append(ends, e)
	}
	a.post(peers)
	for i, e := range ends {
		r.good(a.sent(), uint64(i), verbs.WCSend)
		c := e.received()
		r.good(c, uint64(i), verbs.WCRecv)
		require.Equal(r, verbs.GRHLen+1, c.Len())
		require.Equal(r, byte(0x50+i), mr.Bytes()[100+100*i+verbs.GRHLen])
	}
}

func (r *Rig) portMTU() int {
	attr, err := r.Dev.Port(1)
	require.NoError(r, err)
	return attr.ActiveMTU.Bytes()
}

func udUpToMTU(r *Rig) {
	a, b := r.udEnd(verbs.QPOptions{MaxSendSGE: 2}), r.udEnd(verbs.QPOptions{MaxRecvSGE: 2})
	mtu := r.portMTU()
	src, header, dst := r.memory(mtu), r.memory(verbs.GRHLen), r.memory(mtu)
	ah := a.address(b)
	for _, size := range []int{0, 1, mtu - 1, mtu} {
		want := bytes.Clone(r.random(src)[:size])
		b.receive(uint64(size), header.SGE(0, verbs.GRHLen), dst.SGE(0, mtu))
		half := size / 2
		a.QP.SendBatch().SendTo(7, ah, b.QP.Num(), b.QP.QKey(), src.SGE(0, half), src.SGE(half, size-half))
		a.post(1)
		r.good(a.sent(), 7, verbs.WCSend)
		c := b.received()
		r.good(c, uint64(size), verbs.WCRecv)
		require.Equal(r, verbs.GRHLen+size, c.Len())
		require.Equal(r, want, dst.Bytes()[:size])
	}
}

// udTooLong: the device might drop it without a word.
func udTooLong(r *Rig) {
	a, b := r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{})
	mtu := r.portMTU()
	mr := r.memory(mtu + 1)
	a.QP.SendBatch().SendTo(3, a.address(b), b.QP.Num(), b.QP.QKey(), mr.SGE(0, mtu+1))
	n, err := a.QP.SendBatch().Post()
	require.ErrorContains(r, err, "MTU")
	require.Zero(r, n)
	r.quiet(a.Send)
}

// arrives sends a datagram and checks that it is the next that b gets.
func (r *Rig) arrives(a, b *End, ah *verbs.AddressHandle, mr *verbs.MR, id uint64) {
	r.Helper()
	copy(mr.Bytes(), "arrives")
	a.QP.SendBatch().SendTo(id, ah, b.QP.Num(), b.QP.QKey(), mr.SGE(0, 7))
	a.post(1)
	r.good(a.sent(), id, verbs.WCSend)
	c := b.received()
	r.good(c, id, verbs.WCRecv)
	require.Equal(r, verbs.GRHLen+7, c.Len())
}

// udWrongQKey: the datagram is dropped, the sender is told of success.
func udWrongQKey(r *Rig) {
	a, b := r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{QKey: 5})
	mr := r.memory(512)
	ah := a.address(b)
	b.receive(2, mr.SGE(100, 100))
	a.QP.SendBatch().SendTo(1, ah, b.QP.Num(), 6, mr.SGE(0, 3))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCSend)
	r.arrives(a, b, ah, mr, 2)
}

func udNoReceive(r *Rig) {
	a, b := r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{})
	mr := r.memory(512)
	ah := a.address(b)
	a.QP.SendBatch().SendTo(1, ah, b.QP.Num(), b.QP.QKey(), mr.SGE(0, 3))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCSend)
	// Nothing tells that it was dropped: it may still be on the way.
	b.receive(4, mr.SGE(100, 100))
	b.receive(5, mr.SGE(200, 100))
	copy(mr.Bytes(), "arrives")
	a.QP.SendBatch().SendTo(2, ah, b.QP.Num(), b.QP.QKey(), mr.SGE(0, 7))
	a.post(1)
	r.good(a.sent(), 2, verbs.WCSend)
	c := b.received()
	if c.Len() == verbs.GRHLen+3 {
		c = b.received()
	}
	require.NoError(r, c.Err())
	require.Equal(r, verbs.GRHLen+7, c.Len())
	at := 100 * int(c.ID()-3)
	require.Equal(r, "arrives", string(mr.Bytes()[at+verbs.GRHLen:][:7]))
}

// udReceiveTooSmall: a receive has to have room for the header too. By the
// specification it fails; soft-RoCE from 6.12 on drops the datagram and keeps
// the receive.
func udReceiveTooSmall(r *Rig) {
	a, b := r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{})
	mr := r.memory(512)
	copy(mr.Bytes(), "too long")
	b.receive(2, mr.SGE(100, verbs.GRHLen+7))
	ah := a.address(b)
	for i := range 2 {
		a.QP.SendBatch().SendTo(uint64(i), ah, b.QP.Num(), b.QP.QKey(), mr.SGE(0, 8-i))
		a.post(1)
		r.good(a.sent(), uint64(i), verbs.WCSend)
	}
	c := b.received()
	if c.Err() == nil && r.softRoCE() {
		require.Equal(r, verbs.GRHLen+7, c.Len(), "the second")
	} else {
		r.bad(c, 2, verbs.StatusLocalLength, verbs.StatusLocalQPOperation)
	}
	requireZero(r, mr.Bytes()[100+verbs.GRHLen+7:])
}

func udRefuses(r *Rig) {
	a := r.udEnd(verbs.QPOptions{})
	mr := r.memory(64)
	s := a.QP.SendBatch()
	for _, add := range []func(){
		func() { s.Send(1, mr.SGE(0, 8)) },
		func() { s.SendImm(1, 2, mr.SGE(0, 8)).Unsignaled().Fence().Inline() },
		func() { s.Write(1, mr.Remote(), mr.SGE(0, 8)) },
		func() { s.WriteImm(1, 2, mr.Remote(), mr.SGE(0, 8)) },
		func() { s.Read(1, mr.Remote(), mr.SGE(0, 8)) },
		func() { s.FetchAdd(1, mr.Remote(), 1, mr.SGE(0, 8)) },
	} {
		add()
		n, err := s.Post()
		require.ErrorContains(r, err, "SendTo")
		require.Zero(r, n)
	}
	s.SendTo(1, nil, 1, 1, mr.SGE(0, 8))
	_, err := s.Post()
	require.ErrorContains(r, err, "no address handle")
	peer := r.endpoint(a.QP)
	require.ErrorContains(r, a.QP.Connect(r.ctx, peer, verbs.ConnectOptions{}), "Activate")
	r.quiet(a.Send)
}

func udTransitions(r *Rig) {
	a := r.end(pairOptions{qp: verbs.QPOptions{Type: verbs.UD, QKey: 0x77}})
	err := a.QP.Modify(verbs.QPAttr{State: verbs.StateInit, Port: 1}, verbs.AttrState|verbs.AttrPKeyIndex|verbs.AttrPort)
	require.ErrorContains(r, err, "needs: Q_Key")
	require.NoError(r, a.QP.Init())
	err = a.QP.Modify(verbs.QPAttr{State: verbs.StateRTR}, verbs.AttrState|verbs.AttrAV)
	require.ErrorContains(r, err, "does not take: address vector")
	require.NoError(r, a.QP.Activate(), "it goes on from INIT")
	got, err := a.QP.Query(verbs.AttrState | verbs.AttrQKey)
	require.NoError(r, err)
	require.Equal(r, verbs.StateRTS, got.State)
	require.Equal(r, uint32(0x77), got.QKey)
	require.NoError(r, a.QP.Reset())
	require.NoError(r, a.QP.Activate())
}

func udHandleClosed(r *Rig) {
	a, b := r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{})
	mr := r.memory(512)
	ah, good := a.address(b), a.address(b)
	require.ErrorIs(r, r.PD.Close(), verbs.ErrBusy)
	s := a.QP.SendBatch()
	s.SendTo(1, good, b.QP.Num(), b.QP.QKey(), mr.SGE(0, 8))
	s.SendTo(2, ah, b.QP.Num(), b.QP.QKey(), mr.SGE(0, 8))
	require.NoError(r, ah.Close())
	require.NoError(r, ah.Close())
	n, err := s.Post()
	require.ErrorContains(r, err, "closed")
	require.Zero(r, n)
	b.receive(3, mr.SGE(100, 100))
	r.arrives(a, b, good, mr, 3)
	require.NoError(r, good.Close())
}

func udBadAddress(r *Rig) {
	a := r.udEnd(verbs.QPOptions{})
	av, err := a.QP.Route(r.endpoint(a.QP), verbs.RouteOptions{TrafficClass: 7})
	require.NoError(r, err)
	require.Equal(r, uint8(7), av.TrafficClass)
	for _, change := range []func(*verbs.AddressVector){
		func(av *verbs.AddressVector) { av.Port = 0 },
		func(av *verbs.AddressVector) { av.Port = 200 },
		func(av *verbs.AddressVector) { av.Global, av.SGIDIndex = true, 250 },
	} {
		bad := av
		change(&bad)
		_, err := r.PD.CreateAH(bad)
		require.Error(r, err, "%+v", bad)
	}
	_, err = r.PD.CreateAHFromCompletion(&verbs.Completion{}, make([]byte, verbs.GRHLen-1), 1)
	require.ErrorContains(r, err, "it has 40")
	_, err = a.QP.CreateAH(r.endpoint(a.QP), verbs.RouteOptions{FlowLabel: 1 << 20})
	require.ErrorContains(r, err, "20 bits")
}

// udSendError: a send that fails brings the queue pair to SQE, where it goes on
// receiving, and Resume brings it back. Soft-RoCE goes to ERR instead, whence it
// comes back through RESET.
func udSendError(r *Rig) {
	a, b := r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{})
	mr := r.memory(512)
	bad := mr.SGE(0, 8)
	bad.LKey ^= 0x55
	to, back := a.address(b), b.address(a)
	a.receive(50, mr.SGE(300, 100))
	s := a.QP.SendBatch()
	s.SendTo(1, to, b.QP.Num(), b.QP.QKey(), bad)
	s.SendTo(2, to, b.QP.Num(), b.QP.QKey(), mr.SGE(0, 8))
	a.post(2)
	r.bad(a.sent(), 1, localProtection...)
	r.bad(a.sent(), 2, verbs.StatusFlushed)
	state, err := a.QP.State()
	require.NoError(r, err)
	switch state {
	case verbs.StateSQE:
		r.arrives(b, a, back, mr, 50)
		require.NoError(r, a.QP.Resume())
		require.ErrorContains(r, a.QP.Resume(), "state RTS")
	case verbs.StateErr:
		require.ErrorContains(r, a.QP.Resume(), "state ERR")
		require.NoError(r, a.QP.Reset())
		r.bad(a.received(), 50, verbs.StatusFlushed)
		require.NoError(r, a.QP.Activate())
	default:
		require.Fail(r, "the queue pair went to another state", "%v", state)
	}
	b.receive(3, mr.SGE(100, 100))
	r.arrives(a, b, to, mr, 3)
}

// udCloseUnsignaled: requests that make no completion hold up nothing.
func udCloseUnsignaled(r *Rig) {
	a, b := r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{})
	mr := r.memory(64)
	ah := a.address(b)
	for i := range 3 {
		a.QP.SendBatch().SendTo(uint64(i), ah, b.QP.Num(), b.QP.QKey(), mr.SGE(0, 8)).Unsignaled()
	}
	a.post(3)
	require.NoError(r, a.QP.Close())
	wc := make([]verbs.Completion, 4)
	n, err := a.Send.Poll(wc)
	require.NoError(r, err)
	for _, c := range wc[:n] {
		require.Equal(r, verbs.StatusFlushed, c.Status(), "what was not sent yet")
	}
}
