//go:build linux && cgo

package nccl

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
)

// TestSequenceIssuesItsGroupsInOrder doubles a number in each of several groups:
// the sum over two ranks, in place.
func TestSequenceIssuesItsGroupsInOrder(t *testing.T) {
	for _, blocking := range []bool{true, false} {
		t.Run(blockingName(blocking), func(t *testing.T) {
			r := newRig(t, 2, Config{Blocking: blocking})
			const n = 16
			g, empty := NewGroup(), NewGroup()
			var spans []cuda.Span
			for i, c := range r.comms {
				b := r.alloc(i, elements(t, Int32, n, func(int) float64 { return 1 })).Span()
				spans = append(spans, b)
				require.NoError(t, g.AllReduce(c, b, b, n, Int32, Sum, r.streams[i]))
			}
			s, err := NewSequence(g, empty, g, g)
			require.NoError(t, err)
			require.NoError(t, s.Run(r.ctx))
			require.NoError(t, s.Run(r.ctx))
			r.wait()
			want := elements(t, Int32, n, func(int) float64 { return 64 })
			for i, b := range spans {
				assert.Equal(t, want, r.read(i, b))
			}
			var failed error
			assert.Zero(t, testing.AllocsPerRun(20, func() {
				if err := s.Run(r.ctx); err != nil {
					failed = err
				}
			}))
			require.NoError(t, failed)
			r.wait()
			require.NoError(t, s.Close())
			require.NoError(t, s.Close())
			assert.ErrorIs(t, s.Run(r.ctx), ErrClosed)
			require.NoError(t, g.Close())
			require.NoError(t, empty.Close())
		})
	}
}

// TestSequenceStopsAtAFailure leaves the groups before it in the stream.
func TestSequenceStopsAtAFailure(t *testing.T) {
	r := newRig(t, 1, Config{Blocking: true})
	control := fakes(t)
	b := r.alloc(0, elements(t, Int32, 1, func(int) float64 { return 1 })).Span()
	g := NewGroup()
	require.NoError(t, g.AllReduce(r.comms[0], b, b, 1, Int32, Sum, r.streams[0]))
	s, err := NewSequence(g, g, g)
	require.NoError(t, err)
	require.NoError(t, control.Fail("ncclAllReduce", int(ResultInvalidArgument), 1, 1))
	err = s.Run(r.ctx)
	var group *GroupError
	require.ErrorAs(t, err, &group)
	assert.ErrorIs(t, err, ResultInvalidArgument)
	require.NoError(t, s.Run(r.ctx))

	canceled, cancel := context.WithCancel(r.ctx)
	cancel()
	assert.ErrorIs(t, s.Run(canceled), context.Canceled)
	_, err = NewSequence(g, nil)
	assert.ErrorIs(t, err, ResultInvalidArgument)
	r.wait()
	require.NoError(t, s.Close())
	require.NoError(t, g.Close())
}
