//go:build linux && cgo

package loopdev_test

import (
	"encoding/binary"
	"testing"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const grhLen = 40

func datagram(a, b *end, ah cverbs.AH, id uint64, n int) work {
	return work{id: id, op: cverbs.IBV_WR_SEND, flags: signaled, sges: []cverbs.SGE{a.sge(0, n)},
		ah: ah, remoteQPN: b.qp.Num(), remoteKey: testQKey}
}

func TestDatagramAndReply(t *testing.T) {
	a, b := pair(t, endOptions{kind: cverbs.IBV_QPT_UD})
	copy(a.mem, "datagram")
	b.receive(1, b.sge(0, 10), b.sge(10, 100))
	w := datagram(a, b, a.address(b), 5, 8)
	w.op, w.imm = cverbs.IBV_WR_SEND_WITH_IMM, 77
	a.post(w)
	assert.Zero(t, completion(t, a.send).Status)
	wc := completion(t, b.recv)
	assert.Zero(t, wc.Status)
	assert.Equal(t, uint32(grhLen+8), wc.ByteLen)
	assert.Equal(t, uint32(cverbs.IBV_WC_GRH|cverbs.IBV_WC_WITH_IMM), wc.Flags)
	assert.Equal(t, uint32(77), wc.Imm)
	assert.Equal(t, a.qp.Num(), wc.SrcQP)
	assert.Equal(t, "datagram", string(b.mem[grhLen:grhLen+8]))

	ip := b.mem[20:grhLen]
	assert.Equal(t, byte(0x45), ip[0], "RoCE v2 over IPv4 has an IPv4 header in the last 20 bytes")
	from, to := readGID(t, a.device, 1, gidIndex), readGID(t, b.device, 1, gidIndex)
	assert.Equal(t, from[12:], ip[12:16])
	assert.Equal(t, to[12:], ip[16:20])
	var sum uint32
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	assert.Equal(t, uint32(0xffff), sum>>16+sum&0xffff, "its checksum holds")

	grh := cverbs.GRH(b.mem[:grhLen])
	attr, err := b.ctx.AHFromWC(1, &wc, &grh)
	require.NoError(t, err)
	assert.Equal(t, uint8(gidIndex), attr.SGIDIndex)
	ah, err := b.pd.CreateAH(&attr)
	require.NoError(t, err)
	b.handles = append(b.handles, ah)
	a.receive(2, a.sge(100, 100))
	b.post(datagram(b, a, ah, 6, 4))
	assert.Equal(t, b.qp.Num(), completion(t, a.recv).SrcQP)
}

func TestDatagramHeaderOverIPv6(t *testing.T) {
	a, b := pair(t, endOptions{kind: cverbs.IBV_QPT_UD})
	for index, next := range map[int]byte{0: 0x1b, 1: 17} {
		attr := addressOf(t, b.device, 1, index, 1)
		attr.TrafficClass, attr.FlowLabel = 0xab, 0x12345
		ah, err := a.pd.CreateAH(&attr)
		require.NoError(t, err)
		a.handles = append(a.handles, ah)
		b.receive(1, b.sge(0, 100))
		a.post(datagram(a, b, ah, 1, 8))
		wc := completion(t, b.recv)
		grh := cverbs.GRH(b.mem[:grhLen])
		assert.Equal(t, uint32(0x6ab12345), binary.BigEndian.Uint32(grh[:]))
		assert.Equal(t, next, grh[6])
		from := readGID(t, a.device, 1, index)
		assert.Equal(t, from[:], grh[8:24])
		back, err := b.ctx.AHFromWC(1, &wc, &grh)
		require.NoError(t, err)
		assert.Equal(t, uint8(index), back.SGIDIndex)
		assert.Equal(t, uint32(0x12345), back.FlowLabel)
	}
}

func TestWrongQKeyIsDroppedAndCounted(t *testing.T) {
	a, b := pair(t, endOptions{kind: cverbs.IBV_QPT_UD})
	b.receive(1, b.sge(0, 100))
	w := datagram(a, b, a.address(b), 1, 8)
	w.remoteKey++
	a.post(w)
	assert.Zero(t, completion(t, a.send).Status, "the sender is not told")
	assert.Empty(t, pollOnce(t, b.recv, 1))
	port, err := b.ctx.QueryPort(1)
	require.NoError(t, err)
	assert.Equal(t, uint32(1), port.QKeyViolCntr)

	w.remoteKey = 1<<31 | 5 // the high bit: use the queue pair's own
	a.post(w)
	assert.Zero(t, completion(t, b.recv).Status)
}

func TestDatagramsThatAreLost(t *testing.T) {
	a, b := pair(t, endOptions{kind: cverbs.IBV_QPT_UD, size: 8192})
	ah := a.address(b)
	nowhere := datagram(a, b, ah, 1, 8)
	nowhere.remoteQPN = 0xfffff
	a.post(nowhere, datagram(a, b, ah, 2, 8)) // and no receive
	assert.Equal(t, []int32{0, 0}, statuses(completions(t, a.send, 2)))
	b.receive(1, b.sge(0, 8192))
	a.post(datagram(a, b, ah, 3, 4097))
	assert.Zero(t, completion(t, a.send).Status, "longer than the MTU: not sent, and no error")
	assert.Empty(t, pollOnce(t, b.recv, 1))
	a.post(datagram(a, b, ah, 4, 4096))
	assert.Equal(t, uint32(4096+grhLen), completion(t, b.recv).ByteLen)
}

func TestDatagramLongerThanItsReceive(t *testing.T) {
	a, b := pair(t, endOptions{kind: cverbs.IBV_QPT_UD})
	b.receive(1, b.sge(0, grhLen+7))
	a.post(datagram(a, b, a.address(b), 1, 8))
	assert.Zero(t, completion(t, a.send).Status)
	assert.Equal(t, int32(cverbs.IBV_WC_LOC_LEN_ERR), completion(t, b.recv).Status)
	assert.Equal(t, int32(cverbs.IBV_QPS_ERR), b.state())
}

func TestAddressHandleOutlivedByItsRequests(t *testing.T) {
	a, b := pair(t, endOptions{kind: cverbs.IBV_QPT_UD})
	require.NoError(t, loopdev.DelayMessages(a.device, a.qp.Num(), 2e6))
	ah := a.address(b)
	b.receive(1, b.sge(0, 100))
	a.post(datagram(a, b, ah, 1, 8))
	require.NoError(t, ah.Destroy())
	a.handles = nil
	assert.Zero(t, completion(t, b.recv).Status)
}

func TestAddressHandleOfAnotherDomain(t *testing.T) {
	a, b := pair(t, endOptions{kind: cverbs.IBV_QPT_UD})
	pd, err := a.ctx.AllocPD()
	require.NoError(t, err)
	attr := addressOf(t, b.device, 1, gidIndex, 1)
	ah, err := pd.CreateAH(&attr)
	require.NoError(t, err)
	assert.ErrorIs(t, pd.Dealloc(), errBusy)
	a.post(datagram(a, b, ah, 1, 8))
	assert.Equal(t, int32(cverbs.IBV_WC_LOC_QP_OP_ERR), completion(t, a.send).Status)
	require.NoError(t, ah.Destroy())
	require.NoError(t, pd.Dealloc())
	_, err = a.tryPost(datagram(a, b, cverbs.AH{}, 1, 8))
	assert.ErrorIs(t, err, errInvalid)
	attr.IsGlobal = 0
	_, err = a.pd.CreateAH(&attr)
	assert.ErrorIs(t, err, errInvalid, "RoCE needs a GRH")
}

// The group 239.0.0.66, as RoCE v2 writes it.
var group = [16]byte{0xff, 0x0e, 10: 0xff, 0xff, 239, 0, 0, 66}

func (e *end) groupAddress() cverbs.AH {
	attr := cverbs.AHAttr{IsGlobal: 1, PortNum: e.port, SGIDIndex: gidIndex, HopLimit: 1}
	attr.DGID = group
	ah, err := e.pd.CreateAH(&attr)
	require.NoError(e.t, err)
	e.handles = append(e.handles, ah)
	return ah
}

func TestMulticast(t *testing.T) {
	o := endOptions{kind: cverbs.IBV_QPT_UD}
	a, b := pair(t, o)
	c, outsider := pair(t, o)
	ends := []*end{a, b, c}
	for _, e := range ends {
		require.NoError(t, e.qp.AttachMcast(group, 0))
		require.NoError(t, e.qp.AttachMcast(group, 0), "twice is once")
		e.receive(1, e.sge(0, 100))
		e.receive(2, e.sge(0, 100))
	}
	outsider.receive(1, outsider.sge(0, 100))
	assert.ErrorIs(t, a.qp.Destroy(), errBusy, "it is still attached")

	w := datagram(a, a, a.groupAddress(), 1, 8)
	w.remoteQPN = 0xffffff
	a.post(w)
	for _, e := range ends {
		wc := completion(t, e.recv) // the sender is a member and gets a copy too
		assert.Equal(t, a.qp.Num(), wc.SrcQP)
		assert.Empty(t, pollOnce(t, e.recv, 1))
	}
	assert.Empty(t, pollOnce(t, outsider.recv, 1))
	grh, wc := cverbs.GRH(b.mem[:grhLen]), cverbs.WC{Flags: cverbs.IBV_WC_GRH}
	attr, err := b.ctx.AHFromWC(1, &wc, &grh)
	require.NoError(t, err)
	assert.Equal(t, uint8(1), attr.IsGlobal)
	assert.Equal(t, uint8(gidIndex), attr.SGIDIndex)
	assert.Equal(t, []byte{239, 0, 0, 66}, b.mem[36:grhLen])

	require.NoError(t, b.qp.DetachMcast(group, 0))
	assert.ErrorIs(t, b.qp.DetachMcast(group, 0), errInvalid)
	a.post(w)
	completion(t, c.recv)
	assert.Empty(t, pollOnce(t, b.recv, 1))
	require.NoError(t, a.qp.DetachMcast(group, 0))
	require.NoError(t, c.qp.DetachMcast(group, 0))
}

func TestMulticastRefusals(t *testing.T) {
	ud, rc := newEnd(t, endOptions{kind: cverbs.IBV_QPT_UD}), newEnd(t, endOptions{})
	assert.ErrorIs(t, rc.qp.AttachMcast(group, 0), errInvalid, "datagrams only")
	assert.ErrorIs(t, ud.qp.AttachMcast([16]byte{0xfe, 0x80}, 0), errInvalid, "no multicast address")
}
