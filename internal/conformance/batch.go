package conformance

import (
	"errors"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var batchCases = []Case{
	{"ManyInOneBatch", manyInOneBatch},
	{"Unsignaled", unsignaled},
	{"SendQueueFull", sendQueueFull},
	{"UnsignaledCountAsFull", unsignaledFull},
	{"ReceiveQueueFull", recvQueueFull},
	{"PostAndPoll", postAndPoll},
	{"EmptyBatch", emptyBatch},
	{"ManyTurnsOfTheRing", manyTurns},
}

func manyInOneBatch(r *Rig) {
	const n, size = 64, 100
	a, _ := r.pair(pairOptions{qp: verbs.QPOptions{MaxSend: n}})
	src, dst := r.memory(n*size), r.memory(n*size)
	want := r.random(src)
	for i := range n {
		a.QP.SendBatch().Write(uint64(1000+i), dst.Remote().At(uint64(i*size), size), src.SGE(i*size, size))
	}
	require.Equal(r, n, a.QP.SendBatch().Len())
	require.Zero(r, a.QP.SendBatch().Room())
	a.post(n)
	for i := range n {
		r.good(a.sent(), uint64(1000+i), verbs.WCRDMAWrite)
	}
	require.Equal(r, want, dst.Bytes())
}

func unsignaled(r *Rig) {
	a, _ := r.pair(pairOptions{})
	src, dst := r.memory(40), r.memory(40)
	want := r.random(src)
	for i := range 4 {
		req := a.QP.SendBatch().Write(uint64(i), dst.Remote().At(uint64(10*i), 10), src.SGE(10*i, 10))
		if i < 3 {
			req.Unsignaled()
		}
	}
	a.post(4)
	r.good(a.sent(), 3, verbs.WCRDMAWrite)
	r.quiet(a.Send)
	require.Equal(r, want, dst.Bytes())
}

// sendQueueFull posts what fits and goes on after polling.
func sendQueueFull(r *Rig) {
	const depth = 4
	a, _ := r.pair(pairOptions{qp: verbs.QPOptions{MaxSend: depth}})
	mr := r.memory(8)
	s := a.QP.SendBatch()
	fill := func(n int) (int, error) {
		for i := range n {
			s.Write(uint64(i), mr.Remote(), mr.SGE(0, 8))
		}
		return s.Post()
	}
	n, err := fill(depth + 3)
	require.ErrorIs(r, err, verbs.ErrSendQueueFull)
	require.Equal(r, depth, n)
	n, err = fill(1)
	require.ErrorIs(r, err, verbs.ErrSendQueueFull)
	require.Zero(r, n)
	for i := range depth {
		r.good(a.sent(), uint64(i), verbs.WCRDMAWrite)
	}
	require.Equal(r, depth, s.Room())
	n, err = fill(depth)
	require.NoError(r, err)
	require.Equal(r, depth, n)
	for i := range depth {
		r.good(a.sent(), uint64(i), verbs.WCRDMAWrite)
	}
}

func unsignaledFull(r *Rig) {
	const depth = 8
	a, _ := r.pair(pairOptions{qp: verbs.QPOptions{MaxSend: depth}})
	mr := r.memory(8)
	s := a.QP.SendBatch()
	for i := range depth - 1 {
		s.Write(uint64(i), mr.Remote(), mr.SGE(0, 8)).Unsignaled()
	}
	a.post(depth - 1)
	s.Write(98, mr.Remote(), mr.SGE(0, 8))
	s.Write(99, mr.Remote(), mr.SGE(0, 8))
	n, err := s.Post()
	require.ErrorIs(r, err, verbs.ErrSendQueueFull)
	require.Equal(r, 1, n)
	r.good(a.sent(), 98, verbs.WCRDMAWrite)
	require.Equal(r, depth, s.Room(), "a signalled completion frees those before it")
}

func recvQueueFull(r *Rig) {
	const depth = 3
	a, b := r.pair(pairOptions{qp: verbs.QPOptions{MaxRecv: depth}})
	mr := r.memory(64)
	for i := range depth + 1 {
		b.QP.RecvBatch().Recv(uint64(i), mr.SGE(0, 8))
	}
	n, err := b.QP.RecvBatch().Post()
	require.ErrorIs(r, err, verbs.ErrRecvQueueFull)
	require.Equal(r, depth, n)
	a.QP.SendBatch().Send(1, mr.SGE(8, 8))
	a.post(1)
	r.good(b.received(), 0, verbs.WCRecv)
	b.receive(9, mr.SGE(0, 8))
}

func postAndPoll(r *Rig) {
	a, _ := r.pair(pairOptions{})
	src, dst := r.memory(64), r.memory(64)
	want := r.random(src)
	wc := make([]verbs.Completion, 2)
	var ids []uint64
	for i := range 8 {
		a.QP.SendBatch().Write(uint64(i), dst.Remote().At(uint64(8*i), 8), src.SGE(8*i, 8))
		posted, polled, err := a.QP.SendBatch().PostAndPoll(wc)
		require.NoError(r, err)
		require.Equal(r, 1, posted)
		for k := range polled {
			require.NoError(r, wc[k].Err())
			ids = append(ids, wc[k].ID())
		}
	}
	for len(ids) < 8 {
		ids = append(ids, a.sent().ID())
	}
	require.Equal(r, []uint64{0, 1, 2, 3, 4, 5, 6, 7}, ids)
	require.Equal(r, want, dst.Bytes())

	posted, polled, err := a.QP.SendBatch().PostAndPoll(nil)
	require.NoError(r, err)
	require.Zero(r, posted+polled)
}

func emptyBatch(r *Rig) {
	a, _ := r.pair(pairOptions{})
	n, err := a.QP.SendBatch().Post()
	require.NoError(r, err)
	require.Zero(r, n)
	n, err = a.QP.RecvBatch().Post()
	require.NoError(r, err)
	require.Zero(r, n)
	n, err = a.Send.Poll(nil)
	require.NoError(r, err)
	require.Zero(r, n)
}

// manyTurns runs a depth that divides nothing through many turns of the ring.
func manyTurns(r *Rig) {
	const depth, total = 5, 203
	a, b := r.pair(pairOptions{qp: verbs.QPOptions{MaxSend: depth, MaxRecv: depth}})
	src, dst := r.memory(total), r.memory(total)
	want := r.random(src)
	posted, received, next := 0, 0, 0
	wc := make([]verbs.Completion, 3)
	for received < total {
		for b.QP.RecvBatch().Room() > 0 && next < total {
			b.QP.RecvBatch().Recv(uint64(next), dst.SGE(next, 1))
			next++
		}
		_, err := b.QP.RecvBatch().Post()
		require.NoError(r, err)
		for posted < next {
			a.QP.SendBatch().Send(uint64(posted), src.SGE(posted, 1))
			n, err := a.QP.SendBatch().Post()
			if errors.Is(err, verbs.ErrSendQueueFull) {
				break
			}
			require.NoError(r, err)
			posted += n
		}
		n, err := a.Send.Poll(wc)
		require.NoError(r, err)
		for i := range n {
			require.NoError(r, wc[i].Err())
		}
		n, err = b.Recv.Poll(wc)
		require.NoError(r, err)
		for i := range n {
			r.good(&wc[i], uint64(received), verbs.WCRecv)
			received++
		}
		require.NoError(r, r.ctx.Err())
	}
	require.Equal(r, want, dst.Bytes())
}
