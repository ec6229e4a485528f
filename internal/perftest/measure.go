package perftest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/gofabric/gofabric/internal/stats"
)

// result is what a message size came to; one of the first three is set.
type result struct {
	bandwidth *stats.Bandwidth
	latency   *stats.Latency
	rate      *stats.LatencyRate

	samples []time.Duration // of a latency
	lost    int             // messages that did not arrive
	// local and remote are each side's part of a sum.
	local, remote *stats.Bandwidth
	cpu           *float64 // percent
}

// with is the sum of this side and the other.
func (r result) with(remote stats.Bandwidth) result {
	own := *r.bandwidth
	sum := own
	sum.BytesPerSecond += remote.BytesPerSecond
	sum.MessagesPerSecond += remote.MessagesPerSecond
	if own.PeakBytesPerSecond != nil || remote.PeakBytesPerSecond != nil {
		var peak float64
		for _, p := range []*float64{own.PeakBytesPerSecond, remote.PeakBytesPerSecond} {
			if p != nil {
				peak += *p
			}
		}
		sum.PeakBytesPerSecond = &peak
	}
	r.bandwidth, r.local, r.remote = &sum, &own, &remote
	return r
}

// prepareReceives fills the receive queues for messages of size bytes.
func (r *run) prepareReceives(size int) error {
	if !r.config.receives() {
		return nil
	}
	for _, l := range r.local.lanes {
		l.begin(size, r.config.Iterations)
		if err := l.postFirst(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) guardedBandwidth(ctx context.Context, size int) (row result, err error) {
	err = r.guarded(ctx, func(ctx context.Context) (err error) {
		row, err = r.bandwidth(ctx, size)
		return err
	})
	return row, err
}

// bandwidth moves messages of size bytes over all queue pairs.
func (r *run) bandwidth(ctx context.Context, size int) (result, error) {
	c := r.config
	t := transfer{sends: c.sends(), receives: c.receives()}
	t.holds = t.sends && t.receives && !c.leads()
	if c.Duration > 0 {
		window, err := stats.NewWindow(c.Duration, c.Margin)
		if err != nil {
			return result{}, err
		}
		t.window = &window
		if c.Infinite {
			t.row = func(messages int, elapsed time.Duration) error {
				bw, err := stats.Average(uint64(size), uint64(messages), elapsed)
				if err != nil {
					return err
				}
				return r.out.row(result{bandwidth: &bw})
			}
		}
	}
	if c.WarmUp && t.sends {
		if err := r.warmUp(ctx, size); err != nil {
			return result{}, err
		}
	}
	cpu := startCPU(c.CPU)
	parts, err := r.eachLane(ctx, func(ctx context.Context, l *lane) (measured, error) {
		if !t.receives {
			l.begin(size, c.Iterations)
		}
		return l.transfer(ctx, t)
	})
	if err != nil {
		return result{}, err
	}
	row, err := combine(uint64(size), parts, t.window)
	row.cpu = cpu.percent()
	return row, err
}

// warmUp sends a queue full of messages that nobody counts.
func (r *run) warmUp(ctx context.Context, size int) error {
	_, err := r.eachLane(ctx, func(ctx context.Context, l *lane) (measured, error) {
		list := r.config.PostList
		l.begin(size, r.config.TxDepth/list*list)
		l.peak = false
		return l.transfer(ctx, transfer{sends: true})
	})
	return err
}

// combine makes a row of what the lanes measured side by side.
func combine(size uint64, parts []measured, window *stats.Window) (result, error) {
	var row result
	whole := parts[0]
	for _, p := range parts[1:] {
		whole.messages += p.messages
		whole.lost += p.lost
		if p.from.Before(whole.from) {
			whole.from = p.from
		}
		if p.to.After(whole.to) {
			whole.to = p.to
		}
		whole.peak = nil // the peaks of several need not be at one time
	}
	elapsed := whole.to.Sub(whole.from)
	if window != nil {
		elapsed = window.Sample
	}
	bw, err := stats.Average(size, uint64(whole.messages), elapsed)
	if err != nil {
		return row, err
	}
	bw.PeakBytesPerSecond = whole.peak
	row.bandwidth, row.lost = &bw, whole.lost
	return row, nil
}

// eachLane has each lane do its part: the caller's goroutine does the only one's,
// and goroutines with threads of their own that of several. The first failure
// ends the others.
func (r *run) eachLane(ctx context.Context, f func(context.Context, *lane) (measured, error)) ([]measured, error) {
	lanes := r.local.lanes
	parts := make([]measured, len(lanes))
	errs := make([]error, len(lanes))
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := func(i int) {
		release, err := r.placement.enter(i)
		if err == nil {
			parts[i], err = f(inner, lanes[i])
			err = errors.Join(err, release())
		}
		if errs[i] = err; err != nil {
			cancel(context.Cause(ctx))
		}
	}
	if r.config.Threads == 0 {
		work(0)
		return parts, errs[0]
	}
	var done sync.WaitGroup
	for i := range lanes {
		done.Add(1)
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			work(i)
		}()
	}
	done.Wait()
	for _, err := range errs {
		// What a lane was ended with says less than why.
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	return parts, errors.Join(errs...)
}

// measureLatency plays messages of size bytes.
func (r *run) measureLatency(ctx context.Context, size int) (row result, err error) {
	c := r.config
	release, err := r.placement.enter(0)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, release()) }()
	rally := r.local.lanes[0].newRally(size, c.Iterations, c.receives())
	cpu := startCPU(c.CPU)
	if c.Duration == 0 {
		latency, samples, err := rally.counted(ctx, c.Iterations)
		return result{latency: &latency, samples: samples, cpu: cpu.percent()}, err
	}
	window, err := stats.NewWindow(c.Duration, c.Margin)
	if err != nil {
		return row, err
	}
	rate, err := rally.timed(ctx, window)
	return result{rate: &rate, cpu: cpu.percent()}, err
}
