//go:build linux && cgo

package rdmacm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// BenchmarkConn moves messages one way on the in-process device, which copies the
// bytes and imitates no adapter: what is left is the connection's own cost.
func BenchmarkConn(b *testing.B) {
	for _, size := range []int{64, 4 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			x, y := loopPair(b, rdmacm.ConnOptions{})
			ctx := context.Background()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			failed := make(chan error, 1)
			b.ResetTimer()
			go func() {
				for range b.N {
					m, err := y.Recv(ctx)
					if err != nil {
						failed <- err
						return
					}
					m.Release()
				}
				failed <- nil
			}()
			for range b.N {
				buf, err := x.Hub().Buffer(size)
				require.NoError(b, err)
				require.NoError(b, x.SendBuffer(ctx, buf))
			}
			require.NoError(b, <-failed)
		})
	}
}

// BenchmarkConnRoundTrip sends a message there and back.
func BenchmarkConnRoundTrip(b *testing.B) {
	x, y := loopPair(b, rdmacm.ConnOptions{})
	ctx := context.Background()
	go func() {
		for {
			m, err := y.Recv(ctx)
			if err != nil {
				return
			}
			err = y.Send(ctx, m.Bytes())
			m.Release()
			if err != nil {
				return
			}
		}
	}()
	p := make([]byte, 64)
	b.ReportAllocs()
	for range b.N {
		require.NoError(b, x.Send(ctx, p))
		m, err := x.Recv(ctx)
		require.NoError(b, err)
		m.Release()
	}
}
