package verbs

import (
	"context"
	"fmt"
	"sync"
)

// EventOptions are the options of an event queue.
type EventOptions struct {
	// Depth is how many events wait for Next at most; zero is 256. What comes
	// while so many wait is lost and counted (Event.Lost).
	Depth int
}

// EventQueue gets the asynchronous events of a device from when it was made. It
// is safe for concurrent use; an event goes to one caller of Next.
//
// It holds up nobody: events are read and acknowledged whether or not anybody
// calls Next. Closing the device ends it.
type EventQueue struct {
	async *asyncReader
	depth int
	wake  chan struct{} // holds one token
	done  chan struct{} // closed at the end

	mu   sync.Mutex
	list []Event
	lost int // events since the last one in list
	err  error
}

// Events makes a queue of the device's asynchronous events. Any number may
// exist; each gets every event.
//
// Implements: ibv_get_async_event, ibv_ack_async_event.
func (d *Device) Events(opts EventOptions) (*EventQueue, error) {
	const op = "watch events"
	if opts.Depth < 0 {
		return nil, d.err(op, fmt.Errorf("depth %d: it cannot be negative", opts.Depth))
	}
	if opts.Depth == 0 {
		opts.Depth = 256
	}
	if err := d.obj.Use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	q := &EventQueue{
		async: d.async, depth: opts.Depth, wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if err := d.async.subscribe(q); err != nil {
		return nil, d.err(op, err)
	}
	return q, nil
}

// Next returns the next event, waiting for it if need be. When there is none
// left it returns ErrDeviceGone if the device was removed or failed, ErrClosed
// if the queue or the device was closed, and otherwise the context's error when
// that ends. No thread waits.
func (q *EventQueue) Next(ctx context.Context) (Event, error) {
	switch {
	case q.async == nil: // it was never made
		return Event{}, &OpError{Op: "wait for event", Err: ErrClosed}
	case ctx == nil:
		return Event{}, q.async.dev.err("wait for event", errNoContext)
	}
	for {
		if ev, ok := q.take(); ok {
			return ev, nil
		}
		select {
		case <-q.wake:
			continue
		default:
		}
		select {
		case <-q.wake:
		case <-q.done:
			// One may have come just before the end.
			if ev, ok := q.take(); ok {
				return ev, nil
			}
			return Event{}, q.async.dev.err("wait for event", q.reason())
		case <-ctx.Done():
			return Event{}, q.async.dev.err("wait for event", ctx.Err())
		}
	}
}

func (q *EventQueue) take() (Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return Event{}, false
	}
	ev := q.list[0]
	q.list[0] = Event{}
	q.list = q.list[1:]
	if len(q.list) > 0 {
		q.wakeUp()
	}
	return ev, true
}

// put adds an event, or counts it as lost and answers false.
func (q *EventQueue) put(ev Event) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) >= q.depth {
		q.lost++
		return false
	}
	ev.Lost, q.lost = q.lost, 0
	q.list = append(q.list, ev)
	q.wakeUp()
	return true
}

func (q *EventQueue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *EventQueue) reason() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// end lets Next return err once it has returned what is left.
func (q *EventQueue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
		close(q.done)
	}
}

// Close ends the queue; events that wait in it can still be had.
func (q *EventQueue) Close() error {
	if q.async == nil {
		return nil // it was never made
	}
	q.async.unsubscribe(q)
	q.end(ErrClosed)
	return nil
}
