package connsuite

import (
	"encoding/binary"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

var foreignCases = []Case{
	{"ForeignPeerIsRefused", foreignPeer},
	{"OtherVersionIsRefused", otherVersion},
	{"ProtocolIsChecked", protocolChecked},
	{"PeerVanishes", peerVanishes},
	{"IdlePeerVanishes", idleVanishes},
	{"PeerThatNeverGreets", neverGreets},
}

// strict has a peer that is gone known soon.
var strict = verbs.ConnectOptions{RNRRetries: verbs.None}

// raw is a queue pair that says what it is told.
type raw struct {
	r  *Rig
	qp *verbs.QP
	cq *verbs.CQ
	mr *verbs.MR
}

const rawSize = 4096

func (r *Rig) raw() *raw {
	dev := r.B.Device()
	cq, err := dev.CreateCQ(verbs.CQOptions{Events: true})
	require.NoError(r, err)
	qp, err := r.B.PD().CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq})
	require.NoError(r, err)
	mr, err := r.B.PD().AllocMR(rawSize, verbs.MROptions{Access: both})
	require.NoError(r, err)
	x := &raw{r: r, qp: qp, cq: cq, mr: mr}
	r.Cleanup(func() { x.close() })
	require.NoError(r, qp.Init())
	for i := range 64 {
		qp.RecvBatch().Recv(uint64(i), mr.SGE(rawSize/2, rawSize/2))
	}
	_, err = qp.RecvBatch().Post()
	require.NoError(r, err)
	return x
}

func (x *raw) close() {
	require.NoError(x.r, x.qp.Close())
	require.NoError(x.r, x.cq.Close())
	require.NoError(x.r, x.mr.Close())
}

// with connects a Conn to the raw queue pair, which says something first.
func (x *raw) with(o rdmacm.ConnOptions, greeting func()) (*rdmacm.Conn, error) {
	p, err := x.r.A.Prepare(o)
	require.NoError(x.r, err)
	own, err := p.Endpoint()
	require.NoError(x.r, err)
	require.NoError(x.r, x.qp.Connect(x.r.ctx, own, verbs.ConnectOptions{}))
	peer, err := x.qp.Endpoint()
	require.NoError(x.r, err)
	greeting()
	return p.Connect(x.r.ctx, peer, strict)
}

func (x *raw) post() {
	_, err := x.qp.SendBatch().Post()
	require.NoError(x.r, err)
}

// say sends a message of a kind, with credits.
func (x *raw) say(kind, credits uint32, body []byte) {
	copy(x.mr.Bytes(), body)
	if len(body) == 0 {
		x.qp.SendBatch().SendImm(1, kind<<24|credits)
	} else {
		x.qp.SendBatch().SendImm(1, kind<<24|credits, x.mr.SGE(0, len(body)))
	}
	x.post()
}

// hello is the greeting of wire version 1, put together by hand.
func hello(version uint16) []byte {
	b := binary.BigEndian.AppendUint16([]byte("GFCN"), version)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint32(b, 16)
	b = binary.BigEndian.AppendUint32(b, 1024)
	b = binary.BigEndian.AppendUint32(b, 2)
	return binary.BigEndian.AppendUint64(b, 1<<20)
}

func foreignPeer(r *Rig) {
	for _, greeting := range []func(x *raw){
		func(x *raw) {
			copy(x.mr.Bytes(), "GET / HTTP/1.1\r\n")
			x.qp.SendBatch().Send(1, x.mr.SGE(0, 16))
			x.post()
		},
		func(x *raw) { x.qp.SendBatch().SendImm(1, 0xdeadbeef, x.mr.SGE(0, 16)); x.post() },
		func(x *raw) { x.say(2, 0, []byte("data before hello")) },
		func(x *raw) { x.say(1, 0, []byte("GFCX is another program's")) },
		func(x *raw) { x.say(1, 0, hello(1)[:20]) },
		func(x *raw) { x.say(1, 0, append(hello(1)[:8], make([]byte, 20)...)) },
	} {
		x := r.raw()
		_, err := x.with(rdmacm.ConnOptions{}, func() { greeting(x) })
		require.ErrorIs(r, err, rdmacm.ErrForeignPeer)
		var refusal *rdmacm.HelloError
		require.ErrorAs(r, err, &refusal)
		require.NotEmpty(r, refusal.Reason)
	}
}

func otherVersion(r *Rig) {
	x := r.raw()
	_, err := x.with(rdmacm.ConnOptions{}, func() { x.say(1, 0, hello(7)) })
	var refusal *rdmacm.HelloError
	require.ErrorAs(r, err, &refusal)
	require.EqualValues(r, 7, refusal.Version)
	// The other side was told whom it talked to.
	list := make([]verbs.Completion, 1)
	for {
		_, err := x.cq.Wait(r.ctx, list)
		require.NoError(r, err)
		if imm, ok := list[0].Imm(); ok {
			require.EqualValues(r, 1, imm>>24)
			require.Equal(r, "GFCN\x00\x01", string(x.mr.Bytes()[rawSize/2:][:6]))
			return
		}
	}
}

func protocolChecked(r *Rig) {
	id := []byte{0, 0, 0, 9}
	region := append(append(make([]byte, 0), id...), make([]byte, 28)...)
	for name, breach := range map[string]func(x *raw){
		"unknown kind":            func(x *raw) { x.say(99, 0, nil) },
		"reserved bits":           func(x *raw) { x.say(2, 1<<16, nil) },
		"no immediate data":       func(x *raw) { x.qp.SendBatch().Send(1, x.mr.SGE(0, 8)); x.post() },
		"too many credits":        func(x *raw) { x.say(3, 17, nil) },
		"second hello":            func(x *raw) { x.say(1, 0, hello(1)) },
		"done by a send":          func(x *raw) { x.say(6, 0, nil) },
		"done without a grant":    func(x *raw) { x.qp.SendBatch().WriteImm(1, 6<<24, verbs.RemoteBuffer{}); x.post() },
		"data by a write":         func(x *raw) { x.qp.SendBatch().WriteImm(1, 2<<24, verbs.RemoteBuffer{}); x.post() },
		"short offer":             func(x *raw) { x.say(4, 0, id) },
		"offer of a small one":    func(x *raw) { x.say(4, 0, []byte{0, 0, 0, 0, 0, 0, 0, 9}) },
		"offer of too much":       func(x *raw) { x.say(4, 0, []byte{0, 0, 1, 0, 0, 0, 0, 0}) },
		"grant of nothing":        func(x *raw) { x.say(5, 0, make([]byte, 16)) },
		"short grant":             func(x *raw) { x.say(5, 0, id) },
		"region without a length": func(x *raw) { x.say(7, 0, region) },
		"short region":            func(x *raw) { x.say(7, 0, id) },
		"revoke of nothing":       func(x *raw) { x.say(8, 0, id) },
		"revoked nothing":         func(x *raw) { x.say(9, 0, id) },
		"message after the end":   func(x *raw) { x.say(10, 0, nil); x.say(2, 0, nil) },
	} {
		x := r.raw()
		c, err := x.with(rdmacm.ConnOptions{MaxMessage: 1 << 20}, func() { x.say(1, 0, hello(1)) })
		require.NoError(r, err, name)
		breach(x)
		select {
		case <-c.Done():
		case <-r.ctx.Done():
			require.Fail(r, "it was let through", name)
		}
		require.True(r, isAny(c.Err(), rdmacm.ErrProtocol, rdmacm.ErrForeignPeer), "%s: %v", name, c.Err())
		require.NoError(r, c.Abort())
	}
}

// peerVanishes: the peer's queue pair is gone without a word. The next message is
// not acknowledged, which the retries find out.
func peerVanishes(r *Rig) {
	x := r.raw()
	c, err := x.with(rdmacm.ConnOptions{}, func() { x.say(1, 0, hello(1)) })
	require.NoError(r, err)
	r.send(c, []byte("one"))
	require.NoError(r, x.qp.Close())
	_ = c.Send(r.ctx, []byte("two")) // it may be known already
	_, err = c.Recv(r.ctx)
	require.ErrorIs(r, err, rdmacm.ErrPeerGone)
	require.ErrorIs(r, c.Send(r.ctx, nil), rdmacm.ErrPeerGone)
	start := time.Now()
	require.NoError(r, c.Close())
	require.Less(r, time.Since(start), patience)
}

// idleVanishes: with nothing to send, the probes find out.
func idleVanishes(r *Rig) {
	x := r.raw()
	c, err := x.with(rdmacm.ConnOptions{KeepAlive: time.Millisecond}, func() { x.say(1, 0, hello(1)) })
	require.NoError(r, err)
	require.NoError(r, x.qp.Close())
	_, err = c.Recv(r.ctx)
	require.ErrorIs(r, err, rdmacm.ErrPeerGone)
	require.NoError(r, c.Close())
}

func neverGreets(r *Rig) {
	x := r.raw()
	p, err := r.A.Prepare(rdmacm.ConnOptions{})
	require.NoError(r, err)
	own, err := p.Endpoint()
	require.NoError(r, err)
	require.NoError(r, x.qp.Connect(r.ctx, own, verbs.ConnectOptions{}))
	peer, err := x.qp.Endpoint()
	require.NoError(r, err)
	_, err = p.Connect(r.soon(), peer, strict)
	require.Error(r, err)
	var failure *rdmacm.ConnError
	require.ErrorAs(r, err, &failure)
	require.True(r, failure.Timeout())
	require.NoError(r, p.Close())
}
