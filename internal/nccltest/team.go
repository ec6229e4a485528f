package nccltest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// How long a thread spins for the others before it parks: waking a parked thread
// takes tens of microseconds, which the timed part would count. align spins much
// longer, since nobody is far when it is called.
const (
	meetSpins  = 1 << 13
	alignSpins = 1 << 21
)

// team is the threads of this process, which meet where the C tool has its
// barriers. When one fails, none waits any more.
type team struct {
	size int
	// spin: there are processors enough for all threads to spin.
	spin bool
	job  *job

	arrived    atomic.Int32
	generation atomic.Uint32
	failed     atomic.Bool

	mu   sync.Mutex
	cond *sync.Cond
	err  error

	// own are the threads' numbers, all those of all processes, result what
	// they make; by generation, since a thread may be one ahead.
	own    []float64
	all    [2][]float64
	result [2]float64
}

func newTeam(size int, j *job) *team {
	t := &team{size: size, job: j, own: make([]float64, size), spin: runtime.GOMAXPROCS(0) > size}
	t.cond = sync.NewCond(&t.mu)
	return t
}

// fail ends all waiting, now and later, with the first error.
func (t *team) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	t.failed.Store(true)
	t.cond.Broadcast()
}

func (t *team) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// meet waits for all threads. The last to come runs last before they go on.
func (t *team) meet(spins int, last func() error) (generation uint32, err error) {
	if t.failed.Load() {
		return 0, t.failure()
	}
	generation = t.generation.Load()
	if int(t.arrived.Add(1)) < t.size {
		return generation, t.await(generation, spins)
	}
	if last != nil {
		if err := last(); err != nil {
			t.fail(err)
			return generation, err
		}
	}
	t.arrived.Store(0)
	t.mu.Lock()
	t.generation.Add(1)
	t.cond.Broadcast()
	t.mu.Unlock()
	return generation, nil
}

func (t *team) await(generation uint32, spins int) error {
	if t.spin {
		for range spins {
			if t.generation.Load() != generation {
				return nil
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.generation.Load() == generation {
		if t.err != nil {
			return t.err
		}
		t.cond.Wait()
	}
	return nil
}

// barrier waits for all threads of all processes.
func (t *team) barrier(ctx context.Context) error {
	_, err := t.meet(meetSpins, func() error { return t.job.barrier(ctx) })
	return err
}

// align is barrier, and lets the threads of this process go at the same moment.
func (t *team) align(ctx context.Context) error {
	if err := t.barrier(ctx); err != nil {
		return err
	}
	_, err := t.meet(alignSpins, nil)
	return err
}

// reduce makes one number of those of all threads of all processes, which all
// get. AverageRank0 does not ask the other processes, as in the C tool.
func (t *team) reduce(ctx context.Context, thread int, v float64, how Average) (float64, []float64, error) {
	t.own[thread] = v
	generation, err := t.meet(meetSpins, func() error {
		half := t.generation.Load() % 2
		list := append([]float64(nil), t.own...)
		if how != AverageRank0 {
			var err error
			if list, err = t.job.gather(ctx, list); err != nil {
				return err
			}
		}
		t.all[half], t.result[half] = list, combine(list, how)
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	return t.result[generation%2], t.all[generation%2], nil
}
