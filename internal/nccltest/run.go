package nccltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/internal/nccltest/limit"
	"github.com/gofabric/gofabric/nccl"
)

// run is one process's part of a test.
type run struct {
	cfg     *Config
	release nccl.Version
	job     *job
	team    *team
	// ranks is how many take part in the communicator; gpus are this
	// process's.
	ranks    int
	gpus     []*rank
	workers  []*worker
	types    []nccl.DataType
	ways     []how
	out      *output
	progress *progress

	// abandoned: NCCL is still making communicators, on devices that cannot be
	// closed before.
	abandoned bool

	cancel context.CancelCauseFunc
	beaten atomic.Int64 // when something was last done, in nanoseconds

	// The threads' times of iterations, and what they make, as in team.
	iterations [][]float64
	gathered   [2][][]float64
}

// ResultError reports a run that went through and whose result is bad.
type ResultError struct {
	// OutOfBounds is how many results had wrong elements.
	OutOfBounds int
	// Bandwidth and Least are in GB/s; Least is nil where none is demanded.
	Bandwidth float64
	Least     *float64
	// Low is how many results reach too little for --limit-check.
	Low int
}

func (e *ResultError) Error() string {
	if e.OutOfBounds > 0 {
		return fmt.Sprintf("%d results have wrong elements", e.OutOfBounds)
	}
	if e.Low > 0 {
		return fmt.Sprintf("%d results have less than %.0f %% of the bus bandwidth that was measured over such links (--limit-check)", e.Low, limit.Least*100)
	}
	return fmt.Sprintf("the average bus bandwidth is %.4g GB/s, less than 90 %% of %.4g GB/s (%s)", e.Bandwidth, *e.Least, envMinBandwidth)
}

// TimeoutError reports a step that took longer than -T allows.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("nothing has come forward for %v (-T/--timeout): a rank is missing or stuck; NCCL_DEBUG=INFO shows what NCCL waits for", e.Limit)
}

// Run runs the test as one process of those that the launcher's environment
// names, and prints to stdout what the C tool prints. When ctx ends, a rank fails
// or a step exceeds the time limit, everything is aborted and the error is the
// cause. A *ResultError is a run that went through.
func Run(parent context.Context, cfg Config, stdout, stderr io.Writer) (err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	r := &run{cfg: &cfg, cancel: cancel}
	r.beat()
	defer r.watch(ctx)()
	// Nothing in the timed part allocates, but the runtime also collects by the
	// clock. Memory is collected between the rows.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, note := range cfg.notes {
		fmt.Fprintf(stderr, "%s: %s\n", cfg.Tool.Name, note)
	}
	if r.job, err = connect(ctx, cfg.Group); err != nil {
		return caused(ctx, err)
	}
	defer func() { err = r.job.named(errors.Join(err, r.job.close())) }()
	info, err := nccl.Library()
	if err != nil {
		return err
	}
	r.release = info.Version
	r.team = newTeam(cfg.threads(), r.job)
	r.iterations = make([][]float64, cfg.threads())
	stop := context.AfterFunc(ctx, func() { r.team.fail(context.Cause(ctx)) })
	defer stop()
	if r.out, err = newOutput(&cfg, stdout, r.job.main(), r.release); err != nil {
		return err
	}
	r.progress = newProgress(stderr, &cfg, r.job.main())
	defer r.progress.clear()
	err = caused(ctx, r.execute(ctx))
	return errors.Join(err, r.out.close(err))
}

// caused is the reason why ctx ended, if it did, since what failed afterwards
// failed because of it.
func caused(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// tellHostCheck says that the check is slow, and why.
func (r *run) tellHostCheck() error {
	for _, g := range r.gpus {
		if g.hostCheck != nil {
			return r.out.comment("gofabric: data is made and checked on the host: %v", g.hostCheck)
		}
	}
	return nil
}

// execute is a run between its start and its end.
func (r *run) execute(ctx context.Context) error {
	if err := r.describe(ctx); err != nil {
		return err
	}
	if err := r.setUp(ctx); err != nil {
		return errors.Join(err, r.tearDown(ctx, false))
	}
	if err := errors.Join(r.tellHostCheck(), r.out.tableHeader()); err != nil {
		return errors.Join(err, r.tearDown(ctx, false))
	}
	var all sync.WaitGroup
	for _, w := range r.workers {
		all.Add(1)
		go func() {
			defer all.Done()
			w.work(ctx)
		}()
	}
	if !r.await(ctx, &all) {
		return context.Cause(ctx)
	}
	if err := r.team.failure(); err != nil {
		return errors.Join(err, r.tearDown(ctx, false))
	}
	used, err := r.memory(ctx)
	if err != nil {
		return errors.Join(err, r.tearDown(ctx, false))
	}
	wrong, err := r.total(ctx)
	if err != nil {
		return errors.Join(err, r.tearDown(ctx, false))
	}
	if err := r.tearDown(ctx, true); err != nil {
		return err
	}
	low, err := r.out.limitCheck()
	if err != nil {
		return err
	}
	if err := r.out.footer(wrong, used); err != nil {
		return err
	}
	bandwidth := r.out.average()
	if wrong > 0 || low > 0 || r.job.main() && r.cfg.MinBandwidth != nil && bandwidth < 0.9**r.cfg.MinBandwidth {
		return &ResultError{OutOfBounds: wrong, Bandwidth: bandwidth, Least: r.cfg.MinBandwidth, Low: low}
	}
	return nil
}

// await waits for the threads. When ctx ends they have some time left: one that
// is inside a blocking call of NCCL stays there, and only the end of the process
// ends it. Then the answer is false.
func (r *run) await(ctx context.Context, all *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(endBound / 2)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// total is how many results were wrong on all processes.
func (r *run) total(ctx context.Context) (int, error) {
	own := 0
	for _, w := range r.workers {
		own += w.errors
	}
	all, err := r.job.gather(ctx, []float64{float64(own)})
	if err != nil {
		return 0, err
	}
	return int(combine(all, sum)), nil
}

// fail ends the run everywhere in this process.
func (r *run) fail(err error) {
	r.team.fail(err)
	r.cancel(err)
}

// beat notes that something was done.
func (r *run) beat() { r.beaten.Store(time.Now().UnixNano()) }

// watch ends the run when nothing has been done for the time limit. The function
// returned ends the watching.
func (r *run) watch(ctx context.Context) func() {
	limit := r.cfg.Timeout
	if limit == 0 {
		return func() {}
	}
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		const looks = 20
		ticker := time.NewTicker(limit / looks)
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				if now.UnixNano()-r.beaten.Load() > int64(limit) {
					r.cancel(&TimeoutError{limit})
					return
				}
			case <-ctx.Done():
				return
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-done
	}
}

// gatherIterations gives the greatest times of each process's threads to all.
func (r *run) gatherIterations(ctx context.Context, thread int, own []float64) ([][]float64, error) {
	r.iterations[thread] = own
	generation, err := r.team.meet(meetSpins, func() error {
		most := make([]float64, len(own))
		for _, list := range r.iterations {
			for i, v := range list {
				most[i] = max(most[i], v)
			}
		}
		all, err := r.job.gather(ctx, most)
		if err != nil {
			return err
		}
		var processes [][]float64
		for ; len(all) > 0; all = all[len(most):] {
			processes = append(processes, all[:len(most)])
		}
		r.gathered[r.team.generation.Load()%2] = processes
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.gathered[generation%2], nil
}
