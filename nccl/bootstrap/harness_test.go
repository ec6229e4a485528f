package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(workerEnv); role != "" {
		os.Exit(worker(role))
	}
	os.Exit(testutil.Main(m))
}

// patience bounds what a test waits for; no test that passes takes so long.
const patience = 30 * time.Second

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// freeAddress is a loopback address whose port was free a moment ago.
func freeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// ways are the transports: each makes the world of rank 0 of two.
var ways = []struct {
	name string
	meet func(t testing.TB) World
}{
	{"address", func(t testing.TB) World { return World{Address: freeAddress(t)} }},
	{"rendezvous file", func(t testing.TB) World {
		return World{RendezvousFile: filepath.Join(t.TempDir(), "r", "job.rendezvous"), Job: t.Name()}
	}},
	{"files", func(t testing.TB) World {
		return World{ExchangeDir: filepath.Join(t.TempDir(), "job.exchange"), Job: t.Name()}
	}},
}

// onEachWay runs a test with each transport.
func onEachWay(t *testing.T, test func(t *testing.T, w World)) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			test(t, way.meet(t))
		})
	}
}

// of is the world as a rank of some size sees it.
func (w World) of(rank, size int) World {
	w.Rank, w.Size = rank, size
	return w
}

// outcome is how Connect ended for a rank.
type outcome struct {
	*Session
	err error
}

// connectAll connects some ranks of a world of this size, and closes them at the
// test's end.
func connectAll(ctx context.Context, t testing.TB, w World, size int, o Options, ranks ...int) map[int]outcome {
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := map[int]outcome{}
	for _, rank := range ranks {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s, err := Connect(ctx, w.of(rank, size), o)
			mu.Lock()
			defer mu.Unlock()
			all[rank] = outcome{s, err}
		}()
	}
	wg.Wait()
	t.Cleanup(func() {
		var sessions []*Session
		for _, o := range all {
			if o.Session != nil {
				sessions = append(sessions, o.Session)
			}
		}
		closeAll(t, sessions)
	})
	return all
}

// together connects a whole world.
func together(t testing.TB, w World, size int, o Options) []*Session {
	var ranks []int
	for rank := range size {
		ranks = append(ranks, rank)
	}
	all := connectAll(testContext(t), t, w, size, o, ranks...)
	sessions := make([]*Session, size)
	for rank := range size {
		require.NoError(t, all[rank].err, "rank %d", rank)
		sessions[rank] = all[rank].Session
	}
	return sessions
}

func closeAll(t testing.TB, sessions []*Session) {
	var wg sync.WaitGroup
	for _, s := range sessions {
		wg.Add(1)
		go func() {
			defer wg.Done()
			assert.NoError(t, s.Close())
		}()
	}
	wg.Wait()
}

// each calls f for all sessions at once and returns their errors.
func each(sessions []*Session, f func(s *Session) error) []error {
	errs := make([]error, len(sessions))
	var wg sync.WaitGroup
	for i, s := range sessions {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = f(s)
		}()
	}
	wg.Wait()
	return errs
}

func requireAll(t testing.TB, sessions []*Session, f func(s *Session) error) {
	t.Helper()
	for i, err := range each(sessions, f) {
		require.NoError(t, err, "session %d", i)
	}
}

// rankError is err as a *RankError.
func rankError(t testing.TB, err error) *RankError {
	t.Helper()
	var e *RankError
	require.ErrorAs(t, err, &e)
	return e
}

const workerEnv = "GOFABRIC_BOOTSTRAP_TEST_WORKER"

// worker is what the test binary does in the processes that tests start.
func worker(role string) int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := work(ctx, role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func work(ctx context.Context, role string) error {
	world, err := FromEnvironment(Options{})
	if err != nil {
		return err
	}
	if role == "alone" {
		fmt.Printf("rank %d of %d by %s\n", world.Rank, world.Size, world.Launcher)
		return nil
	}
	s, err := Connect(ctx, world, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	id, err := s.Broadcast(ctx, 0, []byte("id of rank "+strconv.Itoa(s.Rank())))
	if err != nil {
		return err
	}
	if string(id) != "id of rank 0" {
		return fmt.Errorf("broadcast gave %q", id)
	}
	if role == "die" && s.Rank() == s.Size()-1 {
		os.Exit(0) // as if killed: nothing is closed
	}
	parts, err := s.AllGather(ctx, []byte(strconv.Itoa(s.Rank()*s.Rank())))
	if role == "die" {
		var e *RankError
		if !errors.As(err, &e) || len(e.Died) != 1 || e.Died[0] != s.Size()-1 {
			return fmt.Errorf("the last rank's death was told as: %v", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	for rank, part := range parts {
		if string(part) != strconv.Itoa(rank*rank) {
			return fmt.Errorf("rank %d gave %q", rank, part)
		}
	}
	if err := s.Barrier(ctx); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d local %d of %d by %s\n", s.Rank(), s.Size(), s.LocalRank(), s.LocalSize(), world.Launcher)
	return nil
}
