package perftest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/internal/spin"
	"github.com/gofabric/gofabric/internal/stats"
	"github.com/gofabric/gofabric/verbs"
)

const (
	// postBatch bounds the requests of one crossing into C: more would keep the
	// device waiting while they are built.
	postBatch = 32
	// postBytes bounds them where messages are long. A crossing counts for little
	// beside such a message, and rdma_rxe loses packets of what it is asked for in
	// one burst: reads of 64 KiB ran at less than half the rate, sent twice.
	postBytes = 64 << 10
	// pollBatch is how many completions one crossing takes, as in perftest.
	pollBatch = 16
)

// lane is the part of a run that one goroutine drives: some queue pairs, whose
// requests all complete on one queue. It allocates before the clock starts and
// not after.
type lane struct {
	config *Config
	agreed Agreement
	index  int
	inline int
	cq     *verbs.CQ
	pairs  []*pair
	srq    *verbs.SRQRecvBatch
	// wait polls the queue until there is a completion, awake or asleep.
	wait func(context.Context, []verbs.Completion) (int, error)
	// alive counts what completed, for whoever watches that something does.
	alive atomic.Uint64

	// Of the current size.
	size                        int
	posted, completed, received int // of all pairs
	toSend, toReceive           int // likewise; zero in a run of fixed duration
	sharedLeft, sharedOwed      int // of the shared queue, as a pair's
	dirty                       []*pair
	start                       time.Time
	now                         time.Duration // since start; read once a turn
	peak                        bool
	postedAt                    []time.Duration
	doneAt                      []stats.Done

	rest spin.Rest
	wcs  [pollBatch]verbs.Completion
}

// begin prepares messages of size bytes: iterations of each pair, or without an
// end if that is zero.
func (l *lane) begin(size, iterations int) {
	l.size = size
	l.posted, l.completed, l.received = 0, 0, 0
	l.toSend = iterations * len(l.pairs)
	l.toReceive = l.toSend
	l.peak = l.config.Peak && iterations > 0 && !l.config.Tool.Latency && l.config.sends()
	for _, p := range l.pairs {
		p.batch = max(1, min(postBatch, postBytes/size))
		p.schedule = schedule{every: l.config.CQModeration, total: iterations}
		p.steps = newStepper(size, l.agreed)
		p.recvSteps = newStepper(size+headroom(l.config.Connection), l.agreed)
		p.posted, p.completed, p.owed = 0, 0, 0
		p.toReceive = iterations
		if iterations == 0 {
			p.toReceive = -1
		}
	}
	if !l.peak {
		return
	}
	if cap(l.postedAt) < l.toSend {
		l.postedAt = make([]time.Duration, 0, l.toSend)
		l.doneAt = make([]stats.Done, 0, l.toSend/l.config.CQModeration+len(l.pairs))
	}
	l.postedAt, l.doneAt = l.postedAt[:0], l.doneAt[:0]
}

// startClock takes the start of the measurement.
func (l *lane) startClock() { l.start, l.now = time.Now(), 0 }

// push puts what fits into the batches and posts all of them but the last, which
// is left to whoever polls too. full tells that no more fits.
func (l *lane) push(ctx context.Context) (last *pair, full bool, err error) {
	full = true
	for _, p := range l.pairs {
		room := p.room()
		if room == 0 {
			continue
		}
		if last != nil {
			if _, err := last.send.Post(); err != nil {
				return nil, false, err
			}
		}
		n := p.next(room)
		if err := l.add(ctx, p, n); err != nil {
			return nil, false, err
		}
		last = p
		full = full && n == room
	}
	return last, full, nil
}

// turn posts what fits, polls, and waits for a completion if there was neither
// one nor room for more. It returns how many messages were sent, and how many
// received. The time that it reads is also that of the posts that follow at once:
// reading the clock can cost more than posting, as where the kernel has no better
// one than the HPET.
func (l *lane) turn(ctx context.Context, mayPost bool) (sent, received int, err error) {
	var last *pair
	full := true
	if mayPost {
		if last, full, err = l.push(ctx); err != nil {
			return 0, 0, err
		}
	}
	polled := 0
	if last != nil {
		_, polled, err = last.send.PostAndPoll(l.wcs[:])
	}
	if err == nil && polled == 0 && full {
		polled, err = l.wait(ctx, l.wcs[:])
	} else if err == nil {
		err = ended(ctx)
	}
	if err != nil {
		return 0, 0, err
	}
	l.now = time.Since(l.start)
	l.rest.Take(l.start.Add(l.now))
	return l.collect(polled)
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

// add puts the next n requests of a pair into its batch.
func (l *lane) add(ctx context.Context, p *pair, n int) error {
	for range n {
		off := p.steps.next()
		if p.stages {
			if err := p.mr.SyncForAdapter(ctx, p.sendAt+off, l.size); err != nil {
				return err
			}
		}
		if l.peak {
			l.postedAt = append(l.postedAt, l.now)
		}
		request := p.request(off, l.size, l.inline)
		if !p.schedule.signalled(p.posted) {
			request.Unsignaled()
		}
		p.posted++
	}
	l.posted += n
	return nil
}

// collect takes stock of n completions.
func (l *lane) collect(n int) (sent, received int, err error) {
	for i := range l.wcs[:n] {
		wc := &l.wcs[i]
		if err := wc.Err(); err != nil {
			return 0, 0, l.explain(err)
		}
		p := l.pairs[wc.ID()>>1]
		if wc.ID()&recvBit != 0 {
			received++
			l.owe(p)
			continue
		}
		covered := p.schedule.covered(p.completed)
		p.completed += covered
		sent += covered
		if l.peak {
			l.doneAt = append(l.doneAt, stats.Done{Messages: l.completed + sent, At: l.now})
		}
	}
	l.completed += sent
	l.received += received
	l.alive.Store(uint64(l.completed + l.received))
	return sent, received, nil
}

// explain adds to a failed completion what the two sides may disagree about.
func (l *lane) explain(err error) error {
	if errors.Is(err, verbs.StatusRemoteAccess) {
		return fmt.Errorf("%w; the peer offers less memory than %d bytes: give both sides the same -s or -a", err, l.size)
	}
	if errors.Is(err, verbs.StatusLocalLength) && l.config.receives() {
		return fmt.Errorf("%w; the peer sends more than %d bytes: give both sides the same -s or -a", err, l.size)
	}
	return err
}
