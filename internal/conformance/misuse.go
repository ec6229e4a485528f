package conformance

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var misuseCases = []Case{
	{"TwoGoroutinesOnOneCQ", twoOnOneCQ},
	{"TwoGoroutinesOnOneSendQueue", twoOnOneSendQueue},
	{"ControlObjectsAreShared", controlShared},
	{"CloseWhilePosting", closeWhilePosting},
}

func twoOnOneCQ(r *Rig) {
	cq := r.cq(verbs.CQOptions{Events: true})
	done := make(chan error, 1)
	go func() {
		// The one that is told may be this one, if the other polls just then.
		err := verbs.ErrConcurrentUse
		for errors.Is(err, verbs.ErrConcurrentUse) {
			_, err = cq.Wait(r.ctx, make([]verbs.Completion, 1))
		}
		done <- err
	}()
	wc := make([]verbs.Completion, 1)
	require.Eventually(r, func() bool {
		_, err := cq.Poll(wc)
		return errors.Is(err, verbs.ErrConcurrentUse)
	}, patience, 1e6)
	_, err := cq.Wait(r.ctx, wc)
	require.ErrorIs(r, err, verbs.ErrConcurrentUse)
	_, err = cq.Spin(r.ctx, wc)
	require.ErrorIs(r, err, verbs.ErrConcurrentUse)
	require.NoError(r, cq.Close())
	require.ErrorIs(r, <-done, verbs.ErrClosed)
}

// twoOnOneSendQueue: posting from several goroutines without a lock is told,
// and nothing is posted twice.
func twoOnOneSendQueue(r *Rig) {
	a, _ := r.pair(pairOptions{})
	var posts, refused atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 200 {
				switch _, err := a.QP.SendBatch().Post(); {
				case err == nil:
					posts.Add(1)
				case errors.Is(err, verbs.ErrConcurrentUse):
					refused.Add(1)
				default:
					assert.NoError(r, err)
				}
			}
		}()
	}
	wg.Wait()
	require.Equal(r, int32(800), posts.Load()+refused.Load())
	r.quiet(a.Send)
}

// controlShared makes and closes objects from many goroutines at once.
func controlShared(r *Rig) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 5 {
				mr, err := r.PD.AllocMR(4096, verbs.MROptions{})
				if !assert.NoError(r, err) {
					return
				}
				cq, err := r.Dev.CreateCQ(verbs.CQOptions{Events: true})
				if !assert.NoError(r, err) {
					return
				}
				qp, err := r.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq})
				if !assert.NoError(r, err) {
					return
				}
				assert.NoError(r, qp.Init())
				assert.NoError(r, qp.Close())
				assert.NoError(r, cq.Close())
				assert.NoError(r, mr.Close())
			}
		}()
	}
	wg.Wait()
}

// closeWhilePosting: Close waits for the post inside and later ones are told.
func closeWhilePosting(r *Rig) {
	a, _ := r.pair(pairOptions{})
	mr := r.memory(8)
	started := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		wc := make([]verbs.Completion, 16)
		for i := 0; ; i++ {
			a.QP.SendBatch().Write(uint64(i), mr.Remote(), mr.SGE(0, 8))
			_, err := a.QP.SendBatch().Post()
			if errors.Is(err, verbs.ErrClosed) {
				done <- nil
				return
			}
			if err != nil && !errors.Is(err, verbs.ErrSendQueueFull) {
				done <- err
				return
			}
			if i == 10 {
				close(started)
			}
			// Closing takes completions off the queue too, of which this does not learn.
			if _, err := a.Send.Poll(wc); err != nil {
				done <- err
				return
			}
		}
	}()
	<-started
	require.NoError(r, a.QP.Close())
	require.NoError(r, <-done)
}
