package connsuite

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// Case is a promise and the code that checks it.
type Case struct {
	Name string
	Run  func(*Rig)
}

// Cases returns the whole list.
func Cases() []Case {
	var all []Case
	for _, topic := range [][]Case{transferCases, flowCases, cancelCases, regionCases, closeCases, peerCases} {
		all = append(all, topic...)
	}
	return all
}

// HandCases returns those that need a peer which is no Conn, and that connect
// queue pairs by hand.
func HandCases() []Case { return foreignCases }

// Run runs every case on a device, over queue pairs that are connected by hand.
func Run(t *testing.T, device string) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(byHand(t, device)) })
	}
	RunByHand(t, device)
}

// RunByHand runs those of Run that RunOver has not.
func RunByHand(t *testing.T, device string) {
	for _, c := range HandCases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(byHand(t, device)) })
	}
}

// Connector makes the two ends of a connection.
type Connector func(r *Rig, a, b rdmacm.ConnOptions) (x, y *rdmacm.Conn)

// RunOver runs the cases that need no foreign peer over another way to connect.
// The hubs are the connector's to name.
func RunOver(t *testing.T, hubs func(t testing.TB) (a, b *rdmacm.Hub), connect Connector) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			r := newRig(t)
			r.A, r.B = hubs(t)
			r.connect = connect
			c.Run(r)
		})
	}
}

// patience bounds every wait of the suite. Emulated machines are slow.
const patience = 60 * time.Second

// Rig is a device under test with a hub for each end.
type Rig struct {
	testing.TB
	A, B    *rdmacm.Hub
	ctx     context.Context
	connect Connector
}

func newRig(t testing.TB) *Rig {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return &Rig{TB: t, ctx: ctx}
}

func byHand(t testing.TB, device string) *Rig {
	r := newRig(t)
	dev, err := verbs.Open(device)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	r.A, r.B = r.hub(dev), r.hub(dev)
	r.connect = ByHand
	return r
}

func (r *Rig) hub(dev *verbs.Device) *rdmacm.Hub {
	g, err := rdmacm.NewHub(dev, rdmacm.HubOptions{CQDepth: 1024})
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, g.CloseAll()) })
	return g
}

// ByHand connects two queue pairs of this process. They are not ready to try again
// when the peer has no receive posted: the credits must see to it that it has.
func ByHand(r *Rig, a, b rdmacm.ConnOptions) (x, y *rdmacm.Conn) {
	if a == b {
		x, y, err := rdmacm.Pair(r.ctx, r.A, r.B, a)
		require.NoError(r, err)
		return x, y
	}
	return connectByHand(r, a, b)
}

// slow gives the other side time, and is strict like Pair.
var slow = verbs.ConnectOptions{RNRRetries: verbs.None, Timeout: 20}

// connectByHand makes a connection as two processes would: by what their queue
// pairs say of themselves.
func connectByHand(r *Rig, a, b rdmacm.ConnOptions) (x, y *rdmacm.Conn) {
	p, err := r.A.Prepare(a)
	require.NoError(r, err)
	q, err := r.B.Prepare(b)
	require.NoError(r, err)
	pe, err := p.Endpoint()
	require.NoError(r, err)
	qe, err := q.Endpoint()
	require.NoError(r, err)
	failed := make(chan error, 1)
	go func() {
		var err error
		y, err = q.Connect(r.ctx, pe, slow)
		failed <- err
	}()
	x, err = p.Connect(r.ctx, qe, slow)
	require.NoError(r, errors.Join(err, <-failed))
	return x, y
}

// pair makes a connection whose ends have the same options.
func (r *Rig) pair(o rdmacm.ConnOptions) (a, b *rdmacm.Conn) { return r.pairOf(o, o) }

func (r *Rig) pairOf(oa, ob rdmacm.ConnOptions) (a, b *rdmacm.Conn) {
	a, b = r.connect(r, oa, ob)
	r.Cleanup(func() {
		require.NoError(r, a.Abort())
		require.NoError(r, b.Abort())
	})
	return a, b
}

// random returns n bytes that no other test sends.
func (r *Rig) random(n int) []byte {
	b := make([]byte, n)
	_, err := rand.Read(b)
	require.NoError(r, err)
	return b
}

func (r *Rig) send(c *rdmacm.Conn, p []byte) {
	r.Helper()
	require.NoError(r, c.Send(r.ctx, p))
}

// gets checks that the next message is this one.
func (r *Rig) gets(c *rdmacm.Conn, want []byte) {
	r.Helper()
	m, err := c.Recv(r.ctx)
	require.NoError(r, err)
	r.same(want, m.Bytes())
	m.Release()
}

// same compares without printing megabytes.
func (r *Rig) same(want, got []byte) {
	r.Helper()
	require.Equal(r, len(want), len(got))
	require.True(r, string(want) == string(got), "the bytes differ")
}

// soon returns a context that ends after a moment.
func (r *Rig) soon() context.Context {
	ctx, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
	r.Cleanup(cancel)
	return ctx
}

// eventually waits until something is so.
func (r *Rig) eventually(is func() bool, what string) {
	r.Helper()
	for !is() {
		require.NoError(r, r.ctx.Err(), what)
		time.Sleep(time.Millisecond)
	}
}
