package stats

import (
	"fmt"
	"time"
)

// Window is the measured part of a run of fixed duration: messages are posted
// throughout, and only those that complete inside the window count, so that
// the start and the end of the run do not weigh in.
type Window struct {
	// Margin is the time before the window and after it.
	Margin time.Duration
	// Sample is the length of the window.
	Sample time.Duration
}

// NewWindow returns the window of a run that lasts total. The margin must
// leave time to measure: total > 2·margin.
func NewWindow(total, margin time.Duration) (Window, error) {
	if total <= 0 || margin < 0 || margin > total/2 || total-2*margin <= 0 {
		return Window{}, fmt.Errorf("a duration of %v leaves nothing to measure with a margin of %v on both sides; "+
			"the duration must be longer than twice the margin", total, margin)
	}
	return Window{Margin: margin, Sample: total - 2*margin}, nil
}

// Total is the duration of the whole run, both margins included.
func (w Window) Total() time.Duration { return w.Sample + 2*w.Margin }

// Sampler counts the messages that complete inside a window. It is for one
// goroutine.
type Sampler struct {
	window   Window
	messages uint64
}

// NewSampler returns a sampler for w with no message counted.
func NewSampler(w Window) *Sampler { return &Sampler{window: w} }

// Add notes that messages completed when elapsed had passed since the start of
// the run. It reports whether the run goes on, that is, whether elapsed is
// before the end of the second margin.
func (s *Sampler) Add(elapsed time.Duration, messages int) bool {
	if elapsed >= s.window.Margin && elapsed < s.window.Margin+s.window.Sample && messages > 0 {
		s.messages += uint64(messages)
	}
	return elapsed < s.window.Total()
}

// Bandwidth returns the averages over the window for messages of size bytes.
// There is no peak: perftest does not measure it in runs of fixed duration.
func (s *Sampler) Bandwidth(size uint64) (Bandwidth, error) {
	return Average(size, s.messages, s.window.Sample)
}
