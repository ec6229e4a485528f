package conformance

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

// patience bounds every wait of the suite. Emulated machines are slow.
const patience = 30 * time.Second

// Rig is a device under test, with what most cases need of it.
type Rig struct {
	testing.TB
	Dev *verbs.Device
	PD  *verbs.PD
	ctx context.Context

	claims []func()
}

func newRig(t testing.TB, device string) *Rig {
	r := &Rig{TB: t}
	testutil.WatchCalls(t)
	t.Cleanup(func() {
		for _, check := range r.claims {
			check()
		}
	})
	dev, err := verbs.Open(device)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.CloseAll()) })
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	r.Dev, r.PD, r.ctx = dev, pd, ctx
	return r
}

// inProcess says that the device is this process's own, not a kernel's.
func (r *Rig) inProcess() bool { return strings.HasPrefix(r.Dev.Name(), "loop") }

// covers claims that the case shows the effect of these C functions: see
// testutil.Covers.
func (r *Rig) covers(functions ...string) { r.Helper(); testutil.Covers(r, functions...) }

// refuses checks that a C function was refused, and claims it.
func (r *Rig) refuses(err error, function string) { r.Helper(); testutil.Refuses(r, err, function) }

// AtEnd has the claims checked once everything of the rig is closed.
func (r *Rig) AtEnd(check func()) { r.claims = append(r.claims, check) }

// allRights lets peers do everything.
const allRights = verbs.AccessLocalWrite | verbs.AccessRemoteWrite | verbs.AccessRemoteRead | verbs.AccessRemoteAtomic

// memory registers size bytes with all rights.
func (r *Rig) memory(size int) *verbs.MR { return r.memoryWith(size, allRights) }

func (r *Rig) memoryWith(size int, access verbs.Access) *verbs.MR {
	mr, err := r.PD.AllocMR(size, verbs.MROptions{Access: access})
	require.NoError(r, err)
	return mr
}

// random fills memory with what no other test left there.
func (r *Rig) random(mr *verbs.MR) []byte {
	_, err := rand.Read(mr.Bytes())
	require.NoError(r, err)
	return mr.Bytes()
}

func (r *Rig) cq(opts verbs.CQOptions) *verbs.CQ {
	cq, err := r.Dev.CreateCQ(opts)
	require.NoError(r, err)
	return cq
}

// End is one side of a connection.
type End struct {
	r    *Rig
	QP   *verbs.QP
	Send *verbs.CQ
	Recv *verbs.CQ
}

// pairOptions are the options of both ends of a pair.
type pairOptions struct {
	qp      verbs.QPOptions
	cq      verbs.CQOptions
	connect verbs.ConnectOptions
}

// quick makes errors come soon: one retry, after about a millisecond.
var quick = verbs.ConnectOptions{Timeout: 10, Retries: 1, RNRRetries: 1, MinRNRTimer: 1}

// pair makes two connected queue pairs, each with a CQ per direction.
func (r *Rig) pair(o pairOptions) (a, b *End) {
	a, b = r.end(o), r.end(o)
	r.connect(a, b, o.connect)
	return a, b
}

func (r *Rig) end(o pairOptions) *End {
	o.cq.Events = true
	e := &End{r: r, Send: r.cq(o.cq), Recv: r.cq(o.cq)}
	o.qp.SendCQ, o.qp.RecvCQ = e.Send, e.Recv
	var err error
	e.QP, err = r.PD.CreateQP(o.qp)
	require.NoError(r, err)
	return e
}

func (r *Rig) connect(a, b *End, opts verbs.ConnectOptions) {
	require.NoError(r, a.QP.Connect(r.ctx, r.endpoint(b.QP), opts))
	require.NoError(r, b.QP.Connect(r.ctx, r.endpoint(a.QP), opts))
}

func (r *Rig) endpoint(qp *verbs.QP) verbs.Endpoint {
	ep, err := qp.Endpoint()
	require.NoError(r, err)
	return ep
}

// post posts the end's send batch, which must hold n requests.
func (e *End) post(n int) {
	e.r.Helper()
	posted, err := e.QP.SendBatch().Post()
	require.NoError(e.r, err)
	require.Equal(e.r, n, posted)
}

// receive posts one receive.
func (e *End) receive(id uint64, local ...verbs.SGE) {
	e.r.Helper()
	e.QP.RecvBatch().Recv(id, local...)
	n, err := e.QP.RecvBatch().Post()
	require.NoError(e.r, err)
	require.Equal(e.r, 1, n)
}

// sent waits for the next completion of the send queue.
func (e *End) sent() *verbs.Completion { e.r.Helper(); return e.r.next(e.Send) }

// received waits for the next completion of the receive queue.
func (e *End) received() *verbs.Completion { e.r.Helper(); return e.r.next(e.Recv) }

func (r *Rig) next(cq *verbs.CQ) *verbs.Completion {
	r.Helper()
	wc := make([]verbs.Completion, 1)
	n, err := cq.Wait(r.ctx, wc)
	require.NoError(r, err)
	require.Equal(r, 1, n)
	return &wc[0]
}

// good checks that a request succeeded, and which.
func (r *Rig) good(c *verbs.Completion, id uint64, op verbs.WCOpcode) {
	r.Helper()
	require.NoError(r, c.Err())
	require.Equal(r, id, c.ID())
	got, ok := c.Opcode()
	require.True(r, ok)
	require.Equal(r, op, got)
}

// bad checks that a request failed, which and how. The first status is the
// specification's; others are what a device is known to say instead.
func (r *Rig) bad(c *verbs.Completion, id uint64, statuses ...verbs.Status) {
	r.Helper()
	require.Equal(r, id, c.ID())
	require.Contains(r, statuses, c.Status())
	require.ErrorIs(r, c.Err(), c.Status())
	require.Zero(r, c.Len())
	_, ok := c.Opcode()
	require.False(r, ok)
	_, ok = c.Imm()
	require.False(r, ok)
	_, ok = c.InvalidatedRKey()
	require.False(r, ok)
	_, ok = c.SrcQP()
	require.False(r, ok)
	require.False(r, c.HasGRH())
}

// flushedRest checks that exactly these requests come, flushed, in order.
func (r *Rig) flushedRest(cq *verbs.CQ, ids ...uint64) {
	r.Helper()
	for _, id := range ids {
		r.bad(r.next(cq), id, verbs.StatusFlushed)
	}
	r.quiet(cq)
}

// quiet checks that no completion is waiting.
func (r *Rig) quiet(cq *verbs.CQ) {
	r.Helper()
	wc := make([]verbs.Completion, 4)
	n, err := cq.Poll(wc)
	require.NoError(r, err)
	require.Zero(r, n, "%v", wc[:n])
}
