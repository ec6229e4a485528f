//go:build linux

package rdmacm_test

import (
	"syscall"
	"testing"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/gofabric/gofabric/verbs/verbstest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// address is that of the lab guest's first RDMA device.
const address = "10.0.0.1:0"

// inLab skips a test outside the lab: it needs kernel RDMA with known addresses.
func inLab(t testing.TB) {
	t.Helper()
	if !testutil.InLab() {
		testutil.Skip(t, "needs the connection manager of a kernel with soft-RoCE: it runs in the lab")
	}
	verbstest.CheckLeaks(t)
	testutil.WatchCalls(t)
}

// listenAt listens, and closes at the test's end.
func listenAt(t testing.TB, addr string) *rdmacm.EndpointListener {
	t.Helper()
	l, err := rdmacm.ListenEndpoint(addr, rdmacm.ListenEndpointOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// connected is both ends of a connection.
type connected struct{ dialed, accepted *rdmacm.Endpoint }

func connect(t testing.TB, l *rdmacm.EndpointListener, dial, accept rdmacm.EndpointOptions) connected {
	t.Helper()
	ctx := patiently(t)
	type result struct {
		e   *rdmacm.Endpoint
		err error
	}
	accepted := make(chan result, 1)
	go func() {
		r, err := l.AcceptRequest(ctx)
		if err != nil {
			accepted <- result{nil, err}
			return
		}
		e, err := r.Accept(ctx, accept)
		accepted <- result{e, err}
	}()
	e, err := rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{EndpointOptions: dial})
	require.NoError(t, err)
	a := <-accepted
	require.NoError(t, a.err)
	return connected{e, a.e}
}

func (c connected) close(t testing.TB) {
	t.Helper()
	assert.NoError(t, c.dialed.Close())
	<-c.accepted.Disconnected()
	assert.NoError(t, c.accepted.Close())
}

func TestDialAndAccept(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_connect", "rdma_establish", "rdma_accept", "rdma_listen", "rdma_bind_addr",
		"rdma_resolve_addr", "rdma_resolve_route", "rdma_init_qp_attr", "rdma_get_src_port", "rdma_get_dst_port")
	l := listenAt(t, address)
	c := connect(t, l, rdmacm.EndpointOptions{PrivateData: []byte("hello"), Framed: true},
		rdmacm.EndpointOptions{PrivateData: []byte("welcome"), Framed: true})
	for _, e := range []*rdmacm.Endpoint{c.dialed, c.accepted} {
		attr, err := e.QP().Query(verbs.AttrState | verbs.AttrTimeout | verbs.AttrRetryCount | verbs.AttrRNRRetry | verbs.AttrMinRNRTimer)
		require.NoError(t, err)
		assert.Equal(t, verbs.StateRTS, attr.State)
		assert.Equal(t, uint8(6), attr.RetryCount)
		assert.Equal(t, uint8(verbs.InfiniteRNRRetry), attr.RNRRetry)
		assert.Equal(t, uint8(12), attr.MinRNRTimer)
		assert.Contains(t, []uint8{19, 17}, attr.Timeout, "what the documentation of AckTimeout says")
	}
	assert.Equal(t, c.dialed.RemoteAddr(), c.accepted.LocalAddr())
	assert.Equal(t, c.dialed.LocalAddr(), c.accepted.RemoteAddr())
	assert.Equal(t, l.Addr(), c.accepted.LocalAddr())
	local, remote := c.dialed.ID().Ports()
	assert.Equal(t, c.dialed.LocalAddr().IP.Port(), local)
	assert.Equal(t, c.dialed.RemoteAddr().IP.Port(), remote)
	assert.Len(t, c.accepted.PeerData(), rdmacm.MostRequestData)
	assert.Len(t, c.dialed.PeerData(), rdmacm.MostReplyData)
	data, err := c.accepted.PeerData().Framed()
	require.NoError(t, err)
	assert.Equal(t, "hello", string(data))
	data, err = c.dialed.PeerData().Framed()
	require.NoError(t, err)
	assert.Equal(t, "welcome", string(data))
	ping(t, c)
	c.close(t)
}

// TestPeerThatDoesNotFrame: data of another program is not taken for ours.
func TestPeerThatDoesNotFrame(t *testing.T) {
	inLab(t)
	l := listenAt(t, address)
	c := connect(t, l, rdmacm.EndpointOptions{PrivateData: []byte{1, 2, 3, 4, 5, 6, 7}}, rdmacm.EndpointOptions{})
	for _, e := range []*rdmacm.Endpoint{c.dialed, c.accepted} {
		_, err := e.PeerData().Framed()
		assert.ErrorIs(t, err, rdmacm.ErrPrivateData)
	}
	c.close(t)
}

func TestRejectWithReason(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_reject")
	l := listenAt(t, address)
	ctx := patiently(t)
	go func() {
		r, err := l.AcceptRequest(ctx)
		if !assert.NoError(t, err) {
			return
		}
		reason, err := rdmacm.FramePrivateData([]byte("the house is full"))
		assert.NoError(t, err)
		assert.Error(t, r.Reject(make([]byte, rdmacm.MostRejectData+1)))
		assert.NoError(t, r.Reject(reason))
		assert.Error(t, r.Reject(nil), "once is enough")
		assert.NoError(t, r.Close())
	}()
	_, err := rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{})
	require.ErrorIs(t, err, rdmacm.ErrRejected)
	require.ErrorIs(t, err, rdmacm.RejectByConsumer)
	assert.NotErrorIs(t, err, syscall.ECONNREFUSED)
	var reject *rdmacm.RejectError
	require.ErrorAs(t, err, &reject)
	reason, err := reject.Data.Framed()
	require.NoError(t, err)
	assert.Equal(t, "the house is full", string(reason))
}

// TestDisconnectFlushes: what is posted when the peer leaves completes as flushed.
func TestDisconnectFlushes(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_disconnect")
	c := connect(t, listenAt(t, address), rdmacm.EndpointOptions{}, rdmacm.EndpointOptions{})
	mr, err := c.accepted.PD().AllocMR(64, verbs.MROptions{})
	require.NoError(t, err)
	c.accepted.QP().RecvBatch().Recv(7, mr.SGE(0, 64))
	_, err = c.accepted.QP().RecvBatch().Post()
	require.NoError(t, err)
	require.NoError(t, c.dialed.Disconnect(patiently(t)))
	require.NoError(t, c.dialed.Disconnect(patiently(t)), "twice is harmless")
	wc := make([]verbs.Completion, 1)
	_, err = c.accepted.CQ().Wait(patiently(t), wc)
	require.NoError(t, err)
	assert.Equal(t, verbs.StatusFlushed, wc[0].Status())
	<-c.accepted.Disconnected()
	assert.ErrorIs(t, c.accepted.Reason(), rdmacm.ErrDisconnected)
	require.NoError(t, mr.Close())
	require.NoError(t, c.dialed.Close())
	assert.ErrorIs(t, c.dialed.Reason(), rdmacm.ErrDisconnected)
	require.NoError(t, c.accepted.Close())
}
