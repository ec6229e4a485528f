// Package stats computes what a benchmark prints from what it measured, by the
// formulas of the perftest suite, so that numbers compare side by side with
// the C tools'. It takes no time stamps itself: the caller measures on a
// monotonic clock and passes durations.
package stats

import (
	"errors"
	"fmt"
	"time"
)

// ErrNoTime reports that no time passed between the two ends of a measurement,
// so that no rate can be computed.
var ErrNoTime = errors.New("the clock did not advance during the measurement; raise -n or use -D")

// Bandwidth is the result of one message size.
type Bandwidth struct {
	// Size is the message size in bytes.
	Size uint64
	// Messages is the number of messages that completed, over all queue pairs.
	Messages uint64
	// BytesPerSecond is the average over the whole measurement.
	BytesPerSecond float64
	// MessagesPerSecond is the average message rate.
	MessagesPerSecond float64
	// PeakBytesPerSecond is the result of [Peak], or nil where it was not
	// measured.
	PeakBytesPerSecond *float64
}

// Average computes the averages of a run: messages of size bytes, in the time
// from just before the first post to just after the last completion. It
// returns ErrNoTime when elapsed is not positive.
func Average(size, messages uint64, elapsed time.Duration) (Bandwidth, error) {
	if elapsed <= 0 {
		return Bandwidth{}, fmt.Errorf("%d messages of %d bytes: %w", messages, size, ErrNoTime)
	}
	rate := float64(messages) / elapsed.Seconds()
	return Bandwidth{
		Size:              size,
		Messages:          messages,
		BytesPerSecond:    rate * float64(size),
		MessagesPerSecond: rate,
	}, nil
}
