//go:build linux && cgo

package perftest

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/cbench"
	"github.com/gofabric/gofabric/internal/stats"
	"github.com/gofabric/gofabric/verbs"
)

func nullConfig(t *testing.T, args ...string) Config {
	t.Helper()
	config, err := ParseArgs(WriteBW, append([]string{"-d", cbench.Device, "-Q", "1"}, args...))
	require.NoError(t, err)
	return config
}

// nullLane is the sending side on the null device, connected to itself.
func nullLane(t *testing.T, args ...string) *lane {
	t.Helper()
	config := nullConfig(t, append(args, "peer")...)
	local, err := openEnd(&config, tcpLink{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, local.close()) })
	agreed := Agreement{PageSize: 4096, CacheLine: 64, MTU: 3}
	require.NoError(t, local.build(t.Context(), agreed))
	require.NoError(t, local.connect(local.keys, agreed))
	return local.lanes[0]
}

func TestLaneCounts(t *testing.T) {
	for _, pairs := range []int{1, 3} {
		for _, n := range []int{5, 31, 128, 129, 1000} {
			l := nullLane(t, "-n", strconv.Itoa(n), "-q", strconv.Itoa(pairs))
			for _, size := range []int{2, 65536} {
				l.begin(size, n)
				m, err := l.transfer(context.Background(), transfer{sends: true})
				require.NoError(t, err)
				assert.Equal(t, n*pairs, m.messages)
				assert.Equal(t, n*pairs, l.posted)
				assert.Len(t, l.postedAt, n*pairs)
				assert.Len(t, l.doneAt, n*pairs)
				assert.NotNil(t, m.peak)
				assert.Positive(t, m.to.Sub(m.from))
			}
		}
	}
}

func TestLongMessagesArePostedSingly(t *testing.T) {
	l := nullLane(t)
	for size, want := range map[int]int{2: 32, 2048: 32, 4096: 16, 65536: 1, 8 << 20: 1} {
		l.begin(size, 1000)
		assert.Equal(t, want, l.pairs[0].next(100), "%d bytes", size)
		assert.Equal(t, 1, l.pairs[0].next(1), "%d bytes", size)
	}
}

func TestLaneStops(t *testing.T) {
	for _, args := range [][]string{{"-n", "1000000"}, {"-D", "100"}} {
		l := nullLane(t, args...)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		l.begin(2, l.config.Iterations)
		window := stats.Window{Sample: l.config.Duration}
		x := transfer{sends: true}
		if l.config.Duration > 0 {
			x.window = &window
		}
		_, err := l.transfer(ctx, x)
		assert.ErrorIs(t, err, context.Canceled)
	}
}

func TestLaneDoesNotAllocate(t *testing.T) {
	for _, pairs := range []string{"1", "4"} {
		l := nullLane(t, "-n", "10000", "-q", pairs, "-I", "64")
		l.begin(64, 10000)
		l.startClock()
		ctx := context.Background()
		allocs := testing.AllocsPerRun(200, func() {
			if _, _, err := l.turn(ctx, true); err != nil {
				panic(err)
			}
		})
		assert.Zero(t, allocs)
	}
}

func TestRallyPostsReceivesInBatches(t *testing.T) {
	for depth, want := range map[string]int{"1": 1, "2": 1, "16": 8, "512": 32} {
		config, err := ParseArgs(SendLat, []string{"-d", cbench.Device, "-r", depth, "peer"})
		require.NoError(t, err)
		r := (&lane{config: &config, pairs: []*pair{{}}}).newRally(2, config.Iterations, true)
		assert.False(t, r.repostIsDue(), "-r %s: none is owed", depth)
		r.p.owed = want - 1
		assert.False(t, r.repostIsDue(), "-r %s", depth)
		r.p.owed = want
		assert.True(t, r.repostIsDue(), "-r %s", depth)
		r.p.owed, r.l.sharedOwed = 0, want
		assert.True(t, r.repostIsDue(), "-r %s, shared", depth)
	}
}

func TestRallyDoesNotAllocate(t *testing.T) {
	config, err := ParseArgs(ReadLat, []string{"-d", cbench.Device, "-n", "10000", "peer"})
	require.NoError(t, err)
	local, err := openEnd(&config, tcpLink{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, local.close()) })
	agreed := Agreement{PageSize: 4096, CacheLine: 64, MTU: 3}
	require.NoError(t, local.build(t.Context(), agreed))
	require.NoError(t, local.connect(local.keys, agreed))
	r := local.lanes[0].newRally(2, 10000, false)
	ctx := context.Background()
	n := 0
	allocs := testing.AllocsPerRun(200, func() {
		n++
		if err := r.prepare(ctx); err != nil {
			panic(err)
		}
		if err := r.step(ctx, n); err != nil {
			panic(err)
		}
	})
	assert.Zero(t, allocs)
}

func TestRemoteAccessIsExplained(t *testing.T) {
	l := lane{size: 65536, config: &Config{Tool: WriteBW}}
	err := l.explain(&verbs.CompletionError{Status: verbs.StatusRemoteAccess})
	require.ErrorIs(t, err, verbs.StatusRemoteAccess)
	assert.ErrorContains(t, err, "the same -s or -a")
	plain := &verbs.CompletionError{Status: verbs.StatusRetryExceeded}
	assert.Equal(t, plain, l.explain(plain))
	l.config = &Config{Tool: SendBW}
	assert.ErrorContains(t, l.explain(&verbs.CompletionError{Status: verbs.StatusLocalLength}), "the peer sends more")
}

func TestOpenRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"-i", "2"}, {"-x", "7"}, {"-t", "15000", "-n", "20000"}, {"-d", "null7x", "-p", "1", "127.0.0.1"},
	} {
		config := nullConfig(t, args...)
		_, err := openEnd(&config, tcpLink{})
		assert.Error(t, err, args)
	}
}
