//go:build linux && cgo

package nccl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Enqueueing allocates nothing, alone or as a group, blocking or not.
func TestEnqueueAllocatesNothing(t *testing.T) {
	for _, blocking := range []bool{true, false} {
		t.Run(blockingName(blocking), func(t *testing.T) {
			r := newBench(t, 1)
			r.comms = nil
			comms, err := InitAll(r.ctx, r.devs[:1], Config{Blocking: blocking})
			require.NoError(t, err)
			c, s := comms[0], r.streams[0]
			b := r.alloc(0, make([]byte, 64)).Span()
			g := NewGroup()
			require.NoError(t, g.AllReduce(c, b, b, 16, Float32, Sum, s))
			require.NoError(t, g.AllReduce(c, b, b, 8, Float32, Max, s))
			for name, call := range map[string]func() error{
				"AllReduce": func() error { return c.AllReduce(r.ctx, b, b, 16, Float32, Sum, s) },
				"Broadcast": func() error { return c.Broadcast(r.ctx, b, b, 16, Float32, 0, s) },
				"Group.Run": func() error { return g.Run(r.ctx) },
			} {
				var failed error
				allocations := testing.AllocsPerRun(100, func() {
					if err := call(); err != nil {
						failed = err
					}
				})
				require.NoError(t, failed)
				assert.Zero(t, allocations, name)
			}
			require.NoError(t, g.Close())
			require.NoError(t, c.Wait(r.ctx, s))
			require.NoError(t, c.Close(r.ctx))
		})
	}
}

func BenchmarkAllReduce(b *testing.B) {
	for _, blocking := range []bool{true, false} {
		b.Run(blockingName(blocking), func(b *testing.B) {
			r := newBench(b, 1)
			comms, err := InitAll(r.ctx, r.devs[:1], Config{Blocking: blocking})
			require.NoError(b, err)
			c, s := comms[0], r.streams[0]
			buf := r.alloc(0, make([]byte, 64)).Span()
			b.ReportAllocs()
			for b.Loop() {
				if err := c.AllReduce(r.ctx, buf, buf, 2, Float32, Sum, s); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, c.Wait(r.ctx, s))
			require.NoError(b, c.Close(r.ctx))
		})
	}
}
