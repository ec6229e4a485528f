package connsuite

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

var cancelCases = []Case{
	{"CancelledCalls", cancelledCalls},
	{"CancelledSendSendsNothing", cancelledSend},
	{"CancelledRecvLosesNothing", cancelledRecv},
	{"CancelledReadKeepsTheBuffer", cancelledRead},
}

func cancelledCalls(r *Rig) {
	a, _ := r.pair(rdmacm.ConnOptions{})
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	require.ErrorIs(r, a.Send(ctx, []byte("x")), context.Canceled)
	_, err := a.Recv(ctx)
	require.ErrorIs(r, err, context.Canceled)
	_, err = a.Region(ctx, "none")
	require.ErrorIs(r, err, context.Canceled)
	buf, err := r.A.Buffer(5)
	require.NoError(r, err)
	require.ErrorIs(r, a.SendBuffer(ctx, buf), context.Canceled)
	buf.Release()
	require.Zero(r, a.Stats().Sent)
	require.NoError(r, a.Err())
}

// cancelledSend lets sends of many goroutines time out at a full window: exactly
// those that succeeded arrive.
func cancelledSend(r *Rig) {
	const window, tries = 4, 20
	a, b := r.pair(rdmacm.ConnOptions{Window: window})
	results := make(chan byte, tries)
	for i := range tries {
		go func() {
			if a.Send(r.soon(), []byte{byte(i + 1)}) == nil {
				results <- byte(i + 1)
				return
			}
			results <- 0
		}()
	}
	sent := map[byte]bool{}
	for range tries {
		if id := <-results; id != 0 {
			sent[id] = true
		}
	}
	require.LessOrEqual(r, len(sent), window)
	for range len(sent) {
		m, err := b.Recv(r.ctx)
		require.NoError(r, err)
		require.True(r, sent[m.Bytes()[0]], "it was cancelled")
		delete(sent, m.Bytes()[0])
		m.Release()
	}
	_, err := b.Recv(r.soon())
	require.ErrorIs(r, err, context.DeadlineExceeded)
	r.send(a, []byte("again"))
	r.gets(b, []byte("again"))
}

func cancelledRecv(r *Rig) {
	const rounds = 300
	a, b := r.pair(rdmacm.ConnOptions{})
	go func() {
		for i := range rounds {
			if a.Send(r.ctx, []byte{byte(i), byte(i >> 8)}) != nil {
				return
			}
		}
	}()
	for i := 0; i < rounds; {
		ctx, cancel := context.WithTimeout(r.ctx, 200*time.Microsecond)
		m, err := b.Recv(ctx)
		cancel()
		if err != nil {
			require.ErrorIs(r, err, context.DeadlineExceeded)
			continue
		}
		require.Equal(r, []byte{byte(i), byte(i >> 8)}, m.Bytes())
		m.Release()
		i++
	}
}

// cancelledRead leaves reads that are under way: their buffers are the adapter's
// until they have ended, and then go where they should.
func cancelledRead(r *Rig) {
	const size = 1 << 20
	a, b := r.pair(rdmacm.ConnOptions{Ops: 8})
	mr := r.memory(r.B, size, verbs.AccessLocalWrite|verbs.AccessRemoteRead)
	_, err := b.Advertise(r.ctx, "m", mr, 0, size, rdmacm.RegionRead)
	require.NoError(r, err)
	remote, err := a.Region(r.ctx, "m")
	require.NoError(r, err)
	left := 0
	for i := range 20 {
		buf, err := r.A.Buffer(size)
		require.NoError(r, err)
		ctx, cancel := context.WithTimeout(r.ctx, time.Duration(i*50)*time.Microsecond)
		err = a.ReadBuffer(ctx, remote, 0, buf)
		cancel()
		if err != nil {
			require.ErrorIs(r, err, context.DeadlineExceeded)
			left++
			if a.Stats().InFlight > 0 && i%2 == 0 {
				// It may end at any moment, so both answers are right.
				if err := a.SendBuffer(r.soon(), buf); err == nil {
					m, err := b.Recv(r.ctx)
					require.NoError(r, err)
					m.Release()
				} else if ctx := r.ctx.Err(); ctx == nil {
					require.True(r, isAny(err, rdmacm.ErrBufferInUse, context.DeadlineExceeded), "%v", err)
				}
			}
		}
		buf.Release()
	}
	require.Positive(r, left)
	p := make([]byte, size)
	require.NoError(r, a.Read(r.ctx, remote, 0, p))
	r.same(mr.Bytes(), p)
	require.NoError(r, a.CloseWrite(r.ctx))
	r.eventually(func() bool { return r.A.Stats().BuffersInUse == 0 }, "every buffer comes back")
}
