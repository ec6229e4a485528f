//go:build linux && cgo && !race

package rdmacm_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// TestConnAllocatesNothing counts what the whole process allocates, the poller
// included, while messages and operations go to and fro.
func TestConnAllocatesNothing(t *testing.T) {
	a, b := loopPair(t, rdmacm.ConnOptions{BufferSize: 1024})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	mr, err := b.Hub().PD().AllocMR(4096, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite})
	require.NoError(t, err)
	defer func() { assert.NoError(t, mr.Close()) }()
	_, err = b.Advertise(ctx, "m", mr, 0, 4096, rdmacm.RegionRead|rdmacm.RegionWrite)
	require.NoError(t, err)
	remote, err := a.Region(ctx, "m")
	require.NoError(t, err)
	small, large, dst := make([]byte, 100), make([]byte, 20000), make([]byte, 20000)
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for name, f := range map[string]func(){
		"small messages": func() {
			must(a.Send(ctx, small))
			m, err := b.Recv(ctx)
			must(err)
			m.Release()
		},
		"buffers": func() {
			buf, err := a.Hub().Buffer(500)
			must(err)
			must(a.SendBuffer(ctx, buf))
			_, err = b.RecvInto(ctx, dst)
			must(err)
		},
		"large messages": func() {
			must(a.Send(ctx, large))
			_, err := b.RecvInto(ctx, dst)
			must(err)
		},
		"read and write": func() {
			must(a.Write(ctx, remote, 0, small))
			must(a.Read(ctx, remote, 0, small))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 200 {
				f() // grows what grows once
			}
			runtime.GC()
			// What tests before have left may still be tidied up beside it.
			allocations := testing.AllocsPerRun(500, f)
			for range 4 {
				allocations = min(allocations, testing.AllocsPerRun(500, f))
			}
			assert.Zero(t, allocations)
		})
	}
}

// TestManyConnsCostNoThreads has thousands of connections wait at once.
func TestManyConnsCostNoThreads(t *testing.T) {
	const pairs = 1000
	dev, err := verbs.Open("loop0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, dev.Close()) }()
	h, err := rdmacm.NewHub(dev, rdmacm.HubOptions{})
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	o := rdmacm.ConnOptions{Window: 2, BufferSize: 256, Large: 1, Ops: 1}
	type pair struct{ a, b *rdmacm.Conn }
	var list []pair
	for range pairs {
		a, b := onHub(t, h, o)
		list = append(list, pair{a, b})
	}
	st := h.Stats()
	assert.Equal(t, 2*pairs, st.Conns)
	// One goroutine a completion queue, one to probe; no more for any connection.
	assert.LessOrEqual(t, runtime.NumGoroutine()-before, st.CQs+10)
	assert.Less(t, st.CQs, 100)
	ctx := patiently(t)
	for _, p := range list {
		require.NoError(t, p.a.Send(ctx, []byte("x")))
	}
	for _, p := range list {
		m, err := p.b.Recv(ctx)
		require.NoError(t, err)
		m.Release()
	}
	require.NoError(t, h.CloseAll())
}
