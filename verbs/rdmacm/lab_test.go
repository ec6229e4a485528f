//go:build linux

package rdmacm_test

import (
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
	l := listenAt(t, address)
	c := connect(t, l, rdmacm.EndpointOptions{PrivateData: []byte("hello"), Framed: true},
		rdmacm.EndpointOptions{PrivateData: []byte("welcome"), Framed: true})
	for _, e := range []*rdmacm.Endpoint{c.dialed, c.accepted} {
		attr, err := e.QP().Query(verbs.AttrState | verbs.AttrTimeout | verbs.AttrRetryCount | verbs.AttrRNRRetry | verbs.AttrMinRNRTimer)
		require.NoError(t, err)
		t.Logf("%v %v %+v", e.LocalAddr(), e.RemoteAddr(), attr)
	}
	data, err := c.accepted.PeerData().Framed()
	require.NoError(t, err)
	assert.Equal(t, "hello", string(data))
	t.Log(len(c.accepted.PeerData()), len(c.dialed.PeerData()))
	data, err = c.dialed.PeerData().Framed()
	require.NoError(t, err)
	assert.Equal(t, "welcome", string(data))
	c.close(t)
}
