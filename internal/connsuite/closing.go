package connsuite

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

var closeCases = []Case{
	{"EndComesAfterTheLastMessage", endAfterLast},
	{"HalfClosed", halfClosed},
	{"CloseDrainsBothWays", closeDrains},
	{"CloseOfBothAtOnce", closeBoth},
	{"CloseTwice", closeTwice},
	{"CloseWithWaiters", closeWithWaiters},
	{"ClosePeerDoesNotClose", peerDoesNotClose},
	{"CloseWithLargeMessagesUnderWay", closeLarge},
	{"AbortEndsAClose", abortEndsClose},
	{"ShutdownDoesNotWaitForAnother", shutdownOfTwo},
	{"CallsAfterTheEnd", callsAfterEnd},
	{"HubCloseAll", hubCloseAll},
	{"HubInUseGoesOn", hubInUse},
	{"OpenedAndClosedOften", openedOften},
}

// atEnd checks that nothing more comes, however often one asks.
func (r *Rig) atEnd(c *rdmacm.Conn) {
	r.Helper()
	for range 3 {
		_, err := c.Recv(r.ctx)
		require.Equal(r, io.EOF, err)
	}
}

func endAfterLast(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{BufferSize: 256})
	p := r.random(100000)
	closed := make(chan error, 1)
	go func() {
		for i := range 10 {
			assert.NoError(r, a.Send(r.ctx, p[:i*10000]))
		}
		closed <- a.Close()
	}()
	for i := range 10 {
		r.gets(b, p[:i*10000])
	}
	r.atEnd(b)
	require.NoError(r, b.Close())
	require.NoError(r, <-closed)
	require.ErrorIs(r, a.Send(r.ctx, p), verbs.ErrClosed)
	_, err := a.Recv(r.ctx)
	require.ErrorIs(r, err, io.EOF)
	require.ErrorIs(r, a.Err(), verbs.ErrClosed)
}

func halfClosed(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	require.NoError(r, a.CloseWrite(r.ctx))
	require.NoError(r, a.CloseWrite(r.ctx))
	require.ErrorIs(r, a.Send(r.ctx, nil), verbs.ErrClosed)
	r.atEnd(b)
	for i := range 200 {
		r.send(b, []byte{byte(i)})
		r.gets(a, []byte{byte(i)})
	}
	require.NoError(r, b.CloseWrite(r.ctx))
	r.atEnd(a)
	require.NoError(r, a.Close())
	require.NoError(r, b.Close())
}

// closeDrains closes while the peer sends: its sends go through until it has seen
// the end.
func closeDrains(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{Window: 4, Linger: patience})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i := range 500 {
			if !assert.NoError(r, b.Send(r.ctx, make([]byte, i))) {
				return
			}
		}
		_, err := b.Recv(r.ctx)
		assert.Equal(r, io.EOF, err)
		assert.NoError(r, b.Close())
	}()
	require.NoError(r, a.Close())
	wg.Wait()
}

func closeBoth(r *Rig) {
	for range 10 {
		a, b := r.pair(rdmacm.ConnOptions{Linger: patience})
		r.send(a, []byte("unread"))
		r.send(b, []byte("unread"))
		errs := make(chan error, 2)
		for _, c := range []*rdmacm.Conn{a, b} {
			go func() { errs <- c.Close() }()
		}
		require.NoError(r, <-errs)
		require.NoError(r, <-errs)
	}
}

func closeTwice(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	errs := make(chan error, 4)
	for range 2 {
		go func() { errs <- a.Close() }()
		go func() { errs <- b.Close() }()
	}
	for range 4 {
		require.NoError(r, <-errs)
	}
	require.NoError(r, a.Close())
	require.NoError(r, a.Abort())
}

func closeWithWaiters(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{Window: 1})
	r.send(a, nil)
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(3)
		go func() {
			defer wg.Done()
			_, err := a.Recv(r.ctx)
			assert.ErrorIs(r, err, verbs.ErrClosed)
		}()
		go func() {
			defer wg.Done()
			assert.ErrorIs(r, a.Send(r.ctx, nil), verbs.ErrClosed)
		}()
		go func() {
			defer wg.Done()
			_, err := a.Region(r.ctx, "none")
			assert.ErrorIs(r, err, verbs.ErrClosed)
		}()
	}
	time.Sleep(5 * time.Millisecond) // let some of them wait
	require.NoError(r, a.Abort())
	wg.Wait()
	m, err := b.Recv(r.ctx)
	require.NoError(r, err, "what came before can be received")
	m.Release()
	_, err = b.Recv(r.ctx)
	require.ErrorIs(r, err, rdmacm.ErrPeerAborted)
}

func peerDoesNotClose(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{Linger: 20 * time.Millisecond})
	r.send(a, []byte("last"))
	require.ErrorIs(r, a.Close(), context.DeadlineExceeded)
	r.gets(b, []byte("last"))
	r.atEnd(b)
}

// closeLarge ends connections in the midst of messages that RDMA writes carry.
func closeLarge(r *Rig) {
	for range 5 {
		a, b := r.pair(rdmacm.ConnOptions{BufferSize: 256, Large: 3})
		for range 3 {
			r.send(a, make([]byte, 3<<20))
		}
		require.NoError(r, b.Abort())
		require.NoError(r, a.Abort())
	}
}

// abortEndsClose: whoever aborts does not wait for one who closes patiently.
func abortEndsClose(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	closed := make(chan error, 1)
	go func() { closed <- a.Shutdown(r.ctx) }()
	r.atEnd(b) // a waits for b's end now
	require.NoError(r, a.Abort())
	require.ErrorIs(r, <-closed, verbs.ErrClosed)
	<-b.Done()
	require.ErrorIs(r, b.Err(), rdmacm.ErrPeerAborted)
}

func shutdownOfTwo(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	closed := make(chan error, 1)
	go func() { closed <- a.Shutdown(r.ctx) }()
	r.atEnd(b)
	require.NoError(r, a.Shutdown(r.soon()), "the connection is closed")
	require.ErrorIs(r, <-closed, verbs.ErrClosed)
}

// callsAfterEnd: a connection that ended with requests under way stays as it is,
// whatever it is asked.
func callsAfterEnd(r *Rig) {
	mr, err := r.B.PD().AllocMR(1<<20, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteRead})
	require.NoError(r, err)
	for range 20 {
		a, b := r.pair(rdmacm.ConnOptions{})
		_, err := b.Advertise(r.ctx, "memory", mr, 0, mr.Len(), rdmacm.RegionRead)
		require.NoError(r, err)
		region, err := a.Region(r.ctx, "memory")
		require.NoError(r, err)
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(2)
			go func() {
				defer wg.Done()
				for a.Read(r.ctx, region, 0, make([]byte, mr.Len())) == nil {
				}
			}()
			go func() {
				defer wg.Done()
				for a.Send(r.ctx, []byte("message")) == nil {
				}
			}()
		}
		time.Sleep(time.Millisecond) // let some of it get under way
		require.NoError(r, a.Abort())
		wg.Wait()
		require.ErrorIs(r, a.Send(r.ctx, nil), verbs.ErrClosed)
		require.ErrorIs(r, a.CloseWrite(r.ctx), verbs.ErrClosed)
		require.ErrorIs(r, a.Read(r.ctx, region, 0, make([]byte, 1)), verbs.ErrClosed)
		require.Zero(r, a.Stats().InFlight)
		require.Zero(r, r.A.Stats().BuffersInUse)
		require.NoError(r, b.Abort())
	}
	require.NoError(r, mr.Close())
}

// hubInUse: a hub that cannot be closed yet works as before, and can be closed
// later.
func hubInUse(r *Rig) {
	mr, err := r.A.PD().AllocMR(4096, verbs.MROptions{})
	require.NoError(r, err)
	b, err := r.A.Buffer(1000)
	require.NoError(r, err)
	require.ErrorIs(r, r.A.Close(), verbs.ErrBusy, "a buffer is out")
	b.Release()
	require.ErrorIs(r, r.A.Close(), verbs.ErrBusy, "memory is registered")
	x, y := r.pair(rdmacm.ConnOptions{})
	r.send(x, []byte("as before"))
	r.gets(y, []byte("as before"))
	require.NoError(r, x.Abort())
	require.NoError(r, y.Abort())
	require.NoError(r, mr.Close())
}

func hubCloseAll(r *Rig) {
	var conns []*rdmacm.Conn
	for range 5 {
		a, _ := r.pair(rdmacm.ConnOptions{})
		conns = append(conns, a)
	}
	require.ErrorIs(r, r.A.Close(), verbs.ErrBusy)
	require.NoError(r, r.A.CloseAll())
	for _, c := range conns {
		require.ErrorIs(r, c.Err(), verbs.ErrClosed)
	}
	_, err := r.A.Prepare(rdmacm.ConnOptions{})
	require.ErrorIs(r, err, verbs.ErrClosed)
	_, err = r.A.Buffer(1)
	require.ErrorIs(r, err, verbs.ErrClosed)
	require.NoError(r, r.A.Close())
}

func openedOften(r *Rig) {
	for i := range 30 {
		a, b := r.pair(rdmacm.ConnOptions{Window: 4, Linger: patience})
		r.send(a, []byte{byte(i)})
		r.gets(b, []byte{byte(i)})
		closed := make(chan error, 1)
		go func() { closed <- a.Close() }()
		require.NoError(r, b.Close())
		require.NoError(r, <-closed)
	}
	require.LessOrEqual(r, r.A.Stats().CQs, 1)
	require.Zero(r, r.A.Stats().Conns)
}
