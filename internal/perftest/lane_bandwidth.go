package perftest

import (
	"context"
	"errors"
	"time"

	"github.com/gofabric/gofabric/internal/stats"
)

// measured is what a lane came to.
type measured struct {
	messages int
	// from and to are when the first message was posted, or the first one
	// arrived, and when the last was done.
	from, to time.Time
	peak     *float64
	lost     int // messages that did not arrive
}

// transfer says what a lane is to do.
type transfer struct {
	sends, receives bool
	// holds keeps the lane from sending before something has arrived.
	holds bool
	// window bounds the run in time, if it is not nil.
	window *stats.Window
	// row, if not nil, gets a row after each window and has no end.
	row func(messages int, elapsed time.Duration) error
}

// transfer moves messages of the size that begin was called with.
func (l *lane) transfer(ctx context.Context, t transfer) (measured, error) {
	if t.window != nil {
		return l.timed(ctx, t)
	}
	return l.counted(ctx, t)
}

// counted is a run of fixed iterations. What has not arrived once the peer has
// nothing more to send is lost, where messages can be.
func (l *lane) counted(ctx context.Context, t transfer) (measured, error) {
	if !t.sends {
		l.toSend = 0
	}
	if !t.receives {
		l.toReceive = 0
	}
	l.startClock()
	m := measured{from: l.start, to: l.start}
	for l.completed < l.toSend || l.received < l.toReceive {
		first := l.received == 0
		sent, received, err := l.turn(ctx, t.sends && (!t.holds || !first))
		if err != nil {
			if l.config.lossy() && errors.Is(context.Cause(ctx), errPeerOver) {
				break
			}
			return m, err
		}
		if received > 0 {
			if first && (!t.sends || t.holds) {
				l.startClock()
				m.from = l.start
			}
			if err := l.repost(); err != nil {
				return m, err
			}
		}
		last := sent > 0 && l.completed == l.toSend
		if !t.sends {
			last = l.received == l.toReceive || l.config.lossy()
		}
		if last {
			m.to = time.Now()
		}
	}
	m.messages = l.completed
	if !t.sends {
		m.messages = l.received
	}
	m.lost = l.toReceive - l.received
	if l.peak && t.sends {
		if peak, ok := stats.Peak(uint64(l.size), l.postedAt, l.doneAt); ok {
			m.peak = &peak
		}
	}
	return m, nil
}

// timed is a run of fixed duration. What is still in flight at its end does not
// count, and closing the queue pair ends it.
func (l *lane) timed(ctx context.Context, t transfer) (measured, error) {
	l.toSend, l.toReceive = 0, 0
	run := ctx
	cancel := func() {}
	defer func() { cancel() }()
	var c clock
	started := false
	begin := func() {
		started = true
		l.startClock()
		c = newClock(l.start, *t.window, t.row)
		if t.row == nil {
			run, cancel = context.WithDeadline(ctx, l.start.Add(t.window.Total()))
		}
	}
	if t.sends && !t.holds {
		begin()
	}
	for on := true; on; {
		sent, received, err := l.turn(run, t.sends && started)
		if err != nil && run.Err() != nil && ctx.Err() == nil {
			break // the time is over
		}
		if err == nil && received > 0 {
			if !started {
				begin()
			}
			err = l.repost()
		}
		if err == nil && started {
			on, err = c.add(sent + received)
		}
		if err != nil {
			return measured{}, err
		}
	}
	return measured{messages: int(c.messages), from: l.start}, nil
}

// clock counts the messages of a run that is bounded in time.
type clock struct {
	start    time.Time
	window   stats.Window
	row      func(messages int, elapsed time.Duration) error
	messages int
	since    time.Duration // of the current row
}

func newClock(start time.Time, window stats.Window, row func(int, time.Duration) error) clock {
	return clock{start: start, window: window, row: row}
}

// add notes that messages completed now, and tells whether the run goes on.
func (c *clock) add(messages int) (on bool, err error) {
	elapsed := time.Since(c.start)
	if c.row != nil {
		c.messages += messages
		if passed := elapsed - c.since; passed >= c.window.Total() {
			err = c.row(c.messages, passed)
			c.messages, c.since = 0, elapsed
		}
		return true, err
	}
	if elapsed >= c.window.Margin && elapsed < c.window.Margin+c.window.Sample {
		c.messages += messages
	}
	return elapsed < c.window.Total(), nil
}
