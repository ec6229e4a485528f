//go:build linux

package rdmacm_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/connsuite"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// Addresses of the lab guest's devices: the listener's and the dialer's.
const (
	listenerDevice, listenerAddr = "rxe0", "10.0.0.1:0"
	dialerDevice, dialerAddr     = "rxe1", "10.0.0.2:0"
)

func parsed(t testing.TB, text string) rdmacm.Addr {
	a, err := rdmacm.ParseAddr(text)
	require.NoError(t, err)
	return a
}

func hubOn(t testing.TB, device string) *rdmacm.Hub {
	dev, err := verbs.Open(device)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	h, err := rdmacm.NewHub(dev, rdmacm.HubOptions{CQDepth: 1024})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.CloseAll()) })
	return h
}

// TestConnOverManager runs the connection's suite on connections that Dial and
// Listen make, from one device to the other.
func TestConnOverManager(t *testing.T) {
	inLab(t)
	connsuite.RunOver(t,
		func(t testing.TB) (a, b *rdmacm.Hub) { return hubOn(t, dialerDevice), hubOn(t, listenerDevice) },
		func(r *connsuite.Rig, a, b rdmacm.ConnOptions) (x, y *rdmacm.Conn) {
			l, err := rdmacm.Listen(listenerAddr, rdmacm.ListenOptions{Hub: r.B, Conn: b})
			require.NoError(r, err)
			defer func() { require.NoError(r, l.Close()) }()
			return dialed(r, l, rdmacm.DialOptions{Hub: r.A, Conn: a, Source: parsed(r, dialerAddr)})
		})
}

// dialed makes a connection to a listener.
func dialed(t testing.TB, l *rdmacm.Listener, opts rdmacm.DialOptions) (x, y *rdmacm.Conn) {
	ctx := patiently(t)
	type result struct {
		c   *rdmacm.Conn
		err error
	}
	accepted := make(chan result, 1)
	go func() {
		c, err := l.Accept(ctx)
		accepted <- result{c, err}
	}()
	x, err := rdmacm.Dial(ctx, l.Addr().String(), opts)
	require.NoError(t, err)
	res := <-accepted
	require.NoError(t, res.err)
	return x, res.c
}

func listenConns(t testing.TB, opts rdmacm.ListenOptions) *rdmacm.Listener {
	l, err := rdmacm.Listen(listenerAddr, opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// TestDialConnSharesAHub: connections that name no hub share one, which is gone
// when they are.
func TestDialConnSharesAHub(t *testing.T) {
	inLab(t)
	l := listenConns(t, rdmacm.ListenOptions{})
	a, b := dialed(t, l, rdmacm.DialOptions{})
	c, d := dialed(t, l, rdmacm.DialOptions{})
	assert.Same(t, a.Hub(), c.Hub())
	assert.Same(t, b.Hub(), d.Hub())
	assert.Equal(t, l.Addr().String(), a.RemoteAddr().String())
	assert.Equal(t, a.LocalAddr().String(), b.RemoteAddr().String())
	ctx := patiently(t)
	require.NoError(t, a.Send(ctx, []byte("over the shared hub")))
	m, err := b.Recv(ctx)
	require.NoError(t, err)
	closeBoth(t, c, d)
	closeBoth(t, a, b)
	assert.Equal(t, "over the shared hub", string(m.Bytes()))
	m.Release() // and with it the hub
}

func closeBoth(t testing.TB, a, b *rdmacm.Conn) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- a.Close() }()
	assert.NoError(t, b.Close())
	assert.NoError(t, <-done)
}

// TestListenerRefusesOthers: an endpoint that is no Conn's is told so, and Accept
// does not see it.
func TestListenerRefusesOthers(t *testing.T) {
	inLab(t)
	l := listenConns(t, rdmacm.ListenOptions{})
	ctx := patiently(t)
	for _, data := range []string{"", "something else", "GFCN\x09"} {
		_, err := rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{
			EndpointOptions: rdmacm.EndpointOptions{PrivateData: []byte(data), Framed: data != ""},
		})
		require.ErrorIs(t, err, rdmacm.ErrRejected, "%q", data)
		var refusal *rdmacm.RejectError
		require.ErrorAs(t, err, &refusal)
		why, err := refusal.Data.Framed()
		require.NoError(t, err)
		assert.Contains(t, string(why), "this service speaks")
	}
	a, b := dialed(t, l, rdmacm.DialOptions{})
	closeBoth(t, a, b)
}

// TestDialNobody: a port that nobody listens at refuses at once.
func TestDialNobody(t *testing.T) {
	inLab(t)
	_, err := rdmacm.Dial(patiently(t), "10.0.0.1:9", rdmacm.DialOptions{})
	require.ErrorIs(t, err, rdmacm.ErrRejected)
	_, err = rdmacm.Dial(patiently(t), "nonsense", rdmacm.DialOptions{})
	require.Error(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = rdmacm.Dial(ctx, "10.0.0.1:9", rdmacm.DialOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestListenerClosed: those who wait are told, what nobody accepted is aborted,
// and what was accepted lives on.
func TestListenerClosed(t *testing.T) {
	inLab(t)
	ctx := patiently(t)
	l := listenConns(t, rdmacm.ListenOptions{})
	a, b := dialed(t, l, rdmacm.DialOptions{})
	unseen, err := rdmacm.Dial(ctx, l.Addr().String(), rdmacm.DialOptions{})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = l.Accept(ctx)
	require.ErrorIs(t, err, rdmacm.ErrClosed)
	_, err = unseen.Recv(ctx)
	require.Error(t, err)
	require.NoError(t, unseen.Close())
	require.NoError(t, a.Send(ctx, []byte("alive")))
	m, err := b.Recv(ctx)
	require.NoError(t, err)
	m.Release()
	closeBoth(t, a, b)

	l = listenConns(t, rdmacm.ListenOptions{})
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = l.Accept(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestManyDialsAtOnce dials a listener from many goroutines.
func TestManyDialsAtOnce(t *testing.T) {
	inLab(t)
	const dials = 50
	ctx := patiently(t)
	small := rdmacm.ConnOptions{Window: 4, BufferSize: 256, Large: 1, Linger: 30 * time.Second}
	// An emulated machine that is busy with all of them needs its time.
	const patient = 19
	l := listenConns(t, rdmacm.ListenOptions{Conn: small, Handshake: time.Minute, Timeout: patient})
	var wg sync.WaitGroup
	for i := range dials {
		wg.Add(2)
		go func() {
			defer wg.Done()
			c, err := l.Accept(ctx)
			if !assert.NoError(t, err) {
				return
			}
			m, err := c.Recv(ctx)
			if assert.NoError(t, err) {
				assert.NoError(t, c.Send(ctx, m.Bytes()))
				m.Release()
			}
			assert.NoError(t, c.Close())
		}()
		go func() {
			defer wg.Done()
			c, err := rdmacm.Dial(ctx, l.Addr().String(), rdmacm.DialOptions{Conn: small, Timeout: patient})
			if !assert.NoError(t, err) {
				return
			}
			want := fmt.Sprint("message ", i)
			assert.NoError(t, c.Send(ctx, []byte(want)))
			m, err := c.Recv(ctx)
			if assert.NoError(t, err) {
				assert.Equal(t, want, string(m.Bytes()))
				m.Release()
			}
			assert.NoError(t, c.Close())
		}()
	}
	wg.Wait()
}
