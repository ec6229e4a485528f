package rsocket

import (
	"sync"
	"time"
)

// deadline is a moment that may be moved while calls wait for it. It is safe for
// concurrent use.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	passed chan struct{} // closed when the moment has come
}

// wait returns a channel that is closed when the deadline passes. Moving a deadline
// that has not passed keeps the channel.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.channel()
}

func (d *deadline) channel() chan struct{} {
	if d.passed == nil {
		d.passed = make(chan struct{})
	}
	return d.passed
}

// set moves the deadline; the zero time is none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	passed := d.channel()
	select {
	case <-passed:
		d.passed = make(chan struct{})
		passed = d.passed
	default:
	}
	switch left := time.Until(t); {
	case t.IsZero():
	case left <= 0:
		close(passed)
	default:
		var timer *time.Timer
		timer = time.AfterFunc(left, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			// A timer that was stopped too late counts no more.
			if d.timer == timer {
				close(d.passed)
				d.timer = nil
			}
		})
		d.timer = timer
	}
}
