package conformance

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var transferCases = []Case{
	{"Send", sendRecv},
	{"SendImmediate", sendImm},
	{"Write", write},
	{"WriteImmediate", writeImm},
	{"Read", read},
	{"Inline", inline},
	{"GatherScatter", gatherScatter},
	{"EmptyMessages", emptyMessages},
	{"SizesAroundPackets", sizes},
	{"FenceHoldsBackAfterRead", fence},
	{"CallerMemoryThroughCollections", callerMemory},
	{"BothDirectionsAtOnce", bothDirections},
	{"RemoteBufferAndSGEPieces", pieces},
}

func sendRecv(r *Rig) {
	r.covers("ibv_post_send", "ibv_post_recv", "ibv_poll_cq", "ibv_create_qp",
		"ibv_modify_qp", "ibv_reg_mr", "ibv_alloc_pd", "ibv_create_cq")
	a, b := r.pair(pairOptions{})
	src, dst := r.memory(1000), r.memory(2000)
	want := r.random(src)
	b.receive(7, dst.SGE(100, 1500))
	a.QP.SendBatch().Send(9, src.SGE(0, 1000))
	a.post(1)
	r.good(a.sent(), 9, verbs.WCSend)
	c := b.received()
	r.good(c, 7, verbs.WCRecv)
	require.Equal(r, 1000, c.Len())
	require.Equal(r, b.QP.Num(), c.QPN())
	_, ok := c.Imm()
	require.False(r, ok)
	require.Equal(r, want, dst.Bytes()[100:1100])
	requireZero(r, dst.Bytes()[:100])
	requireZero(r, dst.Bytes()[1100:])
}

func sendImm(r *Rig) {
	a, b := r.pair(pairOptions{})
	mr := r.memory(64)
	b.receive(1, mr.SGE(32, 32))
	copy(mr.Bytes(), "immediate")
	a.QP.SendBatch().SendImm(2, 0x01020304, mr.SGE(0, 9))
	a.post(1)
	r.good(a.sent(), 2, verbs.WCSend)
	c := b.received()
	r.good(c, 1, verbs.WCRecv)
	imm, ok := c.Imm()
	require.True(r, ok)
	require.Equal(r, uint32(0x01020304), imm)
	require.Equal(r, "immediate", string(mr.Bytes()[32:41]))
}

func write(r *Rig) {
	a, b := r.pair(pairOptions{})
	src, dst := r.memory(5000), r.memory(6000)
	want := r.random(src)
	a.QP.SendBatch().Write(3, dst.Remote().At(500, 5000), src.SGE(0, 5000))
	a.post(1)
	r.good(a.sent(), 3, verbs.WCRDMAWrite)
	require.Equal(r, want, dst.Bytes()[500:5500])
	requireZero(r, dst.Bytes()[:500])
	requireZero(r, dst.Bytes()[5500:])
	r.quiet(b.Recv)
}

func writeImm(r *Rig) {
	a, b := r.pair(pairOptions{})
	src, dst := r.memory(3000), r.memory(3000)
	want := r.random(src)
	b.receive(4)
	a.QP.SendBatch().WriteImm(5, 0xfeedface, dst.Remote(), src.SGE(0, 3000))
	a.post(1)
	r.good(a.sent(), 5, verbs.WCRDMAWrite)
	c := b.received()
	r.good(c, 4, verbs.WCRecvRDMAWithImm)
	imm, ok := c.Imm()
	require.True(r, ok)
	require.Equal(r, uint32(0xfeedface), imm)
	require.Equal(r, 3000, c.Len())
	require.Equal(r, want, dst.Bytes())
}

func read(r *Rig) {
	a, _ := r.pair(pairOptions{})
	src, dst := r.memory(9000), r.memory(9000)
	want := r.random(src)
	a.QP.SendBatch().Read(6, src.Remote().At(1000, 8000), dst.SGE(0, 8000))
	a.post(1)
	r.good(a.sent(), 6, verbs.WCRDMARead)
	require.Equal(r, want[1000:], dst.Bytes()[:8000])
	requireZero(r, dst.Bytes()[8000:])
}

// inline data is taken when it is posted, from memory that needs no key.
func inline(r *Rig) {
	const most = 64
	a, b := r.pair(pairOptions{qp: verbs.QPOptions{MaxInline: most}})
	src, dst := r.memory(2*most), r.memory(2*most)
	want := bytes.Clone(r.random(src)[:most])
	b.receive(1, dst.SGE(most, most))
	local := src.SGE(0, most)
	local.LKey = 0
	a.QP.SendBatch().Write(2, dst.Remote().At(0, most), local).Inline()
	a.QP.SendBatch().Send(3, local).Inline()
	a.post(2)
	clear(src.Bytes())
	r.good(a.sent(), 2, verbs.WCRDMAWrite)
	r.good(a.sent(), 3, verbs.WCSend)
	r.good(b.received(), 1, verbs.WCRecv)
	require.Equal(r, want, dst.Bytes()[:most])
	require.Equal(r, want, dst.Bytes()[most:])
}

func gatherScatter(r *Rig) {
	a, b := r.pair(pairOptions{qp: verbs.QPOptions{MaxSendSGE: 3, MaxRecvSGE: 3}})
	src, dst := r.memory(300), r.memory(300)
	data := r.random(src)
	b.receive(1, dst.SGE(200, 10), dst.SGE(100, 40), dst.SGE(0, 100))
	a.QP.SendBatch().Send(2, src.SGE(50, 30), src.SGE(0, 20), src.SGE(100, 60))
	a.post(1)
	r.good(a.sent(), 2, verbs.WCSend)
	c := b.received()
	r.good(c, 1, verbs.WCRecv)
	require.Equal(r, 110, c.Len())
	sent := bytes.Join([][]byte{data[50:80], data[0:20], data[100:160]}, nil)
	got := dst.Bytes()
	require.Equal(r, sent, bytes.Join([][]byte{got[200:210], got[100:140], got[0:60]}, nil))
	requireZero(r, got[60:100])

	back := r.memory(200)
	a.QP.SendBatch().Read(3, src.Remote().At(0, 150), back.SGE(100, 100), back.SGE(0, 50))
	a.post(1)
	r.good(a.sent(), 3, verbs.WCRDMARead)
	require.Equal(r, data[:100], back.Bytes()[100:])
	require.Equal(r, data[100:150], back.Bytes()[:50])
}

func emptyMessages(r *Rig) {
	a, b := r.pair(pairOptions{})
	mr := r.memory(64)
	b.receive(1)
	b.receive(2, mr.SGE(0, 64))
	b.receive(3)
	s := a.QP.SendBatch()
	s.Send(4)
	s.SendImm(5, 55)
	s.WriteImm(6, 66, mr.Remote())
	a.post(3)
	r.good(a.sent(), 4, verbs.WCSend)
	r.good(a.sent(), 5, verbs.WCSend)
	r.good(a.sent(), 6, verbs.WCRDMAWrite)
	c := b.received()
	r.good(c, 1, verbs.WCRecv)
	require.Zero(r, c.Len())
	c = b.received()
	r.good(c, 2, verbs.WCRecv)
	imm, _ := c.Imm()
	require.Equal(r, uint32(55), imm)
	r.good(b.received(), 3, verbs.WCRecvRDMAWithImm)
	requireZero(r, mr.Bytes())
}

// sizes moves messages whose ends fall on, before and behind packet borders.
func sizes(r *Rig) {
	const most = 1<<20 + 1
	a, b := r.pair(pairOptions{})
	src, dst := r.memory(most), r.memory(most)
	data := r.random(src)
	for i, n := range []int{1, 2, 3, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 8192, 65535, 65537, most} {
		id := uint64(i)
		clear(dst.Bytes())
		a.QP.SendBatch().Write(id, dst.Remote(), src.SGE(most-n, n))
		a.post(1)
		r.good(a.sent(), id, verbs.WCRDMAWrite)
		requireSame(r, data[most-n:], dst.Bytes()[:n], fmt.Sprintf("write of %d bytes", n))
		requireZero(r, dst.Bytes()[n:])

		clear(dst.Bytes())
		a.QP.SendBatch().Read(id, src.Remote().At(uint64(most-n), uint64(n)), dst.SGE(0, n))
		a.post(1)
		r.good(a.sent(), id, verbs.WCRDMARead)
		requireSame(r, data[most-n:], dst.Bytes()[:n], fmt.Sprintf("read of %d bytes", n))

		clear(dst.Bytes())
		b.receive(id, dst.SGE(0, most))
		a.QP.SendBatch().Send(id, src.SGE(most-n, n))
		a.post(1)
		r.good(a.sent(), id, verbs.WCSend)
		c := b.received()
		r.good(c, id, verbs.WCRecv)
		require.Equal(r, n, c.Len())
		requireSame(r, data[most-n:], dst.Bytes()[:n], fmt.Sprintf("send of %d bytes", n))
	}
}

// fence makes a write that follows a read carry what the read brought.
func fence(r *Rig) {
	const n = 32 << 10
	a, _ := r.pair(pairOptions{})
	far, near, out := r.memory(n), r.memory(n), r.memory(n)
	want := r.random(far)
	for range 10 {
		clear(near.Bytes())
		a.QP.SendBatch().Read(1, far.Remote(), near.SGE(0, n))
		a.QP.SendBatch().Write(2, out.Remote(), near.SGE(0, n)).Fence()
		a.post(2)
		r.good(a.sent(), 1, verbs.WCRDMARead)
		r.good(a.sent(), 2, verbs.WCRDMAWrite)
		requireSame(r, want, out.Bytes(), "fenced write")
		clear(out.Bytes())
	}
}

// callerMemory registers memory of the Go heap, which the collector must leave
// in place until the region is closed.
func callerMemory(r *Rig) {
	a, _ := r.pair(pairOptions{})
	src, err := r.PD.RegisterMR([]byte("from the Go heap"), verbs.MROptions{})
	require.NoError(r, err)
	buf := make([]byte, 100)
	dst, err := r.PD.RegisterMR(buf[10:50], verbs.MROptions{Access: allRights})
	require.NoError(r, err)
	for range 5 {
		runtime.GC()
		_ = make([]byte, 1<<20)
		a.QP.SendBatch().Write(1, dst.Remote().At(0, 16), src.SGE(0, 16))
		a.post(1)
		r.good(a.sent(), 1, verbs.WCRDMAWrite)
		require.Equal(r, "from the Go heap", string(buf[10:26]))
		clear(buf)
	}
	requireZero(r, buf)
}

func bothDirections(r *Rig) {
	const n, rounds = 2048, 20
	a, b := r.pair(pairOptions{})
	ends := []*End{a, b}
	src, dst := make([]*verbs.MR, 2), make([]*verbs.MR, 2)
	for i, e := range ends {
		src[i], dst[i] = r.memory(n), r.memory(n*rounds)
		r.random(src[i])
		for k := range rounds {
			e.receive(uint64(k), dst[i].SGE(k*n, n))
		}
	}
	for k := range rounds {
		for i, e := range ends {
			e.QP.SendBatch().Send(uint64(k), src[i].SGE(0, n))
			e.post(1)
		}
	}
	for k := range rounds {
		for i, e := range ends {
			r.good(e.sent(), uint64(k), verbs.WCSend)
			r.good(e.received(), uint64(k), verbs.WCRecv)
			requireSame(r, src[1-i].Bytes(), dst[i].Bytes()[k*n:(k+1)*n], "message")
		}
	}
}

// pieces refuses what lies outside a region before the device is asked.
func pieces(r *Rig) {
	a, _ := r.pair(pairOptions{})
	mr := r.memory(100)
	s := a.QP.SendBatch()
	for _, add := range []func(){
		func() { s.Write(1, mr.Remote(), mr.SGE(0, 101)) },
		func() { s.Write(1, mr.Remote(), mr.SGE(-1, 10)) },
		func() { s.Write(1, mr.Remote(), mr.SGE(10, -1)) },
		func() { s.Write(1, mr.Remote(), mr.SGE(101, 0)) },
		func() { s.Write(1, mr.Remote().At(1, 100), mr.SGE(0, 100)) },
		func() { s.Write(1, mr.Remote().At(101, 0), mr.SGE(0, 1)) },
		func() { s.Write(1, mr.Remote().At(0, 10), mr.SGE(0, 11)) },
		func() { s.Send(1, mr.SGE(0, 1), mr.SGE(1, 1)) },
		func() { s.Send(1, mr.SGE(0, 1)).Inline() },
		func() { s.Read(1, mr.Remote(), mr.SGE(0, 0)).Inline() },
	} {
		s.Write(0, mr.Remote().At(0, 1), mr.SGE(0, 1))
		add()
		n, err := s.Post()
		require.Error(r, err)
		require.Zero(r, n)
		require.Zero(r, s.Len())
	}
	r.quiet(a.Send)
	s.Write(2, mr.Remote().At(0, 1), mr.SGE(1, 1))
	a.post(1)
	r.good(a.sent(), 2, verbs.WCRDMAWrite)
}

func requireZero(r *Rig, b []byte) {
	r.Helper()
	for i, v := range b {
		if v != 0 {
			require.Failf(r, "stray byte", "0x%02x at %d of %d", v, i, len(b))
		}
	}
}

// requireSame compares without printing megabytes.
func requireSame(r *Rig, want, got []byte, what string) {
	r.Helper()
	if bytes.Equal(want, got) {
		return
	}
	for i := range want {
		if want[i] != got[i] {
			require.Failf(r, "wrong data", "%s: first difference at %d of %d", what, i, len(want))
		}
	}
}
