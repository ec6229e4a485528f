package conformance

import (
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var remoteErrorCases = []Case{
	{"WrongRemoteKey", wrongRemoteKey},
	{"RemoteBounds", remoteBounds},
	{"RemoteWriteNotAllowed", remoteWriteNotAllowed},
	{"RemoteReadNotAllowed", remoteReadNotAllowed},
	{"QueuePairForbidsRemoteWrite", qpForbidsWrite},
	{"OtherProtectionDomain", otherDomain},
	{"ClosedRegionIsOutOfReach", closedRegion},
	{"ReceiverNotReady", receiverNotReady},
	{"ReceiverReadyInTime", receiverReadyInTime},
	{"DeadPeer", deadPeer},
}

func (r *Rig) refused(target verbs.RemoteBuffer, add func(*verbs.SendBatch, verbs.RemoteBuffer, verbs.SGE)) {
	r.Helper()
	a, _ := r.pair(pairOptions{connect: quick})
	mr := r.memory(64)
	local := mr.SGE(0, 64)
	r.failing(a, func(s *verbs.SendBatch) { add(s, target, local) }, verbs.StatusRemoteAccess)
}

func writeTo(s *verbs.SendBatch, to verbs.RemoteBuffer, local verbs.SGE)  { s.Write(1, to, local) }
func readFrom(s *verbs.SendBatch, to verbs.RemoteBuffer, local verbs.SGE) { s.Read(1, to, local) }

func wrongRemoteKey(r *Rig) {
	mr := r.memory(64)
	to := mr.Remote()
	to.RKey ^= 0x55
	r.refused(to, writeTo)
	r.refused(to, readFrom)
	requireZero(r, mr.Bytes())
}

func remoteBounds(r *Rig) {
	mr := r.memory(64)
	behind := mr.Remote()
	behind.Addr += 32
	r.refused(behind, writeTo)
	r.refused(behind, readFrom)
	before := mr.Remote()
	before.Addr -= 32
	r.refused(before, writeTo)
	requireZero(r, mr.Bytes())
}

func remoteWriteNotAllowed(r *Rig) {
	mr := r.memoryWith(64, verbs.AccessLocalWrite|verbs.AccessRemoteRead)
	r.refused(mr.Remote(), writeTo)
	requireZero(r, mr.Bytes())
}

func remoteReadNotAllowed(r *Rig) {
	mr := r.memoryWith(64, verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
	r.refused(mr.Remote(), readFrom)
}

// qpForbidsWrite: the queue pair's own rights count besides the region's. The
// specification has the responder answer a remote access error; soft-RoCE
// answers an invalid request.
func qpForbidsWrite(r *Rig) {
	a, _ := r.pair(pairOptions{connect: quick, qp: verbs.QPOptions{Access: verbs.AccessLocalWrite}})
	mr := r.memory(64)
	a.QP.SendBatch().Write(1, mr.Remote(), mr.SGE(0, 8))
	a.post(1)
	r.bad(a.sent(), 1, verbs.StatusRemoteAccess, verbs.StatusRemoteInvalidRequest)
}

func otherDomain(r *Rig) {
	pd, err := r.Dev.AllocPD()
	require.NoError(r, err)
	mr, err := pd.AllocMR(64, verbs.MROptions{Access: allRights})
	require.NoError(r, err)
	r.refused(mr.Remote(), writeTo)
	requireZero(r, mr.Bytes())
}

func closedRegion(r *Rig) {
	buf := make([]byte, 64)
	mr, err := r.PD.RegisterMR(buf, verbs.MROptions{Access: allRights})
	require.NoError(r, err)
	to := mr.Remote()
	require.NoError(r, mr.Close())
	r.refused(to, writeTo)
	requireZero(r, buf)
}

// receiverNotReady: with a finite count the sender is told, and the receiver's
// queue pair stays well.
func receiverNotReady(r *Rig) {
	// The acknowledgement time-out is long, so that on a slow machine the
	// answer that counts comes first.
	finite := verbs.ConnectOptions{Timeout: 18, RNRRetries: 1, MinRNRTimer: 1}
	a, b := r.pair(pairOptions{connect: finite})
	mr := r.memory(64)
	a.QP.SendBatch().Send(1, mr.SGE(0, 8))
	a.QP.SendBatch().Send(2, mr.SGE(0, 8))
	a.post(2)
	r.bad(a.sent(), 1, verbs.StatusRNRRetryExceeded)
	r.flushedRest(a.Send, 2)
	state, err := b.QP.State()
	require.NoError(r, err)
	require.Equal(r, verbs.StateRTS, state)
}

// receiverReadyInTime: a receive that comes late is found by a retry.
func receiverReadyInTime(r *Rig) {
	a, b := r.pair(pairOptions{})
	mr := r.memory(64)
	copy(mr.Bytes(), "late")
	a.QP.SendBatch().Send(1, mr.SGE(0, 4))
	a.post(1)
	r.quiet(b.Recv)
	b.receive(2, mr.SGE(32, 32))
	r.good(b.received(), 2, verbs.WCRecv)
	r.good(a.sent(), 1, verbs.WCSend)
	require.Equal(r, "late", string(mr.Bytes()[32:36]))
}

// deadPeer: a peer that answers nothing is told after the retries.
func deadPeer(r *Rig) {
	a, b := r.pair(pairOptions{connect: quick})
	require.NoError(r, b.QP.Close())
	mr := r.memory(64)
	a.QP.SendBatch().Write(1, mr.Remote(), mr.SGE(0, 8))
	a.post(1)
	r.bad(a.sent(), 1, verbs.StatusRetryExceeded)
}
