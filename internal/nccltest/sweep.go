package nccltest

import (
	"context"

	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
)

// sweep goes through all types, reductions, roots and sizes.
func (w *worker) sweep(ctx context.Context) error {
	for _, dt := range w.run.types {
		for _, op := range w.operations() {
			for _, root := range w.roots() {
				if err := w.series(ctx, dt, op, root); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// trial describes one half of a row.
func (w *worker) trial(size uint64, dt nccl.DataType, op values.Op, root int) *trial {
	cfg := w.run.cfg
	t := &trial{ranks: w.run.ranks, dt: dt, op: op, root: root, pattern: cfg.pattern, how: how{cfg.Graph, cfg.Register}}
	t.counts = cfg.Tool.collective.counts(cfg.pattern, size/t.element(), t.element(), uint64(t.ranks))
	return t
}

// series warms up and goes through the sizes, -N times.
func (w *worker) series(ctx context.Context, dt nccl.DataType, op values.Op, root int) error {
	cfg := w.run.cfg
	if err := w.run.team.barrier(ctx); err != nil {
		return err
	}
	for size := cfg.MinBytes; size <= cfg.MaxBytes; size *= 2 {
		t := w.trial(size, dt, op, root)
		if cfg.Warmup > 0 {
			if err := w.single.build(ctx, w, t, cfg.Warmup, 1); err != nil {
				return err
			}
		}
		for i := range cfg.Warmup {
			if err := w.issue(ctx, &w.single, i); err != nil {
				return err
			}
		}
		if err := w.finish(ctx); err != nil {
			return err
		}
	}
	var best []how
	if cfg.Auto {
		var err error
		if best, err = w.explore(ctx, dt, op, root); err != nil {
			return err
		}
	}
	for cycle := 0; cfg.Cycles == 0 || cycle < cfg.Cycles; cycle++ {
		i := 0
		for size := cfg.MinBytes; size <= cfg.MaxBytes; size = cfg.next(size) {
			t := w.trial(size, dt, op, root)
			if best != nil {
				t.how = best[i]
			}
			if err := w.row(ctx, t); err != nil {
				return err
			}
			i++
		}
	}
	if cfg.Auto {
		return w.register(ctx, registerNone)
	}
	return nil
}

// row times one size out of place and in place, and prints it.
func (w *worker) row(ctx context.Context, t *trial) error {
	cfg := w.run.cfg
	if w.main() {
		w.run.progress.size(t)
		collect()
	}
	if cfg.Auto {
		if err := w.register(ctx, t.how.register); err != nil {
			return err
		}
	}
	row := row{trial: t}
	var err error
	for half := range row.halves {
		this := *t
		this.inPlace = half == 1
		if row.halves[half], err = w.measure(ctx, &this, cfg.Checks); err != nil {
			return err
		}
	}
	if !w.main() {
		return nil
	}
	w.run.progress.clear()
	return w.run.out.row(&row)
}

// register registers the buffers of all GPUs of the thread.
func (w *worker) register(ctx context.Context, kind int) error {
	return w.each(func(r *rank) error { return r.registerBuffers(ctx, kind, w.run.cfg.MaxBytes) })
}
