//go:build linux && cgo

package rdmacm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/connsuite"
	_ "github.com/gofabric/gofabric/internal/loopdev"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// TestConnLoop runs the connection's suite on the in-process device.
func TestConnLoop(t *testing.T) { connsuite.Run(t, "loop0") }

// TestConn runs it on the device that GOFABRIC_DEVICE names, or the lab guest's
// first. TestConnOverManager has most of it in the lab, too.
func TestConn(t *testing.T) {
	device := testutil.Device(t)
	if testutil.InLab() && !testutil.Thorough() {
		connsuite.RunByHand(t, device)
		return
	}
	connsuite.Run(t, device)
}

// TestConnNil gives nothing where something is needed.
func TestConnNil(t *testing.T) {
	ctx := patiently(t)
	a, _ := loopPair(t, rdmacm.ConnOptions{})
	_, err := rdmacm.NewHub(nil, rdmacm.HubOptions{})
	require.Error(t, err)
	_, _, err = rdmacm.Pair(ctx, a.Hub(), nil, rdmacm.ConnOptions{})
	require.Error(t, err)
	_, err = a.Hub().Wrap(nil, 0, 1, nil)
	require.Error(t, err)
	_, err = a.Advertise(ctx, "nothing", nil, 0, 1, rdmacm.RegionRead)
	require.Error(t, err)
	require.ErrorIs(t, a.SendBuffer(ctx, nil), rdmacm.ErrBufferInUse)
	require.Error(t, a.Read(ctx, nil, 0, make([]byte, 1)))
	var none *rdmacm.Buffer
	none.Release()
	var zero rdmacm.Buffer
	zero.Release()
	require.Empty(t, zero.Bytes())
	require.ErrorIs(t, a.SendBuffer(ctx, &zero), rdmacm.ErrBufferInUse)
	rdmacm.Message{}.Release()
}

// TestMemoryOfAnotherDomain refuses at once what would end the connection later.
func TestMemoryOfAnotherDomain(t *testing.T) {
	ctx := patiently(t)
	a, b := loopPair(t, rdmacm.ConnOptions{})
	pd, err := a.Hub().Device().AllocPD()
	require.NoError(t, err)
	defer func() { assert.NoError(t, pd.CloseAll()) }()
	mr, err := pd.AllocMR(4096, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteRead})
	require.NoError(t, err)
	const want = "of another domain: register it in that of the hub (Hub.PD)"
	_, err = a.Hub().Wrap(mr, 0, 64, nil)
	require.ErrorContains(t, err, want)
	_, err = a.Advertise(ctx, "elsewhere", mr, 0, 64, rdmacm.RegionRead)
	require.ErrorContains(t, err, want)
	require.NoError(t, a.Send(ctx, []byte("still there")))
	m, err := b.Recv(ctx)
	require.NoError(t, err)
	m.Release()
}

// TestConnsCloseAtOnce closes a thousand ends together: those that wait must leave
// the processor to those that work.
func TestConnsCloseAtOnce(t *testing.T) {
	first, other := loopPair(t, rdmacm.ConnOptions{})
	conns := []*rdmacm.Conn{first, other}
	for range 500 {
		a, b := onHub(t, first.Hub(), rdmacm.ConnOptions{Window: 8, BufferSize: 1024, Large: 1, Linger: 30 * time.Second})
		conns = append(conns, a, b)
	}
	errs := make(chan error, len(conns))
	for _, c := range conns {
		go func() { errs <- c.Close() }()
	}
	for range conns {
		assert.NoError(t, <-errs)
	}
	assert.Zero(t, first.Hub().Stats().Conns)
}

// loopPair makes a connection on the in-process device.
func loopPair(t testing.TB, o rdmacm.ConnOptions) (a, b *rdmacm.Conn) {
	dev, err := verbs.Open("loop0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	h, err := rdmacm.NewHub(dev, rdmacm.HubOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.CloseAll()) })
	return onHub(t, h, o)
}

func onHub(t testing.TB, h *rdmacm.Hub, o rdmacm.ConnOptions) (a, b *rdmacm.Conn) {
	a, b, err := rdmacm.Pair(patiently(t), h, h, o)
	require.NoError(t, err)
	return a, b
}
