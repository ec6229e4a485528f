package perftest

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gofabric/gofabric/internal/stats"
)

// rally is a latency test: messages that wait for each other. n counts from 1.
//
// What is not needed to answer is done after the answer: the time is read after
// a post, and the request that follows is built while the peer is at work.
type rally struct {
	l *lane
	p *pair
	// await waits for the peer's n-th answer, or message.
	await func(ctx context.Context, n int) error
	leads bool
	mark  *byte // of writes: the last byte of the message
	// reposts is how many receives are posted again at once.
	reposts int
	start   time.Time
	posts   []time.Duration
}

// repostBatch bounds the receives that wait to be posted again: each time costs
// a crossing into C, and the peer never has more than one message under way.
const repostBatch = 32

// newRally prepares messages of size bytes, unless begin was called for them
// already, to post receives.
func (l *lane) newRally(size, iterations int, begun bool) *rally {
	if !begun {
		l.begin(size, iterations)
	}
	p := l.pairs[0]
	r := &rally{l: l, p: p, leads: l.config.opens(), posts: make([]time.Duration, 0, iterations)}
	r.reposts = min(repostBatch, l.config.recvDepth()/2)
	switch l.config.Tool.Verb {
	case VerbWrite:
		bytes := p.mr.Bytes()
		r.mark = &bytes[p.sendAt+size-1]
		p.schedule.every = latencySignals
		r.await = l.awaitByte(&bytes[p.recvAt+size-1])
	case VerbSend:
		p.schedule.every = latencySignals
		r.await = func(ctx context.Context, n int) error { return l.until(ctx, func() bool { return l.received >= n }) }
	default:
		r.await = func(ctx context.Context, n int) error { return l.until(ctx, func() bool { return l.completed >= n }) }
	}
	return r
}

// until waits until enough has completed.
func (l *lane) until(ctx context.Context, enough func() bool) error {
	for !enough() {
		n, err := l.wait(ctx, l.wcs[:])
		if err != nil {
			return err
		}
		if _, _, err := l.collect(n); err != nil {
			return err
		}
	}
	return nil
}

// spinLoads bounds the loads between two looks at everything else, which wake a
// thread: some ten microseconds, a millisecond where the machine is emulated.
const spinLoads = 1 << 16

// awaitByte waits for the number of a message in a byte that the peer writes.
// The byte's aligned word is loaded: a device writes it, and the load has acquire
// order.
func (l *lane) awaitByte(at *byte) func(context.Context, int) error {
	address := uintptr(unsafe.Pointer(at))
	in := address % 4
	word := (*uint32)(unsafe.Add(unsafe.Pointer(at), -int(in)))
	return func(ctx context.Context, n int) error {
		want := byte(n)
		for {
			for range spinLoads {
				v := atomic.LoadUint32(word)
				if (*[4]byte)(unsafe.Pointer(&v))[in] == want {
					return nil
				}
			}
			if err := l.lookAround(ctx); err != nil {
				return err
			}
		}
	}
}

// lookAround finds a request that failed, and lets others run.
func (l *lane) lookAround(ctx context.Context) error {
	n, err := l.cq.Poll(l.wcs[:])
	if err == nil {
		_, _, err = l.collect(n)
	}
	if err == nil {
		err = ended(ctx)
	}
	runtime.Gosched()
	return err
}

// prepare builds the next message, which must then be posted.
func (r *rally) prepare(ctx context.Context) error {
	if r.p.posted-r.p.completed >= latencySends-1 {
		if err := r.l.until(ctx, func() bool { return r.p.posted-r.p.completed < latencySends-1 }); err != nil {
			return err
		}
	}
	if r.p.stages {
		if err := r.p.mr.SyncForAdapter(ctx, r.p.sendAt, r.l.size); err != nil {
			return err
		}
	}
	request := r.p.request(0, r.l.size, r.l.inline)
	if !r.p.schedule.signalled(r.p.posted) {
		request.Unsignaled()
	}
	r.p.posted++
	r.l.posted++
	return nil
}

// fire posts the n-th message and takes the time.
func (r *rally) fire(n int) error {
	polled, err := r.post(n)
	if err != nil {
		return err
	}
	if r.l.config.Duration == 0 {
		since := time.Since(r.start) // half of what time.Now costs
		r.posts = append(r.posts, since)
		r.l.rest.Take(r.start.Add(since))
	}
	if _, _, err := r.l.collect(polled); err != nil {
		return err
	}
	if r.repostIsDue() {
		return r.l.repost()
	}
	return nil
}

// post hands the n-th message to the device. A write's completion says nothing
// that the peer's answer does not, so that nobody looks for it.
func (r *rally) post(n int) (polled int, err error) {
	if r.mark != nil {
		*r.mark = byte(n)
		_, err = r.p.send.Post()
		return 0, err
	}
	_, polled, err = r.p.send.PostAndPoll(r.l.wcs[:])
	return polled, err
}

// repostIsDue tells whether enough receives have completed.
func (r *rally) repostIsDue() bool {
	owed := r.p.owed + r.l.sharedOwed
	return owed > 0 && owed >= r.reposts
}

// step is one message: wait for the turn, post.
func (r *rally) step(ctx context.Context, n int) error {
	awaited := n
	if r.leads {
		awaited--
	}
	if awaited > 0 {
		if err := r.await(ctx, awaited); err != nil {
			return err
		}
	}
	return r.fire(n)
}

// counted plays so many messages.
func (r *rally) counted(ctx context.Context, iterations int) (stats.Latency, []time.Duration, error) {
	l := r.l
	r.start = time.Now()
	err := r.prepare(ctx)
	for n := 1; n <= iterations && err == nil; n++ {
		if err = r.step(ctx, n); err == nil && n < iterations {
			err = r.prepare(ctx)
		}
	}
	if err == nil && r.leads {
		err = r.await(ctx, iterations)
	}
	if err != nil {
		return stats.Latency{}, nil, err
	}
	// The peer must have the last message before the queue pair goes.
	err = l.until(ctx, func() bool { return r.p.completed == r.p.posted })
	if err != nil && !(r.leads && errors.Is(context.Cause(ctx), ErrPeerClosed)) {
		return stats.Latency{}, nil, err
	}
	return stats.NewLatency(uint64(l.size), r.posts, l.config.Tool.trips())
}

// timed plays for as long as the window is.
func (r *rally) timed(ctx context.Context, window stats.Window) (stats.LatencyRate, error) {
	sampler := stats.NewSampler(window)
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	r.start = time.Now()
	limit := func() { run, cancel = context.WithDeadline(ctx, r.start.Add(window.Total())) }
	if r.leads {
		limit()
	}
	defer func() { cancel() }()
	for n := 1; ; n++ {
		err := r.prepare(run)
		if err == nil {
			err = r.step(run, n)
		}
		if err != nil && run.Err() != nil && ctx.Err() == nil {
			break
		}
		if err != nil {
			return stats.LatencyRate{}, err
		}
		if n == 1 && !r.leads {
			r.start = time.Now() // the first message has arrived
			limit()
		}
		if !sampler.Add(time.Since(r.start), 1) {
			break
		}
	}
	return sampler.LatencyRate(uint64(r.l.size), r.l.config.Tool.trips())
}
