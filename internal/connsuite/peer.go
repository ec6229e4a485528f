package connsuite

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs/rdmacm"
)

var peerCases = []Case{
	{"PeerAborts", peerAborts},
	{"IdlePeerIsProbed", idleProbed},
	{"ConnectionsFailAlone", failAlone},
}

func peerAborts(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	r.send(a, []byte("before"))
	require.NoError(r, a.Abort())
	r.gets(b, []byte("before"))
	_, err := b.Recv(r.ctx)
	require.ErrorIs(r, err, rdmacm.ErrPeerAborted)
	require.ErrorIs(r, b.Send(r.ctx, nil), rdmacm.ErrPeerAborted)
	<-b.Done()
	require.NoError(r, b.Close(), "there is nothing to wait for")
}

// idleProbed: probes of a peer that is well disturb nothing.
func idleProbed(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{KeepAlive: time.Millisecond})
	time.Sleep(1500 * time.Millisecond)
	require.NoError(r, a.Err())
	require.NoError(r, b.Err())
	r.send(a, []byte("still there"))
	r.gets(b, []byte("still there"))
}

func failAlone(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	c, d := r.pair(rdmacm.ConnOptions{})
	require.NoError(r, a.Abort())
	<-b.Done()
	for i := range 50 {
		r.send(c, []byte{byte(i)})
		r.gets(d, []byte{byte(i)})
	}
}
