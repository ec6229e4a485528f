package conformance

import (
	"sync/atomic"
	"unsafe"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var unreliableCases = []Case{
	{"UCSendAndWrite", ucTransfers},
	{"UCLosesWhatFindsNoReceive", ucLoses},
	{"UCCarriesNothingThatIsAnswered", ucRefuses},
	{"UCTransitionsAreChecked", ucTransitions},
}

func (r *Rig) ucPair() (a, b *End) {
	return r.pair(pairOptions{qp: verbs.QPOptions{Type: verbs.UC}})
}

func ucTransfers(r *Rig) {
	a, b := r.ucPair()
	require.Equal(r, verbs.UC, a.QP.Type())
	src, dst := r.memory(20000), r.memory(20000)
	want := r.random(src)
	b.receive(1, dst.SGE(0, 5000))
	b.receive(2, dst.SGE(5000, 5000))
	b.receive(3)
	s := a.QP.SendBatch()
	s.Send(11, src.SGE(0, 5000))
	s.SendImm(12, 0xabcdef, src.SGE(5000, 5000))
	s.Write(13, dst.Remote().At(10000, 5000), src.SGE(10000, 5000))
	s.WriteImm(14, 77, dst.Remote().At(15000, 5000), src.SGE(15000, 5000))
	a.post(4)
	for i, op := range []verbs.WCOpcode{verbs.WCSend, verbs.WCSend, verbs.WCRDMAWrite, verbs.WCRDMAWrite} {
		r.good(a.sent(), uint64(11+i), op)
	}
	r.good(b.received(), 1, verbs.WCRecv)
	c := b.received()
	r.good(c, 2, verbs.WCRecv)
	imm, ok := c.Imm()
	require.True(r, ok)
	require.Equal(r, uint32(0xabcdef), imm)
	c = b.received()
	r.good(c, 3, verbs.WCRecvRDMAWithImm)
	require.Equal(r, 5000, c.Len())
	require.Equal(r, want, dst.Bytes())
}

// ucLoses: the sender is told of success, and what comes later arrives.
func ucLoses(r *Rig) {
	a, b := r.ucPair()
	mr := r.memory(64)
	a.QP.SendBatch().Send(1, mr.SGE(0, 4))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCSend)
	// What is written later arrives later: then the first message is gone.
	mr.Bytes()[0] = 0xa5
	a.QP.SendBatch().Write(2, mr.Remote().At(16, 4), mr.SGE(0, 4))
	a.post(1)
	r.good(a.sent(), 2, verbs.WCRDMAWrite)
	arrived := (*uint32)(unsafe.Pointer(&mr.Bytes()[16]))
	require.Eventually(r, func() bool { return atomic.LoadUint32(arrived) != 0 }, patience, 1e6)
	copy(mr.Bytes(), "next")
	b.receive(10, mr.SGE(32, 32))
	a.QP.SendBatch().Send(3, mr.SGE(0, 4))
	a.post(1)
	r.good(a.sent(), 3, verbs.WCSend)
	r.good(b.received(), 10, verbs.WCRecv)
	require.Equal(r, "next", string(mr.Bytes()[32:36]))
}

func ucRefuses(r *Rig) {
	a, _ := r.ucPair()
	mr := r.memory(64)
	s := a.QP.SendBatch()
	for _, add := range []func(){
		func() { s.Read(1, mr.Remote(), mr.SGE(0, 8)) },
		func() { s.FetchAdd(1, mr.Remote(), 1, mr.SGE(0, 8)) },
		func() { s.CompareSwap(1, mr.Remote(), 1, 2, mr.SGE(0, 8)) },
		func() { s.SendTo(1, nil, 1, 1, mr.SGE(0, 8)) },
	} {
		add()
		n, err := s.Post()
		require.ErrorContains(r, err, "type UC")
		require.Zero(r, n)
	}
	require.Error(r, a.QP.Activate())
	r.quiet(a.Send)
}

func ucTransitions(r *Rig) {
	a := r.end(pairOptions{qp: verbs.QPOptions{Type: verbs.UC}})
	require.NoError(r, a.QP.Init())
	err := a.QP.Modify(verbs.QPAttr{State: verbs.StateRTR}, verbs.AttrState|verbs.AttrAV|verbs.AttrPathMTU|
		verbs.AttrDestQPN|verbs.AttrRQPSN|verbs.AttrMinRNRTimer)
	require.ErrorContains(r, err, "does not take: minimum RNR timer")
	err = a.QP.Modify(verbs.QPAttr{State: verbs.StateRTR}, verbs.AttrState|verbs.AttrAV)
	require.ErrorContains(r, err, "needs: path MTU, receive PSN, destination QPN")
}
