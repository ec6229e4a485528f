//go:build linux

package rdmacm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve accepts with opts whatever comes, until the listener is closed; the
// channel returned then gives the first error.
func serve(l *rdmacm.EndpointListener, opts rdmacm.EndpointOptions) <-chan error {
	done := make(chan error, 1)
	go func() {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var errs []error
		ctx := context.Background()
		for {
			r, err := l.AcceptRequest(ctx)
			if errors.Is(err, rdmacm.ErrClosed) {
				break
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				if err == nil {
					var e *rdmacm.Endpoint
					if e, err = r.Accept(ctx, opts); err == nil {
						<-e.Disconnected()
						err = e.Close()
					}
				}
				if errors.Is(err, rdmacm.ErrDisconnected) {
					err = nil // a peer that closed at once, before the kernel told of its coming
				}
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}()
		}
		wg.Wait()
		done <- errors.Join(errs...)
	}()
	return done
}

// TestHundredSimultaneousDials: all of them connect, at once.
func TestHundredSimultaneousDials(t *testing.T) {
	inLab(t)
	l := listenAt(t, address)
	done := serve(l, rdmacm.EndpointOptions{})
	const dials = 100
	var wg sync.WaitGroup
	ends := make([]*rdmacm.Endpoint, dials)
	ctx := patiently(t)
	for i := range dials {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var err error
			ends[i], err = rdmacm.DialEndpoint(ctx, l.Addr().String(), rdmacm.DialEndpointOptions{})
			assert.NoError(t, err)
		}()
	}
	wg.Wait()
	for _, e := range ends {
		if e != nil {
			assert.NoError(t, e.Close())
		}
	}
	require.NoError(t, l.Close())
	require.NoError(t, <-done)
}

// sharedQueue makes queue pairs of a device on one completion queue.
type sharedQueue struct {
	device *rdmacm.SharedDevice
	cq     *verbs.CQ
}

func newSharedQueue(t testing.TB) sharedQueue {
	t.Helper()
	device, err := rdmacm.Share("rxe0")
	require.NoError(t, err)
	cq, err := device.Device.CreateCQ(verbs.CQOptions{Depth: 4096})
	require.NoError(t, err)
	return sharedQueue{device, cq}
}

func (s sharedQueue) queuePair(context.Context, rdmacm.Location) (*verbs.QP, error) {
	return s.device.PD.CreateQP(verbs.QPOptions{SendCQ: s.cq, RecvCQ: s.cq, MaxSend: 1, MaxRecv: 1, Unaddressed: true})
}

func (s sharedQueue) close(t testing.TB) {
	t.Helper()
	require.NoError(t, s.cq.Close())
	require.NoError(t, s.device.Release())
}

// connections opens and closes so many, some at a time.
func connections(t testing.TB, n, atOnce int, addr string, opts rdmacm.EndpointOptions) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	next := make(chan struct{}, n)
	for range n {
		next <- struct{}{}
	}
	close(next)
	var wg sync.WaitGroup
	for range atOnce {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range next {
				e, err := rdmacm.DialEndpoint(ctx, addr, rdmacm.DialEndpointOptions{EndpointOptions: opts})
				if !assert.NoError(t, err) {
					return
				}
				assert.NoError(t, e.Close())
			}
		}()
	}
	wg.Wait()
}

// scale is how many connections a round has: GOFABRIC_CM_CONNECTIONS, which the
// longer suite sets to 1000.
func scale(t testing.TB) int {
	t.Helper()
	text := os.Getenv("GOFABRIC_CM_CONNECTIONS")
	if text == "" {
		return 30
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "GOFABRIC_CM_CONNECTIONS")
	return n
}

// TestConnectionsTenTimes opens and closes a round of connections ten times:
// descriptors, memory, goroutines and threads are back where they were.
func TestConnectionsTenTimes(t *testing.T) {
	inLab(t)
	l := listenAt(t, address)
	s := newSharedQueue(t)
	opts := rdmacm.EndpointOptions{QueuePair: s.queuePair}
	done := serve(l, opts)
	n := scale(t)
	var first footprint
	for round := range 10 {
		start := time.Now()
		connections(t, n, 8, l.Addr().String(), opts)
		took := time.Since(start)
		now := settled(t, first)
		t.Logf("round %d: %v, %.0f connections per second", round, now, float64(n)/took.Seconds())
		if round == 0 {
			first = now
			continue
		}
		assert.LessOrEqual(t, now.fds, first.fds)
		assert.LessOrEqual(t, now.goroutines, first.goroutines)
		// The runtime keeps threads that it once needed.
		assert.LessOrEqual(t, now.threads, first.threads+16)
		const slack = 8 << 20
		assert.LessOrEqual(t, now.rss, first.rss+slack)
	}
	// In turns, since a busy host changes everything.
	const turns, each = 3, 100
	for range turns {
		theirs, ok := cmtimeRate(t, each)
		if !ok {
			break
		}
		start := time.Now()
		connections(t, each, each, l.Addr().String(), opts)
		ours := each / time.Since(start).Seconds()
		t.Logf("connections per second: %.0f, cmtime's %.0f, ratio %.2f", ours, theirs, ours/theirs)
	}
	require.NoError(t, l.Close())
	require.NoError(t, <-done)
	s.close(t)
}

type footprint struct {
	fds, goroutines, threads int
	rss                      int // bytes
}

func (f footprint) String() string {
	return fmt.Sprintf("%d descriptors, %d goroutines, %d threads, %d KiB resident", f.fds, f.goroutines, f.threads, f.rss>>10)
}

// settled takes the process's footprint once connections that are closing have
// closed.
func settled(t testing.TB, want footprint) (f footprint) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		runtime.GC()
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		f = footprint{fds: len(entries), goroutines: runtime.NumGoroutine()}
		status, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		for _, line := range strings.Split(string(status), "\n") {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			n, _ := strconv.Atoi(fields[1])
			switch fields[0] {
			case "Threads:":
				f.threads = n
			case "VmRSS:":
				f.rss = n << 10
			}
		}
		quiet := f.goroutines <= 12
		if want != (footprint{}) {
			quiet = f.goroutines <= want.goroutines && f.fds <= want.fds
		}
		if quiet || time.Now().After(end) {
			return f
		}
	}
}
