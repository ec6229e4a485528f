package stats

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// tail is how many of the longest samples perftest keeps out of everything but
// the maximum and the percentiles.
const tail = 2

// MinLatencyMessages is how many messages a latency needs at least: the times
// between them, less the tail, must leave one.
const MinLatencyMessages = tail + 2

// Latency is the result of one message size, by perftest's formulas. Where a
// message and its answer make up a sample, it is half of the round trip.
type Latency struct {
	// Size is the message size in bytes.
	Size uint64
	// Messages is the number of messages; there is one sample less.
	Messages uint64
	// Min is the shortest sample. Max is the second longest: perftest leaves
	// the longest out.
	Min, Max time.Duration
	// Typical is the median, and Average and Deviation (the standard deviation)
	// are of all samples but the two longest.
	Typical, Average, Deviation time.Duration
	// P99 and P999 are the 99 % and 99.9 % percentiles.
	P99, P999 time.Duration
}

// NewLatency computes the result of messages that were posted at the given
// times. Each sample is the time from one post to the next, divided by trips: 2
// where the peer answers with a message of its own, 1 where it does not.
//
// It also returns the samples in the order of the run. The error is for fewer
// posts than MinLatencyMessages.
func NewLatency(size uint64, posted []time.Duration, trips int) (Latency, []time.Duration, error) {
	if len(posted) < MinLatencyMessages {
		return Latency{}, nil, fmt.Errorf("%d messages make no latency: it needs %d", len(posted), MinLatencyMessages)
	}
	samples := make([]time.Duration, len(posted)-1)
	for i := range samples {
		samples[i] = posted[i+1] - posted[i]
	}
	sorted := slices.Sorted(slices.Values(samples))
	share := func(d time.Duration) time.Duration { return d / time.Duration(trips) }
	count := len(sorted) - tail
	middle := sorted[count/2]
	if count%2 == 0 {
		middle = (sorted[count/2-1] + sorted[count/2]) / 2
	}
	var sum float64
	for _, d := range sorted[:count] {
		sum += float64(d) / float64(trips)
	}
	average := sum / float64(count)
	// perftest cuts each difference to whole microseconds.
	var squares float64
	for _, d := range sorted[:count] {
		difference := math.Trunc((average - float64(d)/float64(trips)) / 1e3)
		squares += difference * difference
	}
	at := func(fraction float64) time.Duration { return share(sorted[int(math.Ceil(fraction*float64(count)))]) }
	for i := range samples {
		samples[i] = share(samples[i])
	}
	return Latency{
		Size: size, Messages: uint64(len(posted)),
		Min: share(sorted[0]), Max: share(sorted[count]), Typical: share(middle),
		Average:   time.Duration(math.Round(average)),
		Deviation: time.Duration(math.Round(1e3 * math.Sqrt(squares/float64(count)))),
		P99:       at(0.99), P999: at(0.999),
	}, samples, nil
}

// Sorted returns the samples that a histogram of perftest lists: ascending, and
// without the two longest.
func Sorted(samples []time.Duration) []time.Duration {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[:max(0, len(sorted)-tail)]
}

// LatencyRate is the result of a latency test of fixed duration.
type LatencyRate struct {
	// Size is the message size in bytes.
	Size uint64
	// Messages is how many were answered inside the window.
	Messages uint64
	// Average is the time of one message, as in [Latency].
	Average time.Duration
	// PerSecond is the number of round trips a second.
	PerSecond float64
}

// LatencyRate returns the average over the window. It returns ErrNoTime where
// nothing was answered in it.
func (s *Sampler) LatencyRate(size uint64, trips int) (LatencyRate, error) {
	if s.messages == 0 {
		return LatencyRate{}, fmt.Errorf("no message of %d bytes was answered within the %v that count: %w", size, s.window.Sample, ErrNoTime)
	}
	return LatencyRate{
		Size: size, Messages: s.messages,
		Average:   time.Duration(float64(s.window.Sample) / float64(s.messages) / float64(trips)),
		PerSecond: float64(s.messages) / s.window.Sample.Seconds(),
	}, nil
}
