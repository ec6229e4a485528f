package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOperations(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		const size = 5
		sessions := together(t, w, size, Options{})
		ctx := testContext(t)
		requireAll(t, sessions, func(s *Session) error {
			for i := range 8 {
				root := i % size
				got, err := s.Broadcast(ctx, root, fmt.Appendf(nil, "%d from %d", i, s.Rank()))
				if err != nil {
					return err
				}
				assert.Equal(t, fmt.Sprintf("%d from %d", i, root), string(got))
				// Of different lengths, none among them.
				parts, err := s.AllGather(ctx, bytes.Repeat([]byte{byte(s.Rank())}, s.Rank()*i))
				if err != nil {
					return err
				}
				assert.Len(t, parts, size)
				for rank, part := range parts {
					assert.Equal(t, strings.Repeat(string(rune(rank)), rank*i), string(part))
				}
				if err := s.Barrier(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		for rank, s := range sessions {
			assert.Equal(t, rank, s.Rank())
			assert.Equal(t, size, s.Size())
			assert.Equal(t, rank, s.LocalRank(), "all ranks are on this machine")
			assert.Equal(t, size, s.LocalSize())
			assert.Equal(t, os.Getpid(), s.Peers()[rank].PID)
			assert.Equal(t, 0, s.Peers()[rank].Node)
		}
	})
}

// TestBarrierHoldsBack looks that nobody passes a barrier before the last comes.
func TestBarrierHoldsBack(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 3, Options{})
		ctx := testContext(t)
		passed := make(chan error, 2)
		for _, s := range sessions[:2] {
			go func() { passed <- s.Barrier(ctx) }()
		}
		select {
		case err := <-passed:
			require.Fail(t, "passed before rank 2 came", "%v", err)
		case <-time.After(20 * time.Millisecond):
		}
		require.NoError(t, sessions[2].Barrier(ctx))
		require.NoError(t, <-passed)
		require.NoError(t, <-passed)
	})
}

func TestLargeMessages(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		const limit = 1 << 20
		sessions := together(t, w, 3, Options{MaxMessage: limit})
		ctx := testContext(t)
		requireAll(t, sessions, func(s *Session) error {
			_, err := s.AllGather(ctx, make([]byte, limit+1))
			assert.ErrorIs(t, err, ErrTooLarge)
			parts, err := s.AllGather(ctx, bytes.Repeat([]byte{'0' + byte(s.Rank())}, limit))
			if err != nil {
				return err
			}
			for rank, part := range parts {
				assert.Len(t, part, limit)
				assert.Equal(t, limit, bytes.Count(part, []byte{'0' + byte(rank)}))
			}
			return nil
		})
	})
}

func TestWorldOfOne(t *testing.T) {
	ctx := testContext(t)
	s, err := Connect(ctx, World{Size: 1}, Options{})
	require.NoError(t, err)
	got, err := s.Broadcast(ctx, 0, []byte("x"))
	require.NoError(t, err)
	assert.Equal(t, "x", string(got))
	parts, err := s.AllGather(ctx, []byte("y"))
	require.NoError(t, err)
	assert.Equal(t, [][]byte{[]byte("y")}, parts)
	require.NoError(t, s.Barrier(ctx))
	assert.Equal(t, 0, s.LocalRank())
	assert.Equal(t, 1, s.LocalSize())
	require.NoError(t, s.Close())
	assert.ErrorIs(t, s.Barrier(ctx), ErrClosed)
	require.NoError(t, s.Close())
}

func TestMissingRanksAreNamed(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		// Connect's time is up when the ranks that come have come, and no sooner.
		ctx, cancel := context.WithCancelCause(testContext(t))
		defer cancel(nil)
		go func() {
			time.Sleep(300 * time.Millisecond)
			cancel(context.DeadlineExceeded)
		}()
		all := connectAll(ctx, t, w, 5, Options{}, 0, 2, 3)
		for rank, o := range all {
			e := rankError(t, o.err)
			assert.Equal(t, []int{1, 4}, e.Missing, "as rank %d says: %v", rank, o.err)
			assert.ErrorIs(t, o.err, ErrRankMissing)
			assert.Contains(t, o.err.Error(), "ranks 1,4 did not come")
		}
		assert.ErrorIs(t, all[0].err, context.DeadlineExceeded)
	})
}

func TestNoRankZero(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		all := connectAll(testContext(t), t, w, 2, Options{ConnectTimeout: 100 * time.Millisecond}, 1)
		e := rankError(t, all[1].err)
		assert.Equal(t, []int{0}, e.Missing)
		assert.ErrorIs(t, all[1].err, context.DeadlineExceeded)
		t.Log(all[1].err)
	})
}

func TestLateRankIsNamedAtOperation(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 4, Options{})
		requireAll(t, sessions, func(s *Session) error { return s.Barrier(testContext(t)) })
		// Rank 1 has the shortest patience, and its end is everybody's.
		errs := each([]*Session{sessions[0], sessions[1], sessions[3]}, func(s *Session) error {
			ctx, cancel := context.WithTimeout(testContext(t), patience)
			if s.Rank() == 1 {
				ctx, cancel = context.WithTimeout(testContext(t), 200*time.Millisecond)
			}
			defer cancel()
			_, err := s.AllGather(ctx, nil)
			return err
		})
		for i, err := range errs {
			e := rankError(t, err)
			assert.Equal(t, []int{2}, e.Missing)
			assert.Equal(t, 1, e.By)
			assert.Equal(t, 2, e.Sequence)
			assert.Equal(t, i != 1, isGaveUp(err), "%v", err)
		}
		assert.ErrorIs(t, errs[1], context.DeadlineExceeded)
		// The one that comes too late learns it too, and it stays so.
		late := rankError(t, sessions[2].Barrier(testContext(t)))
		assert.Equal(t, 1, late.By)
		assert.Equal(t, errs[0], sessions[0].Barrier(testContext(t)))
	})
}

func TestRankZeroGivesUp(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 3, Options{})
		errs := each(sessions[:2], func(s *Session) error {
			ctx, cancel := context.WithCancelCause(testContext(t))
			defer cancel(nil)
			if s.Rank() == 0 {
				time.AfterFunc(100*time.Millisecond, func() { cancel(nil) })
			}
			return s.Barrier(ctx)
		})
		assert.ErrorIs(t, errs[0], context.Canceled)
		assert.Contains(t, rankError(t, errs[0]).Missing, 2)
		assert.True(t, isGaveUp(errs[1]), "%v", errs[1])
		assert.Equal(t, 0, rankError(t, errs[1]).By)
	})
}

func isGaveUp(err error) bool {
	e, ok := err.(*RankError)
	return ok && e.gaveUp
}

func TestRankThatLeftIsNamed(t *testing.T) {
	for _, leaver := range []int{0, 2} {
		onEachWay(t, func(t *testing.T, w World) {
			sessions := together(t, w, 4, Options{})
			var stay []*Session
			for rank, s := range sessions {
				if rank != leaver {
					stay = append(stay, s)
				}
			}
			done := make(chan []error, 1)
			go func() { done <- each(stay, func(s *Session) error { return s.Barrier(testContext(t)) }) }()
			require.NoError(t, sessions[leaver].Close())
			for _, err := range <-done {
				assert.ErrorIs(t, err, ErrRankLeft)
				assert.Equal(t, []int{leaver}, rankError(t, err).Left)
			}
		})
	}
}

func TestDifferentOperations(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 3, Options{})
		errs := each(sessions, func(s *Session) error {
			switch s.Rank() {
			case 1:
				_, err := s.Broadcast(testContext(t), 1, nil)
				return err
			default:
				return s.Barrier(testContext(t))
			}
		})
		for _, err := range errs {
			assert.ErrorIs(t, err, ErrOrder)
			assert.ErrorContains(t, err, "rank 1 called broadcast from rank 1")
		}
	})
}

func TestDifferentRoots(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 2, Options{})
		for _, err := range each(sessions, func(s *Session) error {
			_, err := s.Broadcast(testContext(t), s.Rank(), nil)
			return err
		}) {
			assert.ErrorIs(t, err, ErrOrder)
		}
		_, err := sessions[0].Broadcast(testContext(t), 2, nil)
		assert.ErrorContains(t, err, "there are ranks 0 to 1")
	})
}

func TestCloseEndsAnOperation(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 2, Options{})
		for _, s := range sessions[:1] {
			done := underWay(t, s)
			require.NoError(t, s.Close())
			assert.ErrorIs(t, <-done, ErrClosed)
			assert.ErrorIs(t, s.Barrier(testContext(t)), ErrClosed)
		}
	})
}

// underWay starts a barrier that waits for the other rank, and returns once it
// does.
func underWay(t *testing.T, s *Session) (done chan error) {
	done = make(chan error, 1)
	go func() {
		for {
			// The look below takes the lock for a moment, which the barrier may meet.
			if err := s.Barrier(testContext(t)); !errors.Is(err, ErrConcurrentUse) {
				done <- err
				return
			}
		}
	}()
	require.Eventually(t, func() bool {
		if s.busy.TryLock() {
			s.busy.Unlock()
			return false
		}
		return true
	}, patience, time.Millisecond)
	return done
}

func TestConcurrentUse(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 2, Options{})
		done := underWay(t, sessions[0])
		assert.ErrorIs(t, sessions[0].Barrier(testContext(t)), ErrConcurrentUse)
		require.NoError(t, sessions[1].Barrier(testContext(t)))
		require.NoError(t, <-done)
	})
}

func TestEndedContextCostsNothing(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 2, Options{})
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		assert.ErrorIs(t, sessions[1].Barrier(ended), context.Canceled)
		requireAll(t, sessions, func(s *Session) error { return s.Barrier(testContext(t)) })
	})
}

func TestOperationTimeout(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 2, Options{OperationTimeout: 50 * time.Millisecond})
		err := sessions[1].Barrier(context.Background())
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []int{0}, rankError(t, err).Missing)
	})
}

func TestSharedSecret(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 2, Options{Secret: []byte("s3cret")})
		requireAll(t, sessions, func(s *Session) error { return s.Barrier(testContext(t)) })
	})
}

// TestNothingIsLeftBehind: no file stays once all have closed.
func TestNothingIsLeftBehind(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		sessions := together(t, w, 3, Options{})
		if w.RendezvousFile != "" {
			assert.NoFileExists(t, w.RendezvousFile, "it is needed until all have come")
		}
		requireAll(t, sessions, func(s *Session) error { return s.Barrier(testContext(t)) })
		closeAll(t, sessions)
		for _, path := range []string{w.RendezvousFile, w.ExchangeDir} {
			if path == "" {
				continue
			}
			assert.NoFileExists(t, path)
			files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
			require.NoError(t, err)
			assert.Empty(t, files)
		}
	})
}

// TestAgain: the same place serves one session after the other.
func TestAgain(t *testing.T) {
	onEachWay(t, func(t *testing.T, w World) {
		for range 5 {
			sessions := together(t, w, 3, Options{})
			requireAll(t, sessions, func(s *Session) error { return s.Barrier(testContext(t)) })
			closeAll(t, sessions)
		}
	})
}

func TestWorldCheck(t *testing.T) {
	three := 3
	for _, w := range []World{
		{}, {Size: -1}, {Size: MaxSize + 1}, {Rank: 2, Size: 2}, {Rank: -1, Size: 2},
		{Size: 2}, {Size: 2, Address: "host"}, {Size: 2, Address: "host:0"}, {Size: 2, Address: "ho st:1"}, {Size: 2, Address: ":1"},
		{Size: 2, Address: "host:1", RendezvousFile: "f"}, {Size: 2, ExchangeDir: "d", RendezvousFile: "f"},
		{Size: 2, Address: "host:1", MorePorts: []int{0}}, {Size: 2, CommID: "host:1"},
		{Size: 2, Address: "host:1", LocalSize: 3}, {Size: 4, Address: "host:1", LocalRank: &three, LocalSize: 2},
	} {
		_, err := Connect(context.Background(), w, Options{})
		var e *WorldError
		assert.ErrorAs(t, err, &e, "%+v", w)
		assert.NotContains(t, fmt.Sprint(err), "\n")
	}
}
