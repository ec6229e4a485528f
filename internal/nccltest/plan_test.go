//go:build linux && cgo

package nccltest

import (
	"bytes"
	"context"
	"testing"

	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ready sets a run up, without its threads.
func ready(t *testing.T, cfg Config) *worker {
	t.Helper()
	fakes(t)
	info, err := nccl.Library()
	require.NoError(t, err)
	r := &run{cfg: &cfg, job: alone(t), release: info.Version, cancel: func(error) {}}
	r.team = newTeam(cfg.threads(), r.job)
	r.out, err = newOutput(&cfg, &bytes.Buffer{}, true, r.release)
	require.NoError(t, err)
	require.NoError(t, r.describe(context.Background()))
	require.NoError(t, r.setUp(context.Background()))
	t.Cleanup(func() {
		for _, w := range r.workers {
			assert.NoError(t, w.single.close())
			assert.NoError(t, w.timed.close())
		}
		assert.NoError(t, r.tearDown(context.Background(), true))
	})
	return r.workers[0]
}

// TestTimedPartAllocatesNothing runs steps of a plan and waits for them.
func TestTimedPartAllocatesNothing(t *testing.T) {
	for _, tool := range Tools() {
		w := ready(t, parse(t, tool, "-g 2 -b 8 -e 8K -c 0"))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		require.NoError(t, w.timed.build(ctx, w, w.trial(1024, nccl.Float32, values.Sum, 0), 20, 1))
		var failed error
		allocations := testing.AllocsPerRun(50, func() {
			for i := range 4 {
				if err := w.issue(ctx, &w.timed, i); err != nil {
					failed = err
				}
			}
			if err := w.finish(ctx); err != nil {
				failed = err
			}
		})
		require.NoError(t, failed)
		assert.Zero(t, allocations, tool.Name)
		require.NoError(t, w.timed.chunk(20))
		assert.Equal(t, tool.collective.stages == nil, len(w.timed.chunks) > 0)
		allocations = testing.AllocsPerRun(20, func() {
			if err := w.timed.runAll(ctx, 20); err != nil {
				failed = err
			}
			if err := w.finish(ctx); err != nil {
				failed = err
			}
		})
		require.NoError(t, failed)
		assert.Zero(t, allocations, tool.Name)
	}
}

// TestOperationsMoveThroughTheBuffer: the offset grows by a size with each
// operation and begins again at the buffer's end.
func TestOperationsMoveThroughTheBuffer(t *testing.T) {
	w := ready(t, parse(t, AllReduce, "-g 2 -b 8 -e 4000 -c 0"))
	ctx := context.Background()
	for _, c := range []struct{ size, iterations, operations, steps int }{
		{1000, 20, 1, 4}, {1000, 3, 1, 3}, {1000, 20, 2, 2}, {1000, 20, 3, 4}, {4000, 20, 1, 1}, {3000, 20, 5, 1}, {8, 20, 1, 20},
	} {
		require.NoError(t, w.timed.build(ctx, w, w.trial(uint64(c.size), nccl.Float32, values.Sum, -1), c.iterations, c.operations))
		assert.Len(t, w.timed.steps, c.steps, "%+v", c)
		assert.Equal(t, 2*c.operations, w.timed.steps[0].groups[0].Len())
	}
}
