//go:build linux && cgo

package verbs_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// usage is what a process holds that must not grow with its queue pairs.
type usage struct {
	threads, files int
	resident       int // bytes, the Go heap and C included
	heap           int // bytes, of objects and stacks
}

func measureUsage(t *testing.T) (u usage) {
	runtime.GC()
	runtime.GC() // the first one runs cleanups
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	number := func(field string) int {
		_, rest, ok := strings.Cut(string(status), "\n"+field+":")
		require.True(t, ok)
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		require.NoError(t, err)
		return n
	}
	u.threads = number("Threads")
	u.resident = number("VmRSS") << 10
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	u.files = len(files)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.heap = int(m.HeapAlloc + m.StackInuse)
	return u
}

// scaleEnd is one of very many queue pairs, with a goroutine that waits on its
// own CQ.
type scaleEnd struct {
	qp   *verbs.QP
	recv *verbs.CQ
}

// waker is what a goroutine saw.
type waker struct {
	index, n int
	id       uint64
	err      error
}

// TestTenThousandQueuePairs has a goroutine asleep on the CQ of each of 10,000
// connected queue pairs. Each wakes for its own message and for no other, and
// what waits is neither threads nor descriptors.
func TestTenThousandQueuePairs(t *testing.T) {
	n := 10000
	if testing.Short() || testutil.InLab() { // a guest is emulated
		n = 1000
	}
	dev, err := verbs.Open("loop0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, dev.CloseAll()) }()
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	mr, err := pd.AllocMR(2*n, verbs.MROptions{})
	require.NoError(t, err)
	send, err := dev.CreateCQ(verbs.CQOptions{Depth: n})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	connectedPair(ctx, t, pd, send) // what the first ones bring along
	before := measureUsage(t)

	start := time.Now()
	ends := make([]scaleEnd, 0, n)
	for len(ends) < n {
		a, b := connectedPair(ctx, t, pd, send)
		ends = append(ends, a, b)
	}
	made := time.Since(start)
	between := measureUsage(t)

	woken := make(chan waker, n)
	asleep := make(chan struct{}, n)
	for i, e := range ends {
		e.qp.RecvBatch().Recv(uint64(i), mr.SGE(n+i, 1))
		_, err := e.qp.RecvBatch().Post()
		require.NoError(t, err)
		go func() {
			asleep <- struct{}{}
			wc := make([]verbs.Completion, 2)
			got, err := e.recv.Wait(ctx, wc)
			woken <- waker{i, got, wc[0].ID(), err}
		}()
	}
	for range ends {
		<-asleep
	}
	waiting := measureUsage(t)

	start = time.Now()
	for i, e := range ends {
		mr.Bytes()[i] = byte(i)
		e.qp.SendBatch().Send(uint64(i), mr.SGE(i, 1))
		_, err := e.qp.SendBatch().Post()
		require.NoError(t, err)
	}
	seen := make([]int, n)
	for range ends {
		w := <-woken
		require.NoError(t, w.err)
		require.Equal(t, 1, w.n)
		require.EqualValues(t, w.index, w.id, "woken for another's message")
		seen[w.index]++
	}
	delivered := time.Since(start)
	for i := range ends {
		require.Equal(t, 1, seen[i], "queue pair %d", i)
		require.Equal(t, byte(i^1), mr.Bytes()[n+i], "queue pair %d got another's byte", i)
	}
	wc := make([]verbs.Completion, n)
	for got := 0; got < n; {
		k, err := send.Spin(ctx, wc)
		require.NoError(t, err)
		for i := range wc[:k] {
			require.NoError(t, wc[i].Err())
		}
		got += k
	}

	start = time.Now()
	for _, e := range ends {
		require.NoError(t, e.qp.Close())
		require.NoError(t, e.recv.Close())
	}
	closed := time.Since(start)
	after := measureUsage(t)

	assert.LessOrEqual(t, waiting.threads-before.threads, 8, "threads grow with waiters")
	assert.Equal(t, before.files, waiting.files, "descriptors grow with queue pairs")
	assert.Equal(t, before.files, after.files)
	per := func(d time.Duration) time.Duration { return d / time.Duration(n) }
	t.Logf("%d queue pairs, each with its own CQ: made and connected in %v (%v each), messages delivered in %v, closed in %v (%v each)",
		n, made.Round(time.Millisecond), per(made), delivered.Round(time.Millisecond), closed.Round(time.Millisecond), per(closed))
	t.Logf("threads %d, %d with all waiting; descriptors %d, %d", before.threads, waiting.threads, before.files, waiting.files)
	t.Logf("a queue pair with its CQ: %d bytes resident, %d of them in the Go heap; its waiting goroutine: %d bytes resident",
		(between.resident-before.resident)/n, (between.heap-before.heap)/n, (waiting.resident-between.resident)/n)
}

func connectedPair(ctx context.Context, t *testing.T, pd *verbs.PD, send *verbs.CQ) (a, b scaleEnd) {
	ends := []*scaleEnd{&a, &b}
	for _, e := range ends {
		var err error
		e.recv, err = pd.Device().CreateCQ(verbs.CQOptions{Depth: 4, Events: true})
		require.NoError(t, err)
		e.qp, err = pd.CreateQP(verbs.QPOptions{SendCQ: send, RecvCQ: e.recv, MaxSend: 4, MaxRecv: 4})
		require.NoError(t, err)
	}
	for i, e := range ends {
		peer, err := ends[1-i].qp.Endpoint()
		require.NoError(t, err)
		require.NoError(t, e.qp.Connect(ctx, peer, verbs.ConnectOptions{}))
	}
	return a, b
}
