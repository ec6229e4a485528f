//go:build linux && cgo

package loopdev_test

import (
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pollUntil polls n completions from a goroutine that may not fail the test.
func pollUntil(cq cverbs.CQ, n int) (statuses map[int32]int) {
	statuses = map[int32]int{}
	wcs := make([]cverbs.WC, 16)
	for end := time.Now().Add(patience); n > 0 && time.Now().Before(end); {
		got, err := cq.Poll(&wcs[0], min(n, len(wcs)))
		if err != nil {
			return statuses
		}
		for _, wc := range wcs[:got] {
			statuses[wc.Status]++
		}
		n -= got
		if got == 0 {
			runtime.Gosched()
		}
	}
	return statuses
}

func TestManyGoroutinesAddToOneWord(t *testing.T) {
	const posters, rounds = 8, 200
	b := newEnd(t, endOptions{})
	var senders []*end
	for range posters {
		a := newEnd(t, endOptions{})
		peer := newEnd(t, endOptions{ctx: &b.ctx, pd: &b.pd, device: b.device})
		connect(a, peer)
		senders = append(senders, a)
	}
	var all sync.WaitGroup
	for _, a := range senders {
		all.Add(1)
		go func() {
			defer all.Done()
			for range rounds {
				_, _ = a.tryPost(work{op: cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD, flags: signaled, compareAdd: 1,
					sges: []cverbs.SGE{a.sge(0, 8)}, remote: b.addr(0), rkey: b.rkey})
				pollUntil(a.send, 1)
			}
		}()
	}
	all.Wait()
	assert.Equal(t, uint64(posters*rounds), *(*uint64)(unsafe.Pointer(&b.mem[0])))
}

// Both ends of each pair send to each other at once, on one pair of CQs a device
// and a shared receive queue, while keys come and go.
func TestBothWaysAtOnceOnASharedQueue(t *testing.T) {
	const pairs, messages = 6, 300
	s := newSharedQueue(t, 256)
	var as, bs []*end
	for range pairs {
		a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{srq: s, cqe: messages})
		connect(a, b)
		as, bs = append(as, a), append(bs, b)
	}
	stop := make(chan struct{})
	var churn, all sync.WaitGroup
	churn.Add(1)
	go func() {
		defer churn.Done()
		mem := cverbs.Alloc(4096)
		defer cverbs.Free(mem)
		for {
			select {
			case <-stop:
				return
			default:
			}
			mr, err := s.pd.RegMR(mem, 4096, allAccess)
			if err == nil {
				_ = mr.Dereg()
			}
		}
	}()
	run := func(f func()) {
		all.Add(1)
		go func() { defer all.Done(); f() }()
	}
	var mu sync.Mutex
	bad := 0
	count := func(m map[int32]int, want int) {
		mu.Lock()
		defer mu.Unlock()
		if m[cverbs.IBV_WC_SUCCESS] != want {
			bad++
		}
	}
	run(func() { // one goroutine posts to the shared queue
		end := time.Now().Add(patience)
		for i := 0; i < pairs*messages && time.Now().Before(end); {
			if s.tryReceive(uint64(i), bs[0].sge(0, 8)) == nil {
				i++
			} else {
				runtime.Gosched()
			}
		}
	})
	for i := range pairs {
		a, b := as[i], bs[i]
		run(func() {
			for i := range messages {
				_, _ = a.tryPost(send(a, uint64(i)))
				count(pollUntil(a.send, 1), 1)
			}
		})
		run(func() { count(pollUntil(b.recv, messages), messages) })
		run(func() {
			for i := range messages {
				w := writeTo(a, b.sge(8, 8), 64)
				w.id, w.flags = uint64(i), signaled
				_, _ = b.tryPost(w)
				count(pollUntil(b.send, 1), 1)
			}
		})
	}
	all.Wait()
	close(stop)
	churn.Wait()
	assert.Zero(t, bad)
	assert.Equal(t, uint64(pairs*messages), s.queue.Completed)
}

// Queue pairs are failed, reset, destroyed and deregistered under traffic.
func TestTeardownUnderTraffic(t *testing.T) {
	for range 30 {
		a, b := pair(t, endOptions{})
		mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		require.NoError(t, err)
		mr, err := b.pd.RegMR(unsafe.Pointer(&mem[0]), 4096, allAccess)
		require.NoError(t, err)
		_, rkey := mr.Keys()
		started := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 1000 {
				w := work{op: cverbs.IBV_WR_RDMA_WRITE, flags: signaled, sges: []cverbs.SGE{a.sge(0, 4096)},
					remote: uint64(uintptr(unsafe.Pointer(&mem[0]))), rkey: rkey}
				_, err := a.tryPost(w)
				if i == 0 {
					close(started)
				}
				if err != nil || pollUntil(a.send, 1)[cverbs.IBV_WC_SUCCESS] == 0 {
					return
				}
			}
		}()
		<-started
		require.NoError(t, mr.Dereg())
		require.NoError(t, syscall.Munmap(mem)) // after Dereg nobody may touch it
		b.destroyQP()
		<-done
	}
}

func TestManyQueuePairsWaitAtOnce(t *testing.T) {
	const n = 200
	dev := newEnd(t, endOptions{cqe: 4 * n})
	peerDev := newEnd(t, endOptions{cqe: 4 * n})
	var senders, receivers []*end
	for range n {
		a := newEnd(t, endOptions{ctx: &dev.ctx, pd: &dev.pd, device: dev.device})
		b := newEnd(t, endOptions{ctx: &peerDev.ctx, pd: &peerDev.pd, device: peerDev.device})
		connect(a, b)
		a.post(send(a, 1)) // not ready: each has a timer
		senders, receivers = append(senders, a), append(receivers, b)
	}
	for _, b := range receivers {
		b.receive(1, b.sge(0, 8))
	}
	for _, a := range senders {
		assert.Zero(t, completion(t, a.send).Status)
	}
}

func TestDeviceComesAndGoesUnderTraffic(t *testing.T) {
	for range 10 {
		a, b := pair(t, endOptions{channel: true})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 2000 {
				if _, err := a.tryPost(writes(a, b, 1)...); err != nil {
					return
				}
				if pollUntil(a.send, 1)[cverbs.IBV_WC_SUCCESS] == 0 {
					return
				}
			}
		}()
		require.NoError(t, loopdev.RemoveDevice(b.device))
		require.NoError(t, loopdev.RemoveDevice(a.device))
		<-done
	}
}
