//go:build linux

package rdmacm_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// linkLocal returns the link-local IPv6 address of an interface, with its zone.
func linkLocal(t testing.TB, name string) string {
	t.Helper()
	iface, err := net.InterfaceByName(name)
	require.NoError(t, err)
	addrs, err := iface.Addrs()
	require.NoError(t, err)
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() == nil && n.IP.IsLinkLocalUnicast() {
			return fmt.Sprintf("[%v%%%s]:0", n.IP, name)
		}
	}
	require.Fail(t, "no link-local address", name)
	return ""
}

func TestAddressFamilies(t *testing.T) {
	inLab(t)
	for _, addr := range []string{"10.0.0.1:0", "10.0.0.2:0", linkLocal(t, "v0"), linkLocal(t, "v1")} {
		l := listenAt(t, addr)
		c := connect(t, l, rdmacm.EndpointOptions{}, rdmacm.EndpointOptions{})
		assert.Equal(t, l.Addr().IP.Addr(), c.dialed.RemoteAddr().IP.Addr())
		ping(t, c)
		c.close(t)
	}
}

func TestWildcardTakesBothFamilies(t *testing.T) {
	inLab(t)
	l := listenAt(t, ":0")
	for _, host := range []string{"10.0.0.1", "rxe1", strings.Trim(strings.TrimSuffix(linkLocal(t, "v0"), ":0"), "[]")} {
		done := make(chan *rdmacm.Endpoint, 1)
		ctx := patiently(t)
		go func() {
			defer close(done)
			r, err := l.AcceptRequest(ctx)
			if !assert.NoError(t, err) {
				return
			}
			e, err := r.Accept(ctx, rdmacm.EndpointOptions{})
			if assert.NoError(t, err) {
				done <- e
			}
		}()
		to := net.JoinHostPort(host, fmt.Sprint(l.Addr().IP.Port()))
		e, err := rdmacm.DialEndpoint(ctx, to, rdmacm.DialEndpointOptions{})
		require.NoError(t, err)
		peer := <-done
		require.NotNil(t, peer)
		connected{e, peer}.close(t)
	}
}

// TestInfiniBandAddressSaysWhatItNeeds: soft-RoCE has no native addresses.
func TestInfiniBandAddressSaysWhatItNeeds(t *testing.T) {
	inLab(t)
	_, err := rdmacm.DialEndpoint(patiently(t), "ib:[fe80::1]:7", rdmacm.DialEndpointOptions{})
	require.Error(t, err)
	assert.ErrorContains(t, err, "need an InfiniBand port")
	t.Log(err)
}

func TestSourceAddressChoosesTheDevice(t *testing.T) {
	inLab(t)
	l := listenAt(t, "10.0.0.2:0")
	done := serve(l, rdmacm.EndpointOptions{})
	e, err := rdmacm.DialEndpoint(patiently(t), l.Addr().String(), rdmacm.DialEndpointOptions{Source: parse(t, "10.0.0.2:0")})
	require.NoError(t, err)
	assert.Equal(t, "rxe1", e.ID().Device())
	assert.Equal(t, "10.0.0.2", e.LocalAddr().IP.Addr().String())
	require.NoError(t, e.Close())
	_, err = rdmacm.DialEndpoint(patiently(t), l.Addr().String(), rdmacm.DialEndpointOptions{Source: parse(t, "192.0.2.1:0")})
	assert.ErrorContains(t, err, "no interface of this host has 192.0.2.1")
	require.NoError(t, l.Close())
	require.NoError(t, <-done)
}

func TestOptionsReachTheQueuePair(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_set_option")
	l := listenAt(t, address)
	done := serve(l, rdmacm.EndpointOptions{})
	e, err := rdmacm.DialEndpoint(patiently(t), l.Addr().String(), rdmacm.DialEndpointOptions{
		ID: rdmacm.IDOptions{TypeOfService: 0x48, AckTimeout: 16},
		EndpointOptions: rdmacm.EndpointOptions{
			Retries: 3, RNRRetries: verbs.None, MinRNRTimer: 5, MaxReads: 2, ECE: &rdmacm.ECE{VendorID: 1, Options: 2},
		},
	})
	require.NoError(t, err)
	attr, err := e.QP().Query(verbs.AttrTimeout | verbs.AttrAV | verbs.AttrMaxReads | verbs.AttrMaxDestReads |
		verbs.AttrRetryCount | verbs.AttrRNRRetry | verbs.AttrMinRNRTimer)
	require.NoError(t, err)
	assert.Equal(t, uint8(0x48), attr.AV.TrafficClass)
	assert.Equal(t, uint8(16), attr.Timeout)
	assert.Equal(t, uint8(3), attr.RetryCount)
	assert.Equal(t, uint8(0), attr.RNRRetry)
	assert.Equal(t, uint8(5), attr.MinRNRTimer)
	assert.Equal(t, uint8(2), attr.MaxReads)
	assert.Equal(t, uint8(2), attr.MaxDestReads)
	paths := e.ID().Paths()
	require.NotEmpty(t, paths)
	assert.Equal(t, e.ID().Location().Source, paths[0].Source)
	assert.Equal(t, uint16(0xffff), paths[0].PKey)
	require.NoError(t, e.Close())
	require.NoError(t, l.Close())
	require.NoError(t, <-done)
	_, err = rdmacm.NewID(rdmacm.IDOptions{AckTimeout: 32})
	assert.ErrorContains(t, err, "AckTimeout 32")
}

// TestVendorOptionsReachThePeer: rxe has none of its own, the exchange carries
// anybody's.
func TestVendorOptionsReachThePeer(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_set_local_ece", "rdma_get_remote_ece", "rdma_reject_ece")
	l := listenAt(t, address)
	ctx := patiently(t)
	dialed := make(chan error, 1)
	go func() {
		_, err := rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{
			EndpointOptions: rdmacm.EndpointOptions{ECE: &rdmacm.ECE{VendorID: 0x1234, Options: 0x5678}},
		})
		dialed <- err
	}()
	r, err := l.AcceptRequest(ctx)
	require.NoError(t, err)
	ece, err := r.ID().RemoteECE()
	require.NoError(t, err)
	assert.Equal(t, rdmacm.ECE{VendorID: 0x1234, Options: 0x5678}, ece)
	require.NoError(t, r.ID().RejectECE(nil))
	assert.ErrorIs(t, <-dialed, rdmacm.RejectECE)
	require.NoError(t, r.Close())
}

func TestSharedReceiveQueue(t *testing.T) {
	inLab(t)
	device, err := rdmacm.Share("rxe0")
	require.NoError(t, err)
	cq, err := device.Device.CreateCQ(verbs.CQOptions{Events: true})
	require.NoError(t, err)
	srq, err := device.PD.CreateSRQ(verbs.SRQOptions{})
	require.NoError(t, err)
	mr, err := device.PD.AllocMR(64, verbs.MROptions{})
	require.NoError(t, err)
	srq.RecvBatch().Recv(9, mr.SGE(0, 64))
	_, err = srq.RecvBatch().Post()
	require.NoError(t, err)
	c := connect(t, listenAt(t, address), rdmacm.EndpointOptions{}, rdmacm.EndpointOptions{
		QueuePair: func(context.Context, rdmacm.Location) (*verbs.QP, error) {
			return device.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, SRQ: srq, Unaddressed: true})
		},
	})
	source, err := c.dialed.PD().AllocMR(5, verbs.MROptions{})
	require.NoError(t, err)
	copy(source.Bytes(), "hello")
	c.dialed.QP().SendBatch().Send(1, source.SGE(0, 5))
	_, err = c.dialed.QP().SendBatch().Post()
	require.NoError(t, err)
	wc := make([]verbs.Completion, 1)
	_, err = cq.Wait(patiently(t), wc)
	require.NoError(t, err)
	require.NoError(t, wc[0].Err())
	assert.Equal(t, uint64(9), wc[0].ID())
	assert.Equal(t, "hello", string(mr.Bytes()[:5]))
	require.NoError(t, source.Close())
	c.close(t)
	for _, o := range []interface{ Close() error }{srq, mr, cq} {
		require.NoError(t, o.Close())
	}
	require.NoError(t, device.Release())
}

// TestRequestOutlivesItsListener, and what nobody took does not.
func TestRequestOutlivesItsListener(t *testing.T) {
	inLab(t)
	l, err := rdmacm.ListenEndpoint(address, rdmacm.ListenEndpointOptions{Backlog: 1})
	require.NoError(t, err)
	ctx := patiently(t)
	results := make(chan error, 2)
	dial := func() {
		e, err := rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{})
		if err == nil {
			<-e.Disconnected()
			err = e.Close()
		}
		results <- err
	}
	go dial()
	r, err := l.AcceptRequest(ctx)
	require.NoError(t, err)
	go dial()
	// The second is refused: by its listener's closing, or because nobody
	// listens any more.
	require.NoError(t, l.Close())
	require.NoError(t, l.Close(), "closing twice is harmless")
	assert.ErrorIs(t, <-results, rdmacm.ErrRejected)
	e, err := r.Accept(ctx, rdmacm.EndpointOptions{})
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.NoError(t, <-results)
}

// TestNotifyEstablishes: the dialer's last message is missing, and the program
// knows from data that came that the dialer has got the answer.
func TestNotifyEstablishes(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_notify")
	l := listenAt(t, address)
	ctx := patiently(t)
	id, err := rdmacm.NewID(rdmacm.IDOptions{})
	require.NoError(t, err)
	require.NoError(t, id.ResolveAddr(ctx, rdmacm.Addr{}, l.Addr()))
	require.NoError(t, id.ResolveRoute(ctx))
	answered, accepted := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := id.Connect(ctx, rdmacm.ConnParam{QPN: 0x11})
		answered <- err
	}()
	r, err := l.AcceptRequest(ctx)
	require.NoError(t, err)
	go func() {
		_, err := r.ID().Accept(ctx, rdmacm.ConnParam{QPN: 0x12})
		accepted <- err
	}()
	require.NoError(t, <-answered)
	require.NoError(t, r.ID().Notify(verbs.EventCommEstablished))
	require.NoError(t, <-accepted)
	require.NoError(t, id.Close())
	require.NoError(t, r.Close())
}

// TestBacklog: what comes while the backlog is full is refused.
func TestBacklog(t *testing.T) {
	inLab(t)
	l, err := rdmacm.ListenEndpoint(address, rdmacm.ListenEndpointOptions{Backlog: 1})
	require.NoError(t, err)
	const dials = 4
	results := make(chan error, dials)
	ctx, cancel := context.WithCancel(patiently(t))
	for range dials {
		go func() {
			_, err := rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{})
			results <- err
		}()
	}
	for range dials - 1 {
		assert.ErrorIs(t, <-results, rdmacm.ErrRejected)
	}
	cancel()
	assert.ErrorIs(t, <-results, context.Canceled)
	require.NoError(t, l.Close())
}

func TestMigrate(t *testing.T) {
	inLab(t)
	c := connect(t, listenAt(t, address), rdmacm.EndpointOptions{}, rdmacm.EndpointOptions{})
	ch, err := rdmacm.NewChannel()
	require.NoError(t, err)
	require.NoError(t, c.accepted.ID().Migrate(ch))
	assert.ErrorIs(t, ch.Close(), rdmacm.ErrBusy)
	require.NoError(t, c.dialed.Close())
	<-c.accepted.Disconnected()
	require.NoError(t, c.accepted.Close())
	require.NoError(t, ch.Close())
}

func TestLookUpOfTheLibrary(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_getaddrinfo", "rdma_freeaddrinfo", "rdma_create_ep")
	l := listenAt(t, address)
	ctx := patiently(t)
	infos, err := rdmacm.GetAddrInfo(ctx, "10.0.0.1", fmt.Sprint(l.Addr().IP.Port()), rdmacm.AddrInfoHints{})
	require.NoError(t, err)
	require.NotEmpty(t, infos)
	assert.Equal(t, l.Addr(), infos[0].Destination)
	assert.Equal(t, verbs.RC, infos[0].Type)
	id, err := infos[0].NewID(ctx)
	require.NoError(t, err)
	assert.Equal(t, "rxe0", id.Device())
	assert.NotEmpty(t, id.Paths(), "the route is resolved")
	require.NoError(t, id.Close())

	infos, err = rdmacm.GetAddrInfo(ctx, "10.0.0.1", "7500", rdmacm.AddrInfoHints{Passive: true, NumericHost: true})
	require.NoError(t, err)
	require.NotEmpty(t, infos)
	assert.True(t, infos[0].Passive)
	if id, err = infos[0].NewID(ctx); assert.NoError(t, err) {
		assert.Equal(t, "10.0.0.1:7500", id.Location().Local.String())
		passive, err := id.Listen(0)
		require.NoError(t, err)
		connect(t, passive, rdmacm.EndpointOptions{}, rdmacm.EndpointOptions{}).close(t)
		require.NoError(t, passive.Close())
	}
	_, err = rdmacm.GetAddrInfo(ctx, "no.such.host.invalid", "1", rdmacm.AddrInfoHints{NumericHost: true})
	assert.Error(t, err)
	_, err = rdmacm.AddrInfo{}.NewID(ctx)
	assert.Error(t, err)
}

func TestLibraryAndDevices(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_get_devices", "rdma_free_devices", "rdma_event_str")
	path, err := rdmacm.LibraryPath()
	require.NoError(t, err)
	assert.Contains(t, path, "librdmacm.so.1")
	names, err := rdmacm.Devices()
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"rxe0", "rxe1"}, names)
	text, err := rdmacm.EventEstablished.LibraryString()
	require.NoError(t, err)
	assert.Equal(t, "RDMA_CM_EVENT_ESTABLISHED", text)
	id, err := rdmacm.NewID(rdmacm.IDOptions{})
	require.NoError(t, err)
	// Debian has no librdmacm with it yet.
	testutil.Refuses(t, id.WriteEvent(0, 1), "rdma_write_cm_event")
	require.NoError(t, id.Close())
}

// TestDeviceWithoutItsNode: in a container, one device of several is not passed
// in. The error names its node, and the other device works.
func TestDeviceWithoutItsNode(t *testing.T) {
	inLab(t)
	devices, err := verbs.Devices()
	require.NoError(t, err)
	var node string
	for _, d := range devices {
		if d.Name == "rxe1" {
			node = "/dev/infiniband/" + d.Uverbs
		}
	}
	require.NotEmpty(t, node)
	l := listenAt(t, "10.0.0.2:0")
	require.NoError(t, os.Rename(node, node+".away"))
	defer func() { require.NoError(t, os.Rename(node+".away", node)) }()
	_, err = rdmacm.DialEndpoint(patiently(t), l.Addr().String(), rdmacm.DialEndpointOptions{})
	require.Error(t, err)
	assert.ErrorContains(t, err, node)
	t.Log(err)
	// Here librdmacm has had the device open since TestMain; in a new process it
	// cannot open it either.
	child := exec.CommandContext(patiently(t), os.Args[0])
	child.Env = append(os.Environ(), dialEnv+"="+l.Addr().String())
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), node)
	t.Logf("%s", out)
	connect(t, listenAt(t, address), rdmacm.EndpointOptions{}, rdmacm.EndpointOptions{}).close(t)
}
