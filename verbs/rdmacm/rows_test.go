//go:build linux

package rdmacm_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests of this file are the connection manager's rows of the table of
// mistakes that other projects' users have reported, one each.

func parse(t testing.TB, text string) rdmacm.Addr {
	t.Helper()
	a, err := rdmacm.ParseAddr(text)
	require.NoError(t, err)
	return a
}

// TestEventsAreCopiedAndAlwaysAcknowledged: destroying an id waits for its
// events, so one that nobody looked at must have been acknowledged; and what an
// event carried must outlive it.
func TestEventsAreCopiedAndAlwaysAcknowledged(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_create_id", "rdma_destroy_id", "rdma_get_cm_event", "rdma_ack_cm_event")
	l := listenAt(t, address)
	id, err := rdmacm.NewID(rdmacm.IDOptions{})
	require.NoError(t, err)
	require.NoError(t, id.ResolveAddr(patiently(t), rdmacm.Addr{}, l.Addr()))
	require.NoError(t, id.Close())

	dialed := make(chan error, 1)
	ctx := patiently(t)
	go func() {
		e, err := rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{
			EndpointOptions: rdmacm.EndpointOptions{PrivateData: []byte("kept")},
		})
		if e != nil {
			err = errors.Join(err, e.Close())
		}
		dialed <- err
	}()
	r, err := l.AcceptRequest(ctx)
	require.NoError(t, err)
	data := r.PeerData()
	require.NoError(t, r.Close())
	assert.ErrorIs(t, <-dialed, rdmacm.ErrRejected)
	assert.Equal(t, "kept", string(data[:4]), "the event is long gone")
}

// TestReaderIsDoneWithAnIDBeforeItIsDestroyed closes ids while their events are
// on the way, all on one channel.
func TestReaderIsDoneWithAnIDBeforeItIsDestroyed(t *testing.T) {
	inLab(t)
	l := listenAt(t, address)
	ch, err := rdmacm.NewChannel()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for n := range 32 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 10 {
				id, err := rdmacm.NewID(rdmacm.IDOptions{Channel: ch})
				if !assert.NoError(t, err) {
					return
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n*i%7)*100*time.Microsecond)
				err = id.ResolveAddr(ctx, rdmacm.Addr{}, l.Addr())
				cancel()
				if err != nil {
					assert.ErrorIs(t, err, context.DeadlineExceeded)
				}
				assert.NoError(t, id.Close())
			}
		}()
	}
	wg.Wait()
	require.NoError(t, ch.Close())
}

// TestAcceptedIDLeavesTheListenersChannel: the listener and its channel close,
// and the connection still hears of its end.
func TestAcceptedIDLeavesTheListenersChannel(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_migrate_id")
	l, err := rdmacm.ListenEndpoint(address, rdmacm.ListenEndpointOptions{})
	require.NoError(t, err)
	c := connect(t, l, rdmacm.EndpointOptions{}, rdmacm.EndpointOptions{})
	require.NoError(t, l.Close(), "the channel has no id left")
	require.NoError(t, c.dialed.Disconnect(patiently(t)))
	select {
	case <-c.accepted.Disconnected():
	case <-patiently(t).Done():
		require.Fail(t, "the accepted end was not told")
	}
	assert.ErrorIs(t, c.accepted.Reason(), rdmacm.ErrDisconnected)
	require.NoError(t, c.accepted.Close())
	require.NoError(t, c.dialed.Close())
}

// TestListenerClosesUnderLiveConnections: they go on carrying data.
func TestListenerClosesUnderLiveConnections(t *testing.T) {
	inLab(t)
	l, err := rdmacm.ListenEndpoint(address, rdmacm.ListenEndpointOptions{})
	require.NoError(t, err)
	c := connect(t, l, rdmacm.EndpointOptions{}, rdmacm.EndpointOptions{})
	ping(t, c)
	require.NoError(t, l.Close())
	_, err = l.AcceptRequest(context.Background())
	assert.ErrorIs(t, err, rdmacm.ErrClosed)
	ping(t, c)
	c.close(t)
}

// ping sends a message each way.
func ping(t testing.TB, c connected) {
	t.Helper()
	send(t, c.dialed, c.accepted, "there")
	send(t, c.accepted, c.dialed, "and back")
}

func send(t testing.TB, from, to *rdmacm.Endpoint, text string) {
	t.Helper()
	ctx := patiently(t)
	source, err := from.PD().AllocMR(len(text), verbs.MROptions{})
	require.NoError(t, err)
	target, err := to.PD().AllocMR(64, verbs.MROptions{})
	require.NoError(t, err)
	copy(source.Bytes(), text)
	to.QP().RecvBatch().Recv(1, target.SGE(0, 64))
	_, err = to.QP().RecvBatch().Post()
	require.NoError(t, err)
	from.QP().SendBatch().Send(2, source.SGE(0, len(text)))
	_, err = from.QP().SendBatch().Post()
	require.NoError(t, err)
	wc := make([]verbs.Completion, 1)
	for _, e := range []*rdmacm.Endpoint{from, to} {
		_, err := e.CQ().Wait(ctx, wc)
		require.NoError(t, err)
		require.NoError(t, wc[0].Err())
	}
	assert.Equal(t, text, string(target.Bytes()[:len(text)]))
	require.NoError(t, source.Close())
	require.NoError(t, target.Close())
}

// verbsObjects counts what is open of package verbs.
func verbsObjects() (n int) {
	for _, o := range life.Open() {
		if strings.HasPrefix(o.Root, "device ") {
			n++
		}
	}
	return n
}

// TestDialLeaksNothingWhenItFails fails at every step. TestMain and CheckLeaks
// count what is left.
func TestDialLeaksNothingWhenItFails(t *testing.T) {
	inLab(t)
	l := listenAt(t, address)
	before := verbsObjects()
	dial := func(ctx context.Context, addr string, make func(context.Context, rdmacm.Location) (*verbs.QP, error)) error {
		e, err := rdmacm.DialEndpoint(ctx, addr, rdmacm.DialEndpointOptions{EndpointOptions: rdmacm.EndpointOptions{QueuePair: make}})
		require.Error(t, err)
		require.Nil(t, e)
		// A call whose context ended returns before what it began is undone.
		assert.Eventually(t, func() bool { return verbsObjects() == before }, time.Minute, time.Millisecond, "%v", err)
		return err
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	ctx := patiently(t)
	assert.ErrorIs(t, dial(ended, address, nil), context.Canceled)
	assert.Error(t, dial(ctx, "192.0.2.1:7", nil), "no route")
	assert.ErrorIs(t, dial(ctx, "10.0.0.1:9", nil), syscall.ECONNREFUSED)
	broken := errors.New("no queue pair today")
	fail := func(context.Context, rdmacm.Location) (*verbs.QP, error) { return nil, broken }
	assert.ErrorIs(t, dial(ctx, l.Addr().String(), fail), broken)
	none := func(context.Context, rdmacm.Location) (*verbs.QP, error) { return nil, nil }
	assert.Error(t, dial(ctx, l.Addr().String(), none))

	// A queue pair of the wrong device belongs to DialEndpoint all the same.
	other, err := rdmacm.Share("rxe1")
	require.NoError(t, err)
	cq, err := other.Device.CreateCQ(verbs.CQOptions{})
	require.NoError(t, err)
	wrong := func(context.Context, rdmacm.Location) (*verbs.QP, error) {
		return other.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq})
	}
	alone := before
	before = verbsObjects()
	assert.ErrorContains(t, dial(ctx, l.Addr().String(), wrong), "rxe0")
	require.NoError(t, cq.Close())
	require.NoError(t, other.Release())
	before = alone

	for _, limit := range []time.Duration{0, time.Microsecond, 100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond} {
		// Nobody accepts: the context is what ends it.
		short, cancel := context.WithTimeout(context.Background(), limit)
		assert.ErrorIs(t, dial(short, l.Addr().String(), nil), context.DeadlineExceeded, "%v", limit)
		cancel()
	}
}

// TestCancelledDialReleasesTheCaller: the call returns at once, whatever the
// kernel still waits for.
func TestCancelledDialReleasesTheCaller(t *testing.T) {
	inLab(t)
	l := listenAt(t, address)
	ctx, cancel := context.WithCancel(patiently(t))
	done := make(chan error, 1)
	go func() {
		_, err := rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{})
		done <- err
	}()
	r, err := l.AcceptRequest(ctx)
	require.NoError(t, err)
	cancel()
	assert.ErrorIs(t, <-done, context.Canceled)
	// The peer that is told of it too late.
	e, err := r.Accept(patiently(t), rdmacm.EndpointOptions{})
	assert.Error(t, err)
	assert.Nil(t, e)
}

// TestErrorsIs: every failure has a type that programs can ask for.
func TestErrorsIs(t *testing.T) {
	inLab(t)
	_, err := rdmacm.DialEndpoint(patiently(t), "10.0.0.1:9", rdmacm.DialEndpointOptions{})
	require.ErrorIs(t, err, rdmacm.ErrRejected)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.ErrorIs(t, err, rdmacm.RejectNoListener)
	var op *rdmacm.OpError
	require.ErrorAs(t, err, &op)
	assert.Equal(t, "10.0.0.1:9", op.Address)
	assert.Equal(t, "rxe0", op.Device)

	l := listenAt(t, address)
	_, err = rdmacm.ListenEndpoint(l.Addr().String(), rdmacm.ListenEndpointOptions{})
	assert.ErrorIs(t, err, syscall.EADDRINUSE)
	_, err = rdmacm.ListenEndpoint("192.0.2.1:7", rdmacm.ListenEndpointOptions{})
	assert.ErrorContains(t, err, "no interface of this host has 192.0.2.1")

	id, err := rdmacm.NewID(rdmacm.IDOptions{})
	require.NoError(t, err)
	require.NoError(t, id.Close())
	assert.ErrorIs(t, id.Disconnect(), rdmacm.ErrClosed)
	assert.ErrorIs(t, id.ResolveRoute(patiently(t)), rdmacm.ErrClosed)
	_, err = id.Connect(patiently(t), rdmacm.ConnParam{})
	assert.ErrorIs(t, err, rdmacm.ErrClosed)
	require.NoError(t, id.Close(), "closing twice is harmless")
}

// TestLateEventsOfAnAbandonedOperation: the dialer's time is up, the kernel's
// answer comes after it, and closing works all the same.
func TestLateEventsOfAnAbandonedOperation(t *testing.T) {
	inLab(t)
	l := listenAt(t, address)
	id, err := rdmacm.NewID(rdmacm.IDOptions{})
	require.NoError(t, err)
	require.NoError(t, id.ResolveAddr(patiently(t), rdmacm.Addr{}, l.Addr()))
	require.NoError(t, id.ResolveRoute(patiently(t)))
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = id.Connect(short, rdmacm.ConnParam{QPN: 1})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	r, err := l.AcceptRequest(patiently(t))
	require.NoError(t, err)
	require.NoError(t, r.Reject([]byte("too late")))
	_, err = id.Connect(patiently(t), rdmacm.ConnParam{QPN: 1})
	assert.ErrorIs(t, err, rdmacm.ErrAbandoned)
	require.NoError(t, id.Close())
}

// TestOrderOfRelease: queue pair, completion queue, memory, id, event channel,
// protection domain, device; the other way round is refused where it would break.
func TestOrderOfRelease(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rdma_create_event_channel", "rdma_destroy_event_channel")
	ch, err := rdmacm.NewChannel()
	require.NoError(t, err)
	dev, err := verbs.Open("rxe0")
	require.NoError(t, err)
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	mr, err := pd.AllocMR(4096, verbs.MROptions{})
	require.NoError(t, err)
	cq, err := dev.CreateCQ(verbs.CQOptions{Events: true})
	require.NoError(t, err)
	l := listenAt(t, address)
	ctx := patiently(t)
	accepted := make(chan *rdmacm.Endpoint, 1)
	go func() {
		defer close(accepted)
		r, err := l.AcceptRequest(ctx)
		if !assert.NoError(t, err) {
			return
		}
		e, err := r.Accept(ctx, rdmacm.EndpointOptions{})
		if assert.NoError(t, err) {
			accepted <- e
		}
	}()
	e, err := rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{
		ID: rdmacm.IDOptions{Channel: ch},
		EndpointOptions: rdmacm.EndpointOptions{
			QueuePair: func(context.Context, rdmacm.Location) (*verbs.QP, error) {
				return pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq})
			},
		},
	})
	require.NoError(t, err)
	assert.Nil(t, e.CQ())
	assert.Same(t, pd, e.PD())
	for _, busy := range []interface{ Close() error }{ch, cq, pd, dev} {
		assert.ErrorIs(t, busy.Close(), rdmacm.ErrBusy)
	}
	require.NoError(t, e.Close())
	require.NoError(t, e.Close(), "closing twice is harmless")
	for _, free := range []interface{ Close() error }{cq, mr, ch, pd, dev} {
		require.NoError(t, free.Close())
	}
	peer := <-accepted
	require.NotNil(t, peer)
	<-peer.Disconnected()
	require.NoError(t, peer.Close())
}
