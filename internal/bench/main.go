//go:build linux && cgo

// Command bench measures what the binding itself costs: nanoseconds of a work
// request, from being built to its completion, on a device that does nothing,
// beside C code that does the same stores. Go and C take turns; the table shows
// medians of all turns. The time is that which the thread spent on a processor,
// so that a busy machine disturbs it little.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/cbench"
	"github.com/gofabric/gofabric/verbs"
	"golang.org/x/sys/unix"
)

const (
	turns   = 21
	perTurn = 400_000 // work requests
	size    = 64      // bytes of each
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// rig is a queue pair on the null device.
type rig struct {
	dev    *verbs.Device
	batch  *verbs.SendBatch
	cq     *verbs.CQ
	wcs    []verbs.Completion
	local  [pieces]verbs.SGE
	remote [pieces]verbs.RemoteBuffer
}

// pieces is how many places of its memory a rig writes in turn.
const pieces = 32

func newRig() (*rig, error) {
	dev, err := verbs.Open(cbench.Device)
	if err != nil {
		return nil, err
	}
	pd, err := dev.AllocPD()
	if err != nil {
		return nil, err
	}
	mr, err := pd.AllocMR(4096, verbs.MROptions{})
	if err != nil {
		return nil, err
	}
	cq, err := dev.CreateCQ(verbs.CQOptions{})
	if err != nil {
		return nil, err
	}
	qp, err := pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq})
	if err != nil {
		return nil, err
	}
	r := &rig{dev: dev, batch: qp.SendBatch(), cq: cq, wcs: make([]verbs.Completion, 64)}
	for i := range pieces {
		r.local[i] = mr.SGE(size*i, size)
		r.remote[i] = mr.Remote().At(uint64(size*i), size)
	}
	return r, connectToItself(qp)
}

func connectToItself(qp *verbs.QP) error {
	self, err := qp.Endpoint()
	if err != nil {
		return err
	}
	return qp.Connect(context.Background(), self, verbs.ConnectOptions{})
}

// round posts a batch of writes and polls until all have completed.
func (r *rig) round(batch int) error {
	for i := range batch {
		r.batch.Write(uint64(i), r.remote[i%pieces], r.local[i%pieces])
	}
	if _, err := r.batch.Post(); err != nil {
		return err
	}
	for left := batch; left > 0; {
		n, err := r.cq.Poll(r.wcs[:min(left, len(r.wcs))])
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// roundTrip is round with a batch of one, in a single crossing.
func (r *rig) roundTrip() error {
	r.batch.Write(1, r.remote[0], r.local[0])
	_, _, err := r.batch.PostAndPoll(r.wcs[:1])
	return err
}

func run() error {
	runtime.LockOSThread()
	if err := cbench.Register(); err != nil {
		return err
	}
	r, err := newRig()
	if err != nil {
		return err
	}
	defer r.dev.CloseAll()

	empty := measure(func(n int) error {
		for range n {
			cbench.EmptyCall()
		}
		return nil
	})
	if empty.err != nil {
		return empty.err
	}
	fmt.Printf("empty cgo call: %.1f ns (median of %d turns; %.1f to %.1f)\n\n", empty.median(), turns, empty.ns[0], empty.ns[turns-1])
	fmt.Println("work request, post and completion together, ns:")
	fmt.Printf("%-14s %8s %8s %8s %14s %8s\n", "batch", "Go", "C", "Go/C", "/ empty call", "allocs")
	classic := map[int]float64{}
	for _, batch := range batches {
		if classic[batch], err = row(r, batch, empty.median()); err != nil {
			return err
		}
	}
	if err := pollRow(r, empty.median()); err != nil {
		return err
	}
	return extended(classic)
}

var batches = []int{1, 4, 16, 32, 64}

// row returns Go's nanoseconds.
func row(r *rig, batch int, empty float64) (float64, error) {
	var goNS, cNS []float64
	for range turns {
		g, err := turn(perTurn/batch, batch, func() error { return r.round(batch) })
		if err != nil {
			return 0, err
		}
		goNS = append(goNS, g)
		cNS = append(cNS, float64(cbench.CLoop(batch, perTurn/batch))/float64(perTurn/batch*batch))
	}
	allocs := testing.AllocsPerRun(100, func() { _ = r.round(batch) })
	g, c := median(goNS), median(cNS)
	fmt.Printf("%-14d %8.1f %8.1f %8.2f %14.2f %8.0f\n", batch, g, c, g/c, g/empty, allocs)
	return g, assertNone(allocs)
}

func pollRow(r *rig, empty float64) error {
	s := measure(func(n int) error {
		for range n {
			if err := r.roundTrip(); err != nil {
				return err
			}
		}
		return nil
	})
	if s.err != nil {
		return s.err
	}
	allocs := testing.AllocsPerRun(100, func() { _ = r.roundTrip() })
	fmt.Printf("%-14s %8.1f %8s %8s %14.2f %8.0f\n", "PostAndPoll 1", s.median(), "", "", s.median()/empty, allocs)
	return assertNone(allocs)
}

func assertNone(allocs float64) error {
	if allocs != 0 {
		return fmt.Errorf("the data path allocated: %v allocations a round", allocs)
	}
	return nil
}

// turn returns the nanoseconds of one of rounds*batch work requests.
func turn(rounds, batch int, f func() error) (float64, error) {
	start := threadTime()
	for range rounds {
		if err := f(); err != nil {
			return 0, err
		}
	}
	return float64(threadTime()-start) / float64(rounds*batch), nil
}

// threadTime returns what this thread has spent on a processor. The caller's
// goroutine is locked to it.
func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err) // the clock exists on every linux
	}
	return time.Duration(ts.Nano())
}

type sample struct {
	ns  []float64 // sorted
	err error
}

func (s sample) median() float64 { return median(s.ns) }

// measure returns the nanoseconds of one of f's n repetitions, turn by turn.
func measure(f func(n int) error) (s sample) {
	for range turns {
		start := threadTime()
		if s.err = f(perTurn); s.err != nil {
			return s
		}
		s.ns = append(s.ns, float64(threadTime()-start)/perTurn)
	}
	slices.Sort(s.ns)
	return s
}

func median(ns []float64) float64 {
	sorted := slices.Sorted(slices.Values(ns))
	return sorted[len(sorted)/2]
}
