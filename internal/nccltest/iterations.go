package nccltest

import (
	"context"
	"math"
	"slices"
)

// iterReport is -I: the time of each iteration, by CUDA's events.
type iterReport struct {
	// times are the greatest of all GPUs, in seconds; processes those of each
	// process.
	times     []float64
	processes [][]float64
	skipped   int

	least, greatest, mean, p50, p95, p99, deviation float64
}

// eventCount is how many events time the iterations: neighbours share one, but
// with -z 3 each has its two.
func (w *worker) eventCount() int {
	if w.run.cfg.Blocking == blockingOuter {
		return 2 * w.run.cfg.Iters
	}
	return w.run.cfg.Iters + 1
}

func (w *worker) needEvents() error {
	for _, r := range w.ranks {
		if err := r.needEvents(w.eventCount()); err != nil {
			return err
		}
	}
	return nil
}

// record puts an event on the streams of all GPUs of the thread.
func (w *worker) record(event int) error {
	for _, r := range w.ranks {
		if err := r.events[event].Record(r.stream); err != nil {
			return err
		}
	}
	return nil
}

// iterTimes reads the events of all threads of all processes.
func (w *worker) iterTimes(ctx context.Context) (*iterReport, error) {
	cfg := w.run.cfg
	own := make([]float64, cfg.Iters)
	for i := range own {
		start, stop := i, i+1
		if cfg.Blocking == blockingOuter {
			start, stop = 2*i, 2*i+1
		}
		for _, r := range w.ranks {
			d, err := r.events[stop].Elapsed(r.events[start])
			if err != nil {
				return nil, err
			}
			own[i] = max(own[i], d.Seconds()/float64(cfg.Aggregate))
		}
	}
	all, err := w.run.gatherIterations(ctx, w.thread, own)
	if err != nil {
		return nil, err
	}
	report := &iterReport{processes: all, skipped: cfg.PerIterCut, times: make([]float64, cfg.Iters)}
	for i := range report.times {
		for _, process := range all {
			report.times[i] = max(report.times[i], process[i])
		}
	}
	report.summarize()
	return report, nil
}

func (r *iterReport) summarize() {
	sorted := slices.Sorted(slices.Values(r.times[r.skipped:]))
	n := len(sorted)
	rank := func(percent int) float64 { return sorted[min(n-1, (n*percent+99)/100-1)] }
	r.least, r.greatest, r.p50, r.p95, r.p99 = sorted[0], sorted[n-1], sorted[n/2], rank(95), rank(99)
	for _, v := range sorted {
		r.mean += v / float64(n)
	}
	for _, v := range sorted {
		r.deviation += (v - r.mean) * (v - r.mean) / float64(n)
	}
	r.deviation = math.Sqrt(r.deviation)
}

// variation is the deviation in percent of the mean.
func (r *iterReport) variation() float64 {
	if r.mean <= 0 {
		return 0
	}
	return 100 * r.deviation / r.mean
}
