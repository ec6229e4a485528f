package stats

import (
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnits(t *testing.T) {
	assert.Equal(t, 1.0, MiB.FromBytes(1<<20))
	assert.Equal(t, 100.0, Gbit.FromBytes(12.5e9))
	for _, u := range []Unit{MiB, Gbit} {
		assert.InEpsilon(t, 43.32, u.FromBytes(u.ToBytes(43.32)), 1e-12)
	}
	assert.Equal(t, "MB/sec", MiB.String())
	assert.Equal(t, "Gb/sec", Gbit.String())
}

func TestAverage(t *testing.T) {
	bw, err := Average(65536, 5000, 2*time.Second)
	require.NoError(t, err)
	assert.Equal(t, uint64(65536), bw.Size)
	assert.Equal(t, uint64(5000), bw.Messages)
	assert.Equal(t, 2500.0, bw.MessagesPerSecond)
	assert.Equal(t, 2500.0*65536, bw.BytesPerSecond)
	assert.Nil(t, bw.PeakBytesPerSecond)

	for _, elapsed := range []time.Duration{0, -1} {
		_, err = Average(1, 1, elapsed)
		assert.ErrorIs(t, err, ErrNoTime)
	}
}

// naivePeak is the definition, in O(n²).
func naivePeak(size uint64, posted []time.Duration, done []Done) (float64, bool) {
	best := math.Inf(1)
	for _, d := range done {
		j := d.Messages - 1
		for i := 0; i <= j; i++ {
			best = min(best, float64(d.At-posted[i])/float64(j-i+1))
		}
	}
	if best <= 0 || math.IsInf(best, 1) {
		return 0, false
	}
	return float64(size) * 1e9 / best, true
}

func TestPeakAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for round := range 500 {
		n := 1 + rng.Intn(200)
		every := 1 + rng.Intn(8)
		depth := 1 + rng.Intn(32)
		posted := make([]time.Duration, n)
		completed := make([]time.Duration, n)
		var clock, wire time.Duration
		for i := range n {
			if i >= depth {
				clock = max(clock, completed[i-depth])
			}
			clock += time.Duration(rng.Intn(50))
			posted[i] = clock
			wire = max(wire, clock) + time.Duration(1+rng.Intn(1000))
			if rng.Intn(10) == 0 {
				wire += time.Duration(rng.Intn(100_000))
			}
			completed[i] = wire
		}
		var done []Done
		for i := range n {
			if (i+1)%every == 0 || i == n-1 {
				done = append(done, Done{Messages: i + 1, At: completed[i]})
			}
		}
		want, wantOK := naivePeak(4096, posted, done)
		got, ok := Peak(4096, posted, done)
		require.Equal(t, wantOK, ok, "round %d", round)
		if ok {
			require.InEpsilon(t, want, got, 1e-9, "round %d", round)
		}
	}
}

func TestPeakByHand(t *testing.T) {
	posted := []time.Duration{0, 10, 20}
	done := []Done{{1, 100}, {2, 120}, {3, 210}}
	got, ok := Peak(60, posted, done)
	require.True(t, ok)
	// Messages 0 and 1 took 120 ns together: 60 ns each, the best run.
	assert.InEpsilon(t, 1e9, got, 1e-12)
}

func TestPeakRefuses(t *testing.T) {
	posted := []time.Duration{5, 6}
	for name, done := range map[string][]Done{
		"none":       nil,
		"no time":    {{1, 5}},
		"backwards":  {{1, 4}},
		"zero":       {{0, 10}},
		"too many":   {{3, 10}},
		"descending": {{2, 10}, {1, 11}},
	} {
		_, ok := Peak(1, posted, done)
		assert.False(t, ok, name)
	}
}

func TestWindow(t *testing.T) {
	w, err := NewWindow(5*time.Second, time.Second)
	require.NoError(t, err)
	assert.Equal(t, Window{Margin: time.Second, Sample: 3 * time.Second}, w)
	assert.Equal(t, 5*time.Second, w.Total())

	for _, bad := range [][2]time.Duration{{4, 2}, {0, 0}, {1, -1}, {-3, -4}, {5, math.MaxInt64}} {
		_, err := NewWindow(bad[0], bad[1])
		assert.Error(t, err, "%v", bad)
	}
}

func TestSampler(t *testing.T) {
	w, err := NewWindow(10*time.Second, 2*time.Second)
	require.NoError(t, err)
	s := NewSampler(w)
	assert.True(t, s.Add(0, 1000))
	assert.True(t, s.Add(2*time.Second, 10))
	assert.True(t, s.Add(8*time.Second-1, 20))
	assert.True(t, s.Add(8*time.Second, 1000))
	assert.True(t, s.Add(5*time.Second, 0))
	assert.False(t, s.Add(10*time.Second, 1000))
	bw, err := s.Bandwidth(6)
	require.NoError(t, err)
	assert.Equal(t, Bandwidth{Size: 6, Messages: 30, BytesPerSecond: 30, MessagesPerSecond: 5}, bw)
}

func BenchmarkPeak(b *testing.B) {
	const n = 20000
	posted := make([]time.Duration, n)
	done := make([]Done, n)
	for i := range n {
		posted[i] = time.Duration(i) * 100
		done[i] = Done{Messages: i + 1, At: time.Duration(i)*100 + 5000}
	}
	b.ReportAllocs()
	for b.Loop() {
		Peak(65536, posted, done)
	}
}
