//go:build linux && cgo

package loopdev_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSendReceive(t *testing.T) {
	a, b := pair(t, endOptions{})
	copy(a.mem, "hello, fabric")
	b.receive(70, b.sge(100, 200))
	a.post(work{id: 7, op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{a.sge(0, 13)}})

	wc := completion(t, a.send)
	assert.Equal(t, uint64(7), wc.WRID)
	assert.Equal(t, int32(cverbs.IBV_WC_SUCCESS), wc.Status)
	assert.Equal(t, int32(cverbs.IBV_WC_SEND), wc.Opcode)
	assert.Equal(t, a.qp.Num(), wc.QPNum)

	wc = completion(t, b.recv)
	assert.Equal(t, uint64(70), wc.WRID)
	assert.Equal(t, int32(cverbs.IBV_WC_SUCCESS), wc.Status)
	assert.Equal(t, int32(cverbs.IBV_WC_RECV), wc.Opcode)
	assert.Equal(t, uint32(13), wc.ByteLen)
	assert.Equal(t, b.qp.Num(), wc.QPNum)
	assert.Zero(t, wc.Flags)
	assert.Equal(t, "hello, fabric", string(b.mem[100:113]))
	assert.Zero(t, b.mem[113])
}

func TestSendWithImmediateKeepsItsByteOrder(t *testing.T) {
	a, b := pair(t, endOptions{})
	b.receive(1, b.sge(0, 16))
	imm := binary.NativeEndian.Uint32([]byte{0xde, 0xad, 0xbe, 0xef})
	a.post(work{op: cverbs.IBV_WR_SEND_WITH_IMM, flags: signaled, imm: imm, sges: []cverbs.SGE{a.sge(0, 4)}})
	wc := completion(t, b.recv)
	assert.Equal(t, uint32(cverbs.IBV_WC_WITH_IMM), wc.Flags)
	assert.Equal(t, imm, wc.Imm)
}

func TestScatterGather(t *testing.T) {
	a, b := pair(t, endOptions{})
	copy(a.mem, "abcdefghij")
	b.receive(1, b.sge(0, 3), b.sge(100, 0), b.sge(200, 1), b.sge(300, 100))
	a.post(work{op: cverbs.IBV_WR_SEND, flags: signaled,
		sges: []cverbs.SGE{a.sge(5, 5), a.sge(0, 0), a.sge(0, 5)}})
	require.Equal(t, uint32(10), completion(t, b.recv).ByteLen)
	assert.Equal(t, "fgh", string(b.mem[0:3]))
	assert.Equal(t, "i", string(b.mem[200:201]))
	assert.Equal(t, "jabcde", string(b.mem[300:306]))
	assert.Zero(t, b.mem[3])
}

func TestWriteAndRead(t *testing.T) {
	a, b := pair(t, endOptions{})
	copy(a.mem, "written")
	a.post(work{id: 1, op: cverbs.IBV_WR_RDMA_WRITE, flags: signaled, sges: []cverbs.SGE{a.sge(0, 7)},
		remote: b.addr(50), rkey: b.rkey})
	wc := completion(t, a.send)
	assert.Equal(t, int32(cverbs.IBV_WC_RDMA_WRITE), wc.Opcode)
	assert.Equal(t, "written", string(b.mem[50:57]))
	assert.Empty(t, pollOnce(t, b.recv, 1), "the other side is not told")

	a.post(work{id: 2, op: cverbs.IBV_WR_RDMA_READ, flags: signaled, sges: []cverbs.SGE{a.sge(500, 3), a.sge(600, 4)},
		remote: b.addr(50), rkey: b.rkey})
	wc = completion(t, a.send)
	assert.Equal(t, int32(cverbs.IBV_WC_RDMA_READ), wc.Opcode)
	assert.Equal(t, uint32(7), wc.ByteLen)
	assert.Equal(t, "wri", string(a.mem[500:503]))
	assert.Equal(t, "tten", string(a.mem[600:604]))
}

func TestWriteWithImmediateTakesAReceive(t *testing.T) {
	a, b := pair(t, endOptions{})
	copy(a.mem, "xyz")
	b.receive(9)
	a.post(work{op: cverbs.IBV_WR_RDMA_WRITE_WITH_IMM, imm: 5, sges: []cverbs.SGE{a.sge(0, 3)},
		remote: b.addr(0), rkey: b.rkey})
	wc := completion(t, b.recv)
	assert.Equal(t, int32(cverbs.IBV_WC_RECV_RDMA_WITH_IMM), wc.Opcode)
	assert.Equal(t, uint64(9), wc.WRID)
	assert.Equal(t, uint32(3), wc.ByteLen)
	assert.Equal(t, uint32(5), wc.Imm)
	assert.Equal(t, "xyz", string(b.mem[:3]))
}

func TestZeroLengthMessages(t *testing.T) {
	a, b := pair(t, endOptions{})
	b.receive(1)
	b.receive(2)
	a.post(
		work{id: 1, op: cverbs.IBV_WR_SEND, flags: signaled},
		work{id: 2, op: cverbs.IBV_WR_RDMA_WRITE, flags: signaled, rkey: 0xbad},
		work{id: 3, op: cverbs.IBV_WR_RDMA_READ, flags: signaled, rkey: 0xbad},
		work{id: 4, op: cverbs.IBV_WR_RDMA_WRITE_WITH_IMM, flags: signaled, imm: 1},
	)
	assert.Equal(t, []int32{0, 0, 0, 0}, statuses(completions(t, a.send, 4)))
	wcs := completions(t, b.recv, 2)
	assert.Equal(t, []uint64{1, 2}, ids(wcs))
	assert.Zero(t, wcs[0].ByteLen)
}

func TestInlineDataIsTakenAtThePost(t *testing.T) {
	a, b := pair(t, endOptions{inline: 64})
	copy(a.mem, "before")
	sge := a.sge(0, 6)
	sge.LKey = 0xbad // not looked at
	a.post(work{op: cverbs.IBV_WR_SEND, flags: signaled | cverbs.IBV_SEND_INLINE, sges: []cverbs.SGE{sge}})
	copy(a.mem, "after!")
	b.receive(1, b.sge(0, 6)) // only now can it be delivered
	completion(t, b.recv)
	assert.Equal(t, "before", string(b.mem[:6]))

	n, err := a.tryPost(work{op: cverbs.IBV_WR_SEND, flags: cverbs.IBV_SEND_INLINE, sges: []cverbs.SGE{a.sge(0, 65)}})
	assert.Error(t, err, "longer than max_inline_data")
	assert.Zero(t, n)
	_, err = a.tryPost(work{op: cverbs.IBV_WR_RDMA_READ, flags: cverbs.IBV_SEND_INLINE, sges: []cverbs.SGE{a.sge(0, 6)},
		remote: b.addr(0), rkey: b.rkey})
	assert.Error(t, err, "a read cannot be inline")
}

func TestUnsignaledRequestsCompleteSilently(t *testing.T) {
	a, b := pair(t, endOptions{})
	a.post(
		work{id: 1, op: cverbs.IBV_WR_RDMA_WRITE, sges: []cverbs.SGE{a.sge(0, 8)}, remote: b.addr(0), rkey: b.rkey},
		work{id: 2, op: cverbs.IBV_WR_RDMA_WRITE, flags: signaled | cverbs.IBV_SEND_FENCE, sges: []cverbs.SGE{a.sge(0, 8)}, remote: b.addr(0), rkey: b.rkey},
	)
	assert.Equal(t, []uint64{2}, ids(completions(t, a.send, 1)))
}

func TestSignalAll(t *testing.T) {
	a, b := pair(t, endOptions{signalAll: true})
	w := work{id: 3, op: cverbs.IBV_WR_RDMA_WRITE, sges: []cverbs.SGE{a.sge(0, 8)}, remote: b.addr(0), rkey: b.rkey}
	a.post(w, w)
	assert.Equal(t, []uint64{3, 3}, ids(completions(t, a.send, 2)))
}

func TestFullSendQueueFreesSlotsByPolling(t *testing.T) {
	a, b := pair(t, endOptions{sendWR: 3})
	w := work{op: cverbs.IBV_WR_RDMA_WRITE, sges: []cverbs.SGE{a.sge(0, 8)}, remote: b.addr(0), rkey: b.rkey}
	s := w
	s.flags = signaled
	n, err := a.tryPost(w, s, w, w)
	assert.ErrorIs(t, err, errNoMemory)
	assert.Equal(t, 3, n, "bad_wr names the first that was not taken")

	completion(t, a.send) // of the second: frees the first two
	n, err = a.tryPost(s, s, s)
	assert.ErrorIs(t, err, errNoMemory)
	assert.Equal(t, 2, n)
}

func TestFullReceiveQueue(t *testing.T) {
	a, b := pair(t, endOptions{recvWR: 2})
	b.receive(1, b.sge(0, 8))
	b.receive(2, b.sge(8, 8))
	assert.ErrorIs(t, b.tryReceive(3, b.sge(0, 8)), errNoMemory)
	a.post(work{op: cverbs.IBV_WR_SEND, sges: []cverbs.SGE{a.sge(0, 8)}})
	completion(t, b.recv)
	b.receive(3, b.sge(0, 8))
}

func TestTooManyPiecesAreRefusedAtThePost(t *testing.T) {
	a, b := pair(t, endOptions{})
	five := []cverbs.SGE{a.sge(0, 1), a.sge(0, 1), a.sge(0, 1), a.sge(0, 1), a.sge(0, 1)}
	_, err := a.tryPost(work{op: cverbs.IBV_WR_SEND, sges: five})
	assert.ErrorIs(t, err, errInvalid)
	assert.ErrorIs(t, b.tryReceive(1, five...), errInvalid)
}

func TestQueuePairConnectedToItself(t *testing.T) {
	a := newEnd(t, endOptions{})
	a.toRTS(a)
	copy(a.mem, "me")
	a.receive(1, a.sge(10, 2))
	a.post(work{op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{a.sge(0, 2)}})
	completion(t, a.send)
	completion(t, a.recv)
	assert.Equal(t, "me", string(a.mem[10:12]))
	a.post(work{id: 2, op: cverbs.IBV_WR_RDMA_WRITE, sges: []cverbs.SGE{a.sge(0, 2)}, remote: 1, rkey: 1})
	assert.Equal(t, int32(cverbs.IBV_WC_REM_ACCESS_ERR), completion(t, a.send).Status)
	assert.Equal(t, int32(cverbs.IBV_QPS_ERR), a.state())
}

func TestLargeMessage(t *testing.T) {
	const size = 64 << 20
	a, b := pair(t, endOptions{size: size})
	for i := 0; i < size; i += 4096 {
		a.mem[i] = byte(i >> 12)
	}
	a.mem[size-1] = 0xa5
	a.post(work{op: cverbs.IBV_WR_RDMA_WRITE, flags: signaled, sges: []cverbs.SGE{a.sge(0, size)}, remote: b.addr(0), rkey: b.rkey})
	require.Zero(t, completion(t, a.send).Status)
	assert.True(t, bytes.Equal(a.mem, b.mem))
}
