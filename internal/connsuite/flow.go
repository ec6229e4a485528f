package connsuite

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

var flowCases = []Case{
	{"FullWindowWaits", fullWindow},
	{"EveryWindow", everyWindow},
	{"LargeMessagesWaitForRoom", largeWait},
	{"LargeBuffersGrow", largeGrow},
	{"StatsCount", statsCount},
	{"OptionsAreChecked", optionsChecked},
}

// fullWindow fills the peer's window: the next Send waits until its context ends,
// has sent nothing, and can be done again once the peer has taken one.
func fullWindow(r *Rig) {
	const window, large = 6, 2
	for _, c := range []struct{ n, fit int }{
		{10, window},
		{1000, 2 * large}, // some written, as many offered
	} {
		a, b := r.pair(rdmacm.ConnOptions{Window: window, BufferSize: 256, Large: large})
		n, sent := c.n, c.fit
		for i := range sent {
			p := make([]byte, n)
			p[0] = byte(i)
			r.send(a, p)
		}
		err := a.Send(r.soon(), make([]byte, n))
		require.ErrorIs(r, err, context.DeadlineExceeded)
		var timeout interface{ Timeout() bool }
		require.ErrorAs(r, err, &timeout)
		require.True(r, timeout.Timeout())
		for i := range sent {
			m, err := b.Recv(r.ctx)
			require.NoError(r, err)
			require.Equal(r, byte(i), m.Bytes()[0])
			m.Release()
		}
		p := make([]byte, n)
		p[0] = 77
		r.send(a, p)
		r.gets(b, p)
	}
}

// everyWindow sends many more messages than any window has room for, one way, so
// that credits must come back by themselves.
func everyWindow(r *Rig) {
	for _, window := range []int{1, 2, 3, 4, 5, 7, 64, 200} {
		a, b := r.pair(rdmacm.ConnOptions{Window: window, BufferSize: 256, Large: 1})
		errs := make(chan error, 1)
		const rounds = 300
		go func() {
			for i := range rounds {
				if err := a.Send(r.ctx, []byte{byte(i), byte(i >> 8)}); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
		for i := range rounds {
			r.gets(b, []byte{byte(i), byte(i >> 8)})
		}
		require.NoError(r, <-errs)
		require.NoError(r, a.Abort())
		require.NoError(r, b.Abort())
	}
}

// largeWait holds as many large messages as there are buffers: the next one comes
// when one is released.
func largeWait(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{BufferSize: 256, Large: 2})
	var want [][]byte
	for range 3 {
		p := r.random(1000)
		want = append(want, p)
		r.send(a, p)
	}
	first, err := b.Recv(r.ctx)
	require.NoError(r, err)
	second, err := b.Recv(r.ctx)
	require.NoError(r, err)
	_, err = b.Recv(r.soon())
	require.ErrorIs(r, err, context.DeadlineExceeded, "there is no buffer")
	r.same(want[0], first.Bytes())
	second.Release()
	r.gets(b, want[2])
	r.same(want[0], first.Bytes())
	first.Release()
}

func largeGrow(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{BufferSize: 256, Large: 1})
	for _, n := range []int{300, 5000, 300, 70000, 300, 1 << 20} {
		p := r.random(n)
		r.send(a, p)
		r.gets(b, p)
	}
}

func statsCount(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{Window: 4})
	r.send(a, make([]byte, 10))
	r.send(a, make([]byte, 20))
	r.eventually(func() bool { return b.Stats().Queued == 2 }, "both arrive")
	m, err := b.Recv(r.ctx)
	require.NoError(r, err)
	sa, sb := a.Stats(), b.Stats()
	require.EqualValues(r, 2, sa.Sent)
	require.EqualValues(r, 30, sa.SentBytes)
	require.Equal(r, 2, sa.Credits)
	require.EqualValues(r, 1, sb.Received)
	require.EqualValues(r, 10, sb.ReceivedBytes)
	require.Equal(r, 1, sb.Queued)
	require.Equal(r, 1, sb.Unreleased)
	m.Release()
	require.Zero(r, b.Stats().Unreleased)
	require.Equal(r, 1, r.A.Stats().Conns)
	require.Positive(r, r.B.Stats().Completions)
}

func optionsChecked(r *Rig) {
	for _, o := range []rdmacm.ConnOptions{
		{Window: -1}, {Window: 1 << 20}, {BufferSize: 10}, {MaxMessage: -1}, {Large: -1}, {Large: 1000}, {Ops: -1}, {Linger: -1},
	} {
		_, err := r.A.Prepare(o)
		require.Error(r, err, "%+v", o)
	}
	_, err := rdmacm.NewHub(r.A.Device(), rdmacm.HubOptions{CQDepth: -1})
	require.Error(r, err)
	p, err := r.A.Prepare(rdmacm.ConnOptions{})
	require.NoError(r, err)
	require.ErrorIs(r, r.A.Close(), verbs.ErrBusy)
	require.NoError(r, p.Close())
	require.NoError(r, p.Close())
}
