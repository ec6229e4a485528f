package verbs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/pollfd"
)

// asyncReader reads a device's asynchronous events: one goroutine that sleeps
// in the netpoller. It copies and acknowledges each at once, because destroying
// an object waits for the acknowledgement of its events, and waits for nobody.
type asyncReader struct {
	dev  *Device
	file *os.File // a duplicate of the context's descriptor; nil without one
	dead chan struct{}

	qps  objects[cverbs.QP, QP]
	cqs  objects[cverbs.CQ, CQ]
	srqs objects[cverbs.SRQ, SRQ]

	taken atomic.Uint64
	lost  atomic.Uint64

	mu     sync.Mutex
	queues map[*EventQueue]struct{}
	err    error // why the reader stopped
}

// objects finds an object by its C handle.
type objects[H comparable, T any] struct{ m sync.Map }

func (o *objects[H, T]) add(h H, v *T) { o.m.Store(h, v) }

// remove forgets v; another object may have got the handle meanwhile.
func (o *objects[H, T]) remove(h H, v *T) { o.m.CompareAndDelete(h, v) }

func (o *objects[H, T]) find(h H) *T {
	v, _ := o.m.Load(h)
	p, _ := v.(*T)
	return p
}

// qpEvents is what asynchronous events said of a queue pair.
type qpEvents struct {
	drained     chan struct{} // holds one token: nothing is under way in SQD
	lastReceive atomic.Bool   // it takes no more from its SRQ
}

// readEvents starts the reader.
func (d *Device) readEvents() (*asyncReader, error) {
	a := &asyncReader{dev: d, dead: make(chan struct{}), queues: map[*EventQueue]struct{}{}}
	fd := d.ctx.AsyncFD()
	if fd < 0 {
		a.err = fmt.Errorf("the device has no asynchronous events: %w", ErrNotSupported)
		close(a.dead)
		return a, nil
	}
	var err error
	if a.file, err = pollfd.Duplicate(fd, "asynchronous events of "+d.name); err != nil {
		return nil, err
	}
	raw, err := a.file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, a.file.Close())
	}
	go a.read(raw)
	return a, nil
}

// stop ends the reader and waits for it.
func (a *asyncReader) stop() {
	// The descriptor is a duplicate that nothing was written to, and closing no
	// file is an error that says nothing.
	_ = a.file.Close()
	<-a.dead
}

// read hands out events until the device fails or is closed.
func (a *asyncReader) read(raw syscall.RawConn) {
	defer close(a.dead)
	end := ErrClosed
	_ = raw.Read(func(uintptr) (done bool) {
		for {
			ev, err := a.dev.ctx.NextAsyncEvent()
			switch {
			case err == nil:
				a.dispatch(ev)
				if EventType(ev.Type()) == EventDeviceFatal {
					// The kernel says nothing after it.
					end = ErrDeviceGone
					return true
				}
			case errors.Is(err, syscall.EAGAIN):
				return false
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EIO):
				end = fmt.Errorf("%w: %w", ErrDeviceGone, err)
				return true
			default:
				end = err
				logWarn("asynchronous events cannot be read", "device", a.dev.name, "error", err)
				return true
			}
		}
	})
	a.finish(end)
}

func (a *asyncReader) dispatch(raw cverbs.AsyncEvent) {
	ev := Event{Type: EventType(raw.Type())}
	switch ev.Type.concerns() {
	case concernsQP:
		ev.QP = a.qps.find(raw.QP())
	case concernsCQ:
		ev.CQ = a.cqs.find(raw.CQ())
	case concernsSRQ:
		ev.SRQ = a.srqs.find(raw.SRQ())
	case concernsPort:
		ev.Port = raw.Port()
	}
	a.taken.Add(1)
	a.deliver(ev)
	// The table always has the function, and it cannot fail.
	_ = raw.Ack()
}

func (a *asyncReader) deliver(ev Event) {
	if ev.QP != nil {
		switch ev.Type {
		case EventSQDrained:
			select {
			case ev.QP.happened.drained <- struct{}{}:
			default:
			}
		case EventLastWQE:
			ev.QP.happened.lastReceive.Store(true)
		}
	}
	if ev.CQ != nil {
		ev.CQ.overflown.Store(true)
	}
	logAt(ev.Type.level(), "asynchronous event", []any{"device", a.dev.name, "event", ev})
	a.mu.Lock()
	defer a.mu.Unlock()
	for q := range a.queues {
		if !q.put(ev) {
			a.lost.Add(1)
		}
	}
}

// level is how loud an event is logged.
func (t EventType) level() slog.Level {
	switch t {
	case EventCQError, EventQPFatal, EventQPRequestError, EventQPAccessError, EventPathMigrateError,
		EventDeviceFatal, EventSRQError, EventWQFatal:
		return slog.LevelWarn
	case EventCommEstablished, EventSQDrained, EventSRQLimit, EventLastWQE:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (a *asyncReader) subscribe(q *EventQueue) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	a.queues[q] = struct{}{}
	return nil
}

func (a *asyncReader) unsubscribe(q *EventQueue) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.queues, q)
}

// finish ends all queues.
func (a *asyncReader) finish(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
	for q := range a.queues {
		q.end(err)
	}
	clear(a.queues)
}
