package stats

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordedSamples reads the list that a C tool printed with -U or -H, and the row
// after it.
func recordedSamples(t *testing.T, name string) (samples, row []float64) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	require.NoError(t, err)
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var n int
		var v float64
		if got, _ := fmt.Sscanf(scan.Text(), "%d, %f", &n, &v); got == 2 {
			samples = append(samples, v)
			continue
		}
		if fields := strings.Fields(scan.Text()); len(fields) == 9 && len(samples) > 0 {
			row = row[:0]
			for _, field := range fields {
				if _, err := fmt.Sscanf(field, "%f", &v); err != nil {
					break
				}
				row = append(row, v)
			}
		}
	}
	require.Len(t, row, 9)
	return samples, row
}

// posts are times of messages that are so many microseconds apart.
func posts(trips int, micros ...float64) []time.Duration {
	list := []time.Duration{time.Millisecond}
	for _, v := range micros {
		list = append(list, list[len(list)-1]+time.Duration(math.Round(v*1e3))*time.Duration(trips))
	}
	return list
}

// A run of ib_write_lat with -U shows all its samples.
func TestLatencyOfRecordedRun(t *testing.T) {
	samples, row := recordedSamples(t, "wlat_H.client.out")
	require.Len(t, samples, 11)
	got, own, err := NewLatency(2, posts(2, samples...), 2)
	require.NoError(t, err)
	micros := func(d time.Duration) float64 { return float64(d) / 1e3 }
	for i, v := range []float64{micros(got.Min), micros(got.Max), micros(got.Typical), micros(got.Average),
		micros(got.Deviation), micros(got.P99), micros(got.P999)} {
		assert.InDelta(t, row[i+2], v, 0.006, "column %d", i+3)
	}
	assert.EqualValues(t, 12, got.Messages)
	for i, v := range samples {
		assert.InDelta(t, v, micros(own[i]), 0.001)
	}
	sorted := Sorted(own)
	assert.Len(t, sorted, 9)
	assert.IsNonDecreasing(t, sorted)
}

// With -H the tool lists what is left after the two longest were cut.
func TestLatencyOfRecordedHistogram(t *testing.T) {
	samples, row := recordedSamples(t, "wlat_H.server.out")
	require.Len(t, samples, 9)
	got, _, err := NewLatency(2, posts(2, append(samples, row[3], row[3]+1)...), 2)
	require.NoError(t, err)
	assert.InDelta(t, row[6], float64(got.Deviation)/1e3, 0.006)
	assert.InDelta(t, row[4], float64(got.Typical)/1e3, 0.006)
	assert.InDelta(t, row[3], float64(got.Max)/1e3, 0.006)
}

func TestLatencyOfFewMessages(t *testing.T) {
	_, _, err := NewLatency(2, posts(1, 1, 2)[:3], 1)
	assert.Error(t, err)
	got, _, err := NewLatency(2, posts(1, 3, 1, 2), 1)
	require.NoError(t, err)
	assert.Equal(t, time.Microsecond, got.Min)
	assert.Equal(t, 2*time.Microsecond, got.Max, "the second longest")
	got, _, err = NewLatency(2, posts(1, 4, 1, 2, 3), 1)
	require.NoError(t, err)
	assert.Equal(t, 1500*time.Nanosecond, got.Typical, "the mean of the two in the middle")
	assert.Empty(t, Sorted(posts(1)))
}

func TestLatencyRate(t *testing.T) {
	w, err := NewWindow(3*time.Second, time.Second)
	require.NoError(t, err)
	s := NewSampler(w)
	_, err = s.LatencyRate(2, 1)
	require.ErrorIs(t, err, ErrNoTime)
	for i := range 3000 {
		s.Add(time.Duration(i)*time.Millisecond, 1)
	}
	got, err := s.LatencyRate(2, 2)
	require.NoError(t, err)
	assert.Equal(t, LatencyRate{Size: 2, Messages: 1000, Average: 500 * time.Microsecond, PerSecond: 1000}, got)
}
