//go:build linux && cgo

package cuda_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cudahook"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCloseBesideUse closes objects that others are using, each together with
// another: nothing may hang, and nothing but ErrClosed may come of it.
func TestCloseBesideUse(t *testing.T) {
	d := openGPU(t, 0)
	for range 40 {
		s, joined := newStream(t, d), newStream(t, d)
		a, b := newEvent(t, d), newEvent(t, d)
		require.NoError(t, a.Record(s))
		require.NoError(t, b.Record(s))
		o := newOwner(t, d)
		calls := []func() error{
			func() error { return a.Record(s) },
			func() error { return joined.WaitEvent(a) },
			func() error { return s.WaitEvent(b) },
			func() error { return b.Record(joined) },
			func() error { _, err := a.Elapsed(b); return ready(err) },
			func() error { _, err := b.Elapsed(a); return ready(err) },
			func() error { return s.Synchronize(patiently(t)) },
			func() error { return b.Synchronize(patiently(t)) },
			func() error {
				if err := o.obj.Use(); err != nil {
					return err
				}
				defer o.obj.Done()
				return cudahook.HoldCapture(s, &o.obj)
			},
		}
		var users, closers sync.WaitGroup
		for _, call := range calls {
			users.Add(1)
			go func() {
				defer users.Done()
				for {
					if err := call(); err != nil {
						assert.ErrorIs(t, err, cuda.ErrClosed)
						return
					}
					runtime.Gosched()
				}
			}()
		}
		for _, c := range []interface{ CloseAll() error }{a, s, o, b, joined} {
			closers.Add(1)
			go func() {
				defer closers.Done()
				assert.NoError(t, c.CloseAll())
			}()
		}
		closers.Wait()
		users.Wait()
	}
}

func ready(err error) error {
	if errors.Is(err, cuda.ErrorNotReady) {
		return nil
	}
	return err
}

// TestCaptureEndsOnce ends a capture from several sides at once.
func TestCaptureEndsOnce(t *testing.T) {
	d := openGPU(t, 0)
	buf := alloc(t, d, 64)
	for range 40 {
		s := newStream(t, d)
		a, b := newOwner(t, d), newOwner(t, d)
		require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed))
		require.NoError(t, s.Fill8(buf.Span(), 1))
		a.issue(t, s)
		b.issue(t, s)
		var wg sync.WaitGroup
		var g *cuda.Graph
		run := func(f func()) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				f()
			}()
		}
		run(func() {
			var err error
			if g, err = s.EndCapture(); err != nil {
				assert.ErrorIs(t, err, cuda.ErrorIllegalState)
			}
		})
		for _, o := range []*owner{a, b} {
			run(func() {
				if err := o.CloseAll(); err != nil {
					assert.ErrorIs(t, err, cuda.ErrBusy, "the graph came first")
				}
			})
		}
		wg.Wait()
		require.NoError(t, g.Close())
		require.NoError(t, a.CloseAll())
		require.NoError(t, b.CloseAll())
		require.NoError(t, s.Close())
	}
}
