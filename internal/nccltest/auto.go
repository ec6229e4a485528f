package nccltest

import (
	"context"
	"fmt"

	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
)

// ways are what --mode auto tries. Those with a graph launch it often enough that
// one launch does not count.
const autoLaunches = 20

var ways = []how{
	{0, registerNone},
	{autoLaunches, registerNone},
	{0, registerLocal},
	{0, registerSymmetric},
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

// explore times each size out of place in each way that the library has, without
// a check, and returns the fastest way of each size. The buffers are registered
// once for all sizes, since that takes long.
func (w *worker) explore(ctx context.Context, dt nccl.DataType, op values.Op, root int) ([]how, error) {
	cfg := w.run.cfg
	best := make([]how, cfg.sizes())
	least := make([]float64, len(best))
	for _, way := range w.run.ways {
		if err := w.register(ctx, way.register); err != nil {
			return nil, fmt.Errorf("--mode auto, %v: %w", way, err)
		}
		i := 0
		for size := cfg.MinBytes; size <= cfg.MaxBytes; size = cfg.next(size) {
			t := w.trial(size, dt, op, root)
			t.how = way
			m, err := w.measure(ctx, t, 0)
			if err != nil {
				return nil, fmt.Errorf("--mode auto, %v: %w", way, err)
			}
			// All must choose the same, also where -a gives each process its own.
			slowest, _, err := w.run.team.reduce(ctx, w.thread, m.seconds, AverageMax)
			if err != nil {
				return nil, err
			}
			if least[i] == 0 || slowest < least[i] {
				best[i], least[i] = way, slowest
			}
			i++
		}
	}
	return best, nil
}
