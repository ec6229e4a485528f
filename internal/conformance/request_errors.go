package conformance

import (
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var requestErrorCases = []Case{
	{"WrongLocalKey", wrongLocalKey},
	{"FailedCompletionSaysOnlyWhatHolds", failedSaysLittle},
	{"LocalBounds", localBounds},
	{"ReadIntoReadOnlyMemory", readIntoReadOnly},
	{"ReceiveTooSmall", receiveTooSmall},
	{"FlushOrderAfterError", flushOrder},
	{"ErrStateFlushesBothQueues", errFlushes},
	{"PostInWrongState", postInWrongState},
}

// failing posts one request and checks how it ends, and that the queue pair is
// in the error state afterwards.
func (r *Rig) failing(a *End, add func(*verbs.SendBatch), statuses ...verbs.Status) {
	r.Helper()
	add(a.QP.SendBatch())
	a.post(1)
	r.bad(a.sent(), 1, statuses...)
	// The completion may be seen before the state has changed.
	require.Eventually(r, func() bool {
		state, err := a.QP.State()
		return err == nil && state == verbs.StateErr
	}, patience, 1e6)
}

// localProtection: soft-RoCE calls a key that it does not know an operation
// error, and from 6.12 on it flushes the failing request with the others.
var localProtection = []verbs.Status{verbs.StatusLocalProtection, verbs.StatusLocalQPOperation, verbs.StatusFlushed}

func wrongLocalKey(r *Rig) {
	a, _ := r.pair(pairOptions{connect: quick})
	mr := r.memory(64)
	local := mr.SGE(0, 8)
	local.LKey ^= 0x55
	r.failing(a, func(s *verbs.SendBatch) { s.Write(1, mr.Remote(), local) }, localProtection...)
}

func localBounds(r *Rig) {
	a, _ := r.pair(pairOptions{connect: quick})
	mr := r.memory(64)
	local := mr.SGE(0, 64)
	local.Addr += 32
	r.failing(a, func(s *verbs.SendBatch) { s.Write(1, mr.Remote(), local) }, localProtection...)
}

func readIntoReadOnly(r *Rig) {
	a, _ := r.pair(pairOptions{connect: quick})
	src := r.memory(64)
	dst := r.memoryWith(64, verbs.AccessRemoteRead)
	if dst.Access()&verbs.AccessLocalWrite != 0 {
		require.Fail(r, "the region was to be read-only")
	}
	r.failing(a, func(s *verbs.SendBatch) { s.Read(1, src.Remote(), dst.SGE(0, 64)) }, localProtection...)
	requireZero(r, dst.Bytes())
}

func receiveTooSmall(r *Rig) {
	a, b := r.pair(pairOptions{connect: quick})
	src, dst := r.memory(64), r.memory(64)
	r.random(src)
	b.receive(7, dst.SGE(0, 16))
	a.QP.SendBatch().Send(1, src.SGE(0, 64))
	a.post(1)
	r.bad(b.received(), 7, verbs.StatusLocalLength, verbs.StatusLocalQPOperation)
	r.bad(a.sent(), 1, verbs.StatusRemoteInvalidRequest, verbs.StatusRemoteOperation)
	requireZero(r, dst.Bytes()[16:])
}

// flushOrder: the failing request completes first, what was posted behind it
// is flushed in order, unsignalled requests included.
func flushOrder(r *Rig) {
	a, _ := r.pair(pairOptions{connect: quick})
	mr := r.memory(64)
	for i := range 3 {
		a.receive(uint64(100+i), mr.SGE(0, 8))
	}
	bad := mr.SGE(0, 8)
	bad.LKey ^= 0x55
	s := a.QP.SendBatch()
	s.Write(1, mr.Remote(), mr.SGE(0, 8))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
	s.Write(2, mr.Remote(), bad)
	s.Write(3, mr.Remote(), mr.SGE(0, 8))
	s.Write(4, mr.Remote(), mr.SGE(0, 8)).Unsignaled()
	s.Write(5, mr.Remote(), mr.SGE(0, 8))
	a.post(4)
	r.bad(a.sent(), 2, localProtection...)
	r.flushedRest(a.Send, 3, 4, 5)
	r.flushedRest(a.Recv, 100, 101, 102)
}

func errFlushes(r *Rig) {
	a, _ := r.pair(pairOptions{connect: quick})
	mr := r.memory(64)
	for i := range 4 {
		a.receive(uint64(i), mr.SGE(0, 8))
	}
	require.NoError(r, a.QP.Err())
	r.flushedRest(a.Recv, 0, 1, 2, 3)
	a.QP.SendBatch().Write(8, mr.Remote(), mr.SGE(0, 8))
	a.post(1)
	r.bad(a.sent(), 8, verbs.StatusFlushed)
	// Soft-RoCE does not look at its receive queue any more by itself.
	a.receive(9, mr.SGE(0, 8))
	require.NoError(r, a.QP.Close())
	r.flushedRest(a.Recv, 9)
}

// postInWrongState: a queue pair that is not connected takes no send.
func postInWrongState(r *Rig) {
	a := r.end(pairOptions{})
	mr := r.memory(8)
	a.QP.SendBatch().Write(1, mr.Remote(), mr.SGE(0, 8))
	n, err := a.QP.SendBatch().Post()
	require.ErrorContains(r, err, "state RESET: this needs RTS")
	require.Zero(r, n)
	var op *verbs.OpError
	require.ErrorAs(r, err, &op)
	require.Equal(r, a.QP.Num(), op.QPN)

	a.QP.RecvBatch().Recv(1, mr.SGE(0, 8))
	_, err = a.QP.RecvBatch().Post()
	require.ErrorContains(r, err, "state RESET: this needs INIT")

	require.NoError(r, a.QP.Init())
	a.receive(1, mr.SGE(0, 8))
	a.QP.SendBatch().Write(2, mr.Remote(), mr.SGE(0, 8))
	n, err = a.QP.SendBatch().Post()
	require.ErrorContains(r, err, "state INIT: this needs RTS")
	require.Zero(r, n)
}

// failedSaysLittle: of a request that failed only the id, the status, the queue pair
// and the vendor's error hold, whatever else the device left there.
func failedSaysLittle(r *Rig) {
	a, b := r.pair(pairOptions{connect: quick})
	src, dst := r.memory(64), r.memory(8)
	b.receive(7, dst.SGE(0, 8))
	a.QP.SendBatch().SendImm(8, 0x01020304, src.SGE(0, 64))
	a.post(1)
	c := b.received()
	r.bad(c, 7, verbs.StatusLocalLength, verbs.StatusLocalQPOperation, verbs.StatusFlushed)
	require.Equal(r, b.QP.Num(), c.QPN())
	var failed *verbs.CompletionError
	require.ErrorAs(r, c.Err(), &failed)
	require.Equal(r, verbs.CompletionError{ID: 7, Status: c.Status(), VendorErr: c.VendorErr(), QPN: b.QP.Num()}, *failed)
}
