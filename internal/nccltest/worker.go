package nccltest

import (
	"context"
	"runtime"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/nccltest/values"
)

// worker is a thread and its GPUs.
type worker struct {
	run    *run
	thread int
	ranks  []*rank
	// timed is the iterations that are timed, single the operations that are
	// not.
	timed, single plan
	done          []bool
	rep           uint64
	errors        int
}

// main reports whether this thread prints.
func (w *worker) main() bool { return w.thread == 0 && w.run.job.main() }

// work runs the test on a thread of its own, and tells the team of an error.
func (w *worker) work(ctx context.Context) {
	// Without it the goroutine could move between issuing and waiting, and a
	// capture belongs to a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	binding, err := w.ranks[0].dev.Bind()
	if err != nil {
		w.run.fail(err)
		return
	}
	err = w.sweep(ctx)
	if closed := w.timed.close(); err == nil {
		err = closed
	}
	if closed := w.single.close(); err == nil {
		err = closed
	}
	if closed := binding.Close(); err == nil {
		err = closed
	}
	if err != nil {
		w.run.fail(err)
	}
}

// How the waiting for a stream goes on: how often it asks for more than the
// stream's state, and after how many polls it naps. Then the work has been long,
// and a nap is nothing; without a processor for each thread it is needed early.
const (
	pollsPerAsk   = 64
	pollsUntilNap = 1 << 17
	crowdedPolls  = 1 << 8
	nap           = 50 * time.Microsecond
)

// finish waits for the streams of all GPUs of the thread, as the C tool does: by
// asking again and again.
func (w *worker) finish(ctx context.Context) error {
	clear(w.done)
	left, untilNap := len(w.ranks), pollsUntilNap
	if !w.run.team.spin {
		untilNap = crowdedPolls
	}
	for polls := 1; ; polls++ {
		idle := true
		for i, r := range w.ranks {
			if w.done[i] {
				continue
			}
			done, err := r.stream.Query()
			if err != nil {
				return err
			}
			if done {
				w.done[i] = true
				idle = false
				left--
			}
		}
		if left == 0 {
			w.run.beat()
			return nil
		}
		if polls%pollsPerAsk == 0 {
			if err := w.ask(ctx); err != nil {
				return err
			}
		}
		switch {
		case !idle:
		case polls > untilNap:
			time.Sleep(nap)
		default:
			yield()
		}
	}
}

// ask looks for what ends the waiting early.
func (w *worker) ask(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, r := range w.ranks {
		if err := r.comm.AsyncError(); err != nil {
			return err
		}
	}
	return nil
}

// each runs f for all GPUs of the thread, at once: what registers windows waits
// for the other ranks.
func (w *worker) each(f func(r *rank) error) error { return each(w.ranks, f) }

func each(ranks []*rank, f func(r *rank) error) error {
	errs := make(chan error, len(ranks))
	for _, r := range ranks {
		go func() { errs <- f(r) }()
	}
	var first error
	for range ranks {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// prepare writes the input of an operation, and zeros where its output goes.
func (w *worker) prepare(ctx context.Context, t *trial) error {
	cfg := w.run.cfg
	for _, r := range w.ranks {
		recv, err := w.region(r.recv, t, region{count: t.counts.recv})
		if err != nil {
			return err
		}
		if err := r.verifier.Fill(ctx, r.stream, recv, t.zeros()); err != nil {
			return err
		}
		buffer := r.send
		if t.inPlace {
			buffer = r.recv
		}
		for _, g := range cfg.Tool.collective.fill(t, r.index) {
			span, err := w.region(buffer, t, g)
			if err != nil {
				return err
			}
			if err := r.verifier.Fill(ctx, r.stream, span, g.series); err != nil {
				return err
			}
		}
	}
	return w.finish(ctx)
}

// check counts the elements that are not what they should be.
func (w *worker) check(ctx context.Context, t *trial) (wrong uint64, err error) {
	cfg := w.run.cfg
	for _, r := range w.ranks {
		if cfg.between != nil {
			if err := cfg.between(r, t); err != nil {
				return 0, err
			}
		}
		for _, g := range cfg.Tool.collective.want(t, r.index) {
			span, err := w.region(r.recv, t, g)
			if err != nil {
				return 0, err
			}
			n, err := r.verifier.Mismatches(ctx, r.stream, span, g.series)
			if err != nil {
				return 0, err
			}
			wrong += n
			w.run.beat()
		}
	}
	return wrong, nil
}

// region is a region's memory in a buffer, for an operation that is not shifted.
func (w *worker) region(m memory, t *trial, g region) (cuda.Span, error) {
	at := (uint64(w.run.cfg.Unalign) + g.offset) * t.element()
	return m.Span().At(at, g.count*t.element())
}

// operations lists the reductions to go through, by name; those that reduce
// nothing have one.
func (w *worker) operations() []values.Op {
	c := w.run.cfg.Tool.collective
	switch {
	case !c.reduces && !c.labelled:
		return []values.Op{values.Sum}
	case w.run.cfg.Ops == nil:
		return values.Ops()
	}
	return w.run.cfg.Ops
}

// roots lists the roots to go through; -1 is none.
func (w *worker) roots() []int {
	switch {
	case !w.run.cfg.Tool.collective.rooted:
		return []int{-1}
	case w.run.cfg.Root != nil:
		return []int{*w.run.cfg.Root}
	}
	all := make([]int, w.run.ranks)
	for i := range all {
		all[i] = i
	}
	return all
}
