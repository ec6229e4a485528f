package perftest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofabric/gofabric/internal/stats"
	"github.com/gofabric/gofabric/verbs"
)

const (
	// postBatch bounds the requests of one crossing into C: more would keep the
	// device waiting while they are built.
	postBatch = 32
	// pollBatch is how many completions one crossing takes, as in perftest.
	pollBatch = 16
)

// operation is what a tool measures.
type operation struct {
	// request adds one message to the batch.
	request func(b *verbs.SendBatch, id uint64, remote verbs.RemoteBuffer, local verbs.SGE) verbs.Request
	// access is what the peer may do to the memory that we offer.
	access verbs.Access
}

var writeOperation = operation{
	request: func(b *verbs.SendBatch, id uint64, remote verbs.RemoteBuffer, local verbs.SGE) verbs.Request {
		return b.Write(id, remote, local)
	},
	access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite,
}

// traffic is the sending side of a run: it keeps the send queue full and counts
// what completes. It allocates before the clock starts and not after.
type traffic struct {
	op     operation
	batch  *verbs.SendBatch
	cq     *verbs.CQ
	mr     *verbs.MR
	remote verbs.RemoteBuffer
	agreed Agreement

	depth      int // requests that may be outstanding
	moderation int
	iterations int // zero in a run of fixed duration
	window     stats.Window
	peak       bool

	// Of the current size.
	size              int
	schedule          schedule
	steps             stepper
	posted, completed int
	start             time.Time
	now               time.Duration // since start; read once a turn, for the peak
	postedAt          []time.Duration
	doneAt            []stats.Done

	wcs [pollBatch]verbs.Completion
}

// run moves messages of size bytes, for as many iterations or as long as the
// run has, and returns what it measured.
func (t *traffic) run(ctx context.Context, size int) (stats.Bandwidth, error) {
	t.size = size
	t.schedule = schedule{every: t.moderation, total: t.iterations}
	t.steps = newStepper(size, t.agreed)
	t.posted, t.completed = 0, 0
	if t.iterations == 0 {
		return t.timed(ctx)
	}
	return t.counted(ctx)
}

// counted is a run of fixed iterations.
func (t *traffic) counted(ctx context.Context) (stats.Bandwidth, error) {
	if t.peak {
		if cap(t.postedAt) < t.iterations {
			t.postedAt = make([]time.Duration, 0, t.iterations)
			t.doneAt = make([]stats.Done, 0, t.iterations/t.moderation+1)
		}
		t.postedAt, t.doneAt = t.postedAt[:0], t.doneAt[:0]
	}
	t.start, t.now = time.Now(), 0
	for t.completed < t.iterations {
		n, err := t.turn(ctx, t.iterations-t.posted)
		if err != nil {
			return stats.Bandwidth{}, err
		}
		t.note(n)
	}
	bw, err := stats.Average(uint64(t.size), uint64(t.completed), time.Since(t.start))
	if err != nil || !t.peak {
		return bw, err
	}
	if peak, ok := stats.Peak(uint64(t.size), t.postedAt, t.doneAt); ok {
		bw.PeakBytesPerSecond = &peak
	}
	return bw, nil
}

// timed is a run of fixed duration. What is still in flight at its end does not
// count, and closing the queue pair ends it.
func (t *traffic) timed(ctx context.Context) (stats.Bandwidth, error) {
	sampler := stats.NewSampler(t.window)
	t.start = time.Now()
	run, cancel := context.WithDeadline(ctx, t.start.Add(t.window.Total()))
	defer cancel()
	for on := true; on; {
		n, err := t.turn(run, t.depth)
		if err != nil && run.Err() != nil && ctx.Err() == nil {
			break // the time is over
		}
		if err != nil {
			return stats.Bandwidth{}, err
		}
		on = sampler.Add(time.Since(t.start), n*t.moderation)
		t.completed += n * t.moderation
	}
	return sampler.Bandwidth(uint64(t.size))
}

// turn posts what fits, but no more than left, and returns how many completions
// there were: at least one if the queue was full.
func (t *traffic) turn(ctx context.Context, left int) (int, error) {
	room := min(t.depth-(t.posted-t.completed), left)
	n := min(room, postBatch)
	t.add(n)
	_, polled, err := t.batch.PostAndPoll(t.wcs[:])
	if err == nil && polled == 0 && n == room {
		polled, err = t.cq.Spin(ctx, t.wcs[:])
	} else if err == nil {
		err = ended(ctx)
	}
	if err != nil {
		return 0, err
	}
	for i := range t.wcs[:polled] {
		if err := t.wcs[i].Err(); err != nil {
			return 0, t.explain(err)
		}
	}
	return polled, nil
}

// ended is ctx.Err for the hot loop: it takes no lock.
func ended(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
		return nil
	}
}

// add puts the next n requests into the batch.
func (t *traffic) add(n int) {
	for range n {
		if t.peak {
			t.postedAt = append(t.postedAt, t.now)
		}
		off := t.steps.next()
		request := t.op.request(t.batch, uint64(t.posted), t.remote.At(uint64(off), uint64(t.size)), t.mr.SGE(off, t.size))
		if !t.schedule.signalled(t.posted) {
			request.Unsignaled()
		}
		t.posted++
	}
}

// note counts n completions of a run of fixed iterations. The time that it reads
// is also that of the posts that follow at once: reading the clock can cost more
// than posting, as where the kernel has no better one than the HPET.
func (t *traffic) note(n int) {
	if t.peak {
		t.now = time.Since(t.start)
	}
	for range n {
		t.completed += t.schedule.covered(t.completed)
		if t.peak {
			t.doneAt = append(t.doneAt, stats.Done{Messages: t.completed, At: t.now})
		}
	}
}

// explain adds to a failed completion what the two sides may disagree about.
func (t *traffic) explain(err error) error {
	if errors.Is(err, verbs.StatusRemoteAccess) {
		return fmt.Errorf("%w; the peer offers less memory than %d bytes: give both sides the same -s or -a", err, t.size)
	}
	return err
}
