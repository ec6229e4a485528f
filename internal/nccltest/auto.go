package nccltest

import (
	"context"
	"fmt"
)

// ways are what --mode auto tries. Those with a graph launch it often enough that
// one launch does not count.
const autoLaunches = 20

var ways = []how{
	{0, registerNone},
	{0, registerLocal},
	{0, registerSymmetric},
	{autoLaunches, registerNone},
	{autoLaunches, registerSymmetric},
}

// String is the name of a way in the table.
func (h how) String() string {
	names := map[int]string{registerNone: "eager", registerLocal: "registered", registerSymmetric: "symmetric"}
	if h.graph == 0 {
		return names[h.register]
	}
	if h.register == registerNone {
		return "graph"
	}
	return names[h.register] + "+graph"
}

// fastest times a trial out of place in each way that the library has, without a
// check, and leaves the buffers registered for the fastest.
func (w *worker) fastest(ctx context.Context, t *trial) (how, error) {
	var (
		best how
		time float64
	)
	for _, way := range w.run.ways {
		if err := w.register(ctx, way.register); err != nil {
			return best, fmt.Errorf("--mode auto, %v: %w", way, err)
		}
		this := *t
		this.how = way
		m, err := w.measure(ctx, &this, 0)
		if err != nil {
			return best, fmt.Errorf("--mode auto, %v: %w", way, err)
		}
		// All must choose the same, also where -a gives each process its own.
		slowest, _, err := w.run.team.reduce(ctx, w.thread, m.seconds, AverageMax)
		if err != nil {
			return best, err
		}
		if time == 0 || slowest < time {
			best, time = way, slowest
		}
	}
	return best, w.register(ctx, best.register)
}
