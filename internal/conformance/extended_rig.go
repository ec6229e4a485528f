package conformance

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

// exCQ makes an extended completion queue with events.
func (r *Rig) exCQ(opts verbs.CQExOptions) *verbs.CQEx {
	r.Helper()
	opts.Events = true
	cq, err := r.Dev.CreateCQEx(opts)
	require.NoError(r, err)
	return cq
}

// exCQPair makes two connected queue pairs; all that b completes comes to the
// extended queue.
func (r *Rig) exCQPair(opts verbs.CQExOptions, connect verbs.ConnectOptions) (a, b *End, cq *verbs.CQEx) {
	r.Helper()
	cq = r.exCQ(opts)
	a = r.end(pairOptions{})
	qp, err := r.PD.CreateQP(verbs.QPOptions{SendCQ: cq.CQ(), RecvCQ: cq.CQ()})
	require.NoError(r, err)
	b = &End{r: r, QP: qp, Send: cq.CQ(), Recv: cq.CQ()}
	r.connect(a, b, connect)
	return a, b, cq
}

// nextEx waits for the next completion of an extended queue.
func (r *Rig) nextEx(cq *verbs.CQEx) *verbs.CompletionEx {
	r.Helper()
	wc := make([]verbs.CompletionEx, 1)
	n, err := cq.Wait(r.ctx, wc)
	require.NoError(r, err)
	require.Equal(r, 1, n)
	return &wc[0]
}

// builtEnd makes a queue pair with builders.
func (r *Rig) builtEnd(o verbs.QPExOptions) *End {
	r.Helper()
	e := &End{r: r, Send: r.cq(verbs.CQOptions{Events: true}), Recv: r.cq(verbs.CQOptions{Events: true})}
	o.SendCQ, o.RecvCQ = e.Send, e.Recv
	var err error
	e.QP, err = r.PD.CreateQPEx(o)
	require.NoError(r, err)
	return e
}

// builtPair makes two connected queue pairs with builders.
func (r *Rig) builtPair(o verbs.QPExOptions, connect verbs.ConnectOptions) (a, b *End) {
	r.Helper()
	a, b = r.builtEnd(o), r.builtEnd(o)
	r.connect(a, b, connect)
	return a, b
}

// canBuild reports whether the device makes queue pairs of such options; if not,
// it must say that it cannot. Who knows it may be the kernel, the library's provider
// or this module.
func (r *Rig) canBuild(o verbs.QPExOptions) bool {
	r.Helper()
	cq := r.cq(verbs.CQOptions{})
	o.SendCQ, o.RecvCQ = cq, cq
	qp, err := r.PD.CreateQPEx(o)
	if errors.Is(err, verbs.ErrNotSupported) {
		return false
	}
	require.NoError(r, err)
	require.NoError(r, qp.Close())
	require.NoError(r, cq.Close())
	return true
}

// kernelLacks checks that a refusal was right: the kernel lacks the feature, or
// the library is older than the release of rdma-core that brings it.
func (r *Rig) kernelLacks(feature testutil.Feature, since int) {
	r.Helper()
	file, err := verbs.LibraryPath()
	require.NoError(r, err)
	var release int
	_, err = fmt.Sscanf(file[strings.LastIndex(file, ".so.")+1:], "so.1.%d.%d", new(int), &release)
	require.NoError(r, err, file)
	if release >= since {
		require.False(r, testutil.KernelHas(r.TB, feature), "kernel and rdma-core %d have it: %s", release, feature)
	}
}
