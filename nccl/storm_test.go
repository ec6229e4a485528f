//go:build linux && cgo

package nccl

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/stretchr/testify/require"
)

// Everything at once, from many goroutines, and an abort into it: every call
// returns, nothing panics, nothing is left, and a new communicator works.
func TestStormOfCallsAndAnAbort(t *testing.T) {
	for _, blocking := range []bool{false, true} {
		r := newBench(t, 2)
		for range 3 {
			r.storm(Config{Blocking: blocking})
		}
		r.init(Config{Blocking: blocking})
		r.sumOnce()
	}
}

func (r *rig) storm(cfg Config) {
	comms, err := InitAll(r.ctx, r.devs, cfg)
	require.NoError(r.t, err)
	r.comms = comms
	bufs := make([]cuda.Span, len(comms))
	for i := range comms {
		bufs[i] = r.alloc(i, make([]byte, 4096)).Span()
	}
	calls := []func(ctx context.Context) error{
		func(ctx context.Context) error {
			g := NewGroup()
			defer g.Close()
			for i, c := range comms {
				if err := g.AllReduce(c, bufs[i], bufs[i], 16, Float32, Sum, r.streams[i]); err != nil {
					return err
				}
			}
			return g.Run(ctx)
		},
		func(context.Context) error { return comms[0].AsyncError() },
		func(ctx context.Context) error { return comms[1].Wait(ctx, r.streams[1]) },
		func(ctx context.Context) error {
			reg, err := comms[0].Register(ctx, bufs[0])
			if err != nil {
				return err
			}
			return reg.Close()
		},
		func(ctx context.Context) error {
			op, err := comms[1].CreatePreMulSum(ctx, Float32, 2)
			if err != nil {
				return err
			}
			return op.Close()
		},
		func(ctx context.Context) error {
			g := NewGroup()
			defer g.Close()
			if err := g.Send(comms[0], bufs[0], 16, Float32, 1, r.streams[0]); err != nil {
				return err
			}
			if err := g.Recv(comms[1], bufs[1], 16, Float32, 0, r.streams[1]); err != nil {
				return err
			}
			return g.Run(ctx)
		},
	}
	var all sync.WaitGroup
	ended := make(chan struct{})
	for _, call := range calls {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				select {
				case <-ended:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
				_ = call(ctx) // each ends, one way or the other
				cancel()
			}
		}()
	}
	time.Sleep(30 * time.Millisecond)
	require.NoError(r.t, AbortAll(r.ctx, comms...))
	close(ended)
	all.Wait()
	for _, c := range comms {
		require.ErrorIs(r.t, c.AsyncError(), ErrAborted)
	}
}
