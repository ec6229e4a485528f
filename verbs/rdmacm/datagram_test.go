//go:build linux

package rdmacm_test

import (
	"testing"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// udService is a queue pair that serves datagrams on rxe0.
type udService struct {
	device *rdmacm.SharedDevice
	cq     *verbs.CQ
	qp     *verbs.QP
	mr     *verbs.MR
}

func newUDService(t testing.TB) udService {
	t.Helper()
	device, err := rdmacm.Share("rxe0")
	require.NoError(t, err)
	cq, err := device.Device.CreateCQ(verbs.CQOptions{Events: true})
	require.NoError(t, err)
	qp, err := device.PD.CreateQP(verbs.QPOptions{Type: verbs.UD, QKey: rdmacm.UDPQKey, SendCQ: cq, RecvCQ: cq})
	require.NoError(t, err)
	require.NoError(t, qp.Activate())
	mr, err := device.PD.AllocMR(4096, verbs.MROptions{})
	require.NoError(t, err)
	s := udService{device, cq, qp, mr}
	qp.RecvBatch().Recv(1, mr.SGE(0, 1024))
	_, err = qp.RecvBatch().Post()
	require.NoError(t, err)
	return s
}

// received waits for the datagram and returns its text.
func (s udService) received(t testing.TB) string {
	t.Helper()
	wc := make([]verbs.Completion, 1)
	for {
		_, err := s.cq.Wait(patiently(t), wc)
		require.NoError(t, err)
		require.NoError(t, wc[0].Err())
		if wc[0].ID() == 1 {
			return string(s.mr.Bytes()[verbs.GRHLen:wc[0].Len()])
		}
	}
}

func (s udService) close(t testing.TB) {
	t.Helper()
	require.NoError(t, s.qp.Close())
	require.NoError(t, s.cq.Close())
	require.NoError(t, s.mr.Close())
	require.NoError(t, s.device.Release())
}

func TestDatagramService(t *testing.T) {
	inLab(t)
	s := newUDService(t)
	l, err := rdmacm.ListenEndpoint(address, rdmacm.ListenEndpointOptions{ID: rdmacm.IDOptions{PortSpace: rdmacm.UDP}})
	require.NoError(t, err)
	ctx := patiently(t)
	answered := make(chan error, 1)
	go func() {
		r, err := l.AcceptRequest(ctx)
		if err != nil {
			answered <- err
			return
		}
		_, err = r.Accept(ctx, rdmacm.EndpointOptions{})
		assert.ErrorContains(t, err, "use Answer")
		assert.Len(t, r.PeerData(), rdmacm.MostDatagramRequestData)
		answered <- r.Answer(ctx, s.qp, []byte("welcome"))
	}()
	d, err := rdmacm.DialDatagram(ctx, l.Addr().String(), rdmacm.DialDatagramOptions{PrivateData: []byte("who?")})
	require.NoError(t, err)
	require.NoError(t, <-answered)
	assert.Equal(t, "welcome", string(d.PeerData()[:7]))
	ah, qpn, qkey := d.Service()
	assert.Equal(t, s.qp.Num(), qpn)
	assert.Equal(t, uint32(rdmacm.UDPQKey), qkey)

	mr, err := d.QP().PD().AllocMR(64, verbs.MROptions{})
	require.NoError(t, err)
	copy(mr.Bytes(), "datagram")
	d.QP().SendBatch().SendTo(3, ah, qpn, qkey, mr.SGE(0, 8))
	_, err = d.QP().SendBatch().Post()
	require.NoError(t, err)
	assert.Equal(t, "datagram", s.received(t))
	require.NoError(t, mr.Close())
	require.NoError(t, d.Close())
	require.NoError(t, d.Close(), "closing twice is harmless")
	require.NoError(t, l.Close())
	s.close(t)
}

func TestDatagramServiceThatIsNotThere(t *testing.T) {
	inLab(t)
	_, err := rdmacm.DialDatagram(patiently(t), "10.0.0.1:9", rdmacm.DialDatagramOptions{})
	assert.ErrorIs(t, err, rdmacm.ErrUnreachable)
}

func TestMulticastGroup(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_join_multicast", "rdma_leave_multicast")
	s := newUDService(t)
	group := parse(t, "239.1.2.3:0")
	id, err := rdmacm.NewID(rdmacm.IDOptions{PortSpace: rdmacm.UDP})
	require.NoError(t, err)
	require.NoError(t, id.Bind(parse(t, "10.0.0.1:0")))
	ctx := patiently(t)
	g, err := id.Join(ctx, group, rdmacm.JoinOptions{})
	require.NoError(t, err)
	assert.True(t, g.GID.IsMulticast(), "%v", g.GID)
	require.NoError(t, s.qp.AttachMulticast(g.GID, g.LID))
	ah, err := s.device.PD.CreateAH(g.AV)
	require.NoError(t, err)
	copy(s.mr.Bytes()[2048:], "to all")
	s.qp.SendBatch().SendTo(2, ah, verbs.MulticastQPN, g.QKey, s.mr.SGE(2048, 6))
	_, err = s.qp.SendBatch().Post()
	require.NoError(t, err)
	wc := make([]verbs.Completion, 1)
	_, err = s.cq.Wait(ctx, wc)
	require.NoError(t, err)
	require.NoError(t, wc[0].Err())
	require.NoError(t, s.qp.DetachMulticast(g.GID, g.LID))
	require.NoError(t, id.Leave(group))
	assert.Error(t, id.Leave(group), "it has left")
	require.NoError(t, ah.Close())
	require.NoError(t, id.Close())
	s.close(t)
}

func TestMulticastToSendOnly(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_join_multicast_ex")
	id, err := rdmacm.NewID(rdmacm.IDOptions{PortSpace: rdmacm.UDP})
	require.NoError(t, err)
	require.NoError(t, id.Bind(parse(t, "10.0.0.1:0")))
	g, err := id.Join(patiently(t), parse(t, "239.1.2.4:0"), rdmacm.JoinOptions{SendOnly: true})
	require.NoError(t, err)
	assert.True(t, g.GID.IsMulticast(), "%v", g.GID)
	require.NoError(t, id.Close(), "closing leaves all groups")
}
