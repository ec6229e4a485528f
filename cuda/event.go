package cuda

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/life"
)

// Event marks a place in a stream's work. It is safe for concurrent use. An event
// that was not recorded yet counts as happened.
type Event struct {
	obj     life.Object
	dev     *Device
	h       uintptr
	timing  bool
	capture atomic.Pointer[capture] // that it was last recorded in
}

// EventOptions are the options of an event.
type EventOptions struct {
	// NoTiming makes an event that Elapsed cannot use, and that costs less.
	NoTiming bool
	// Interprocess makes one that other processes can open (IPCHandle). Such
	// an event has no timing.
	Interprocess bool
}

// CreateEvent makes an event.
//
// Implements: cuEventCreate.
func (d *Device) CreateEvent(opts EventOptions) (*Event, error) {
	const op = "create event"
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	var flags uint32
	if opts.NoTiming || opts.Interprocess {
		flags |= ccuda.CU_EVENT_DISABLE_TIMING
	}
	if opts.Interprocess {
		flags |= ccuda.CU_EVENT_INTERPROCESS
	}
	h, r := d.ctx.CreateEvent(flags)
	if r != 0 {
		return nil, d.check(op, r)
	}
	return d.enterEvent(&Event{h: h, timing: flags&ccuda.CU_EVENT_DISABLE_TIMING == 0}), nil
}

func (d *Device) enterEvent(e *Event) *Event {
	e.dev = d
	life.Enter(&e.obj, e, fmt.Sprintf("event %d", d.number()), &d.obj)
	return e
}

func (e *Event) use() error {
	if e == nil {
		return ErrClosed
	}
	return e.obj.Use()
}

func (e *Event) device() *Device {
	if e == nil {
		return nil
	}
	return e.dev
}

// Handle returns the event's CUevent, for other bindings. It is good until
// Close.
func (e *Event) Handle() uintptr { return e.h }

// Device returns the GPU that the event is of.
func (e *Event) Device() *Device { return e.dev }

// Record puts the event behind the work that is on the stream now. The stream
// must be of the event's GPU. It allocates nothing.
//
// Implements: cuEventRecord.
func (e *Event) Record(s *Stream) error {
	const op = "record event"
	if err := e.use(); err != nil {
		return e.device().err(op, err)
	}
	defer e.obj.Done()
	if err := s.use(); err != nil {
		return e.dev.err(op, err)
	}
	defer s.life.Done()
	if s.dev.ctx != e.dev.ctx {
		return e.dev.code(op, ErrorInvalidHandle, "the stream is of another GPU")
	}
	if r := s.dev.ctx.RecordEvent(e.h, s.h); r != 0 {
		return s.dev.check(op, r)
	}
	e.capture.Store(open(&s.capture))
	return nil
}

// Query reports whether the event has happened. It answers the error of work
// before it that failed.
//
// Implements: cuEventQuery.
func (e *Event) Query() (happened bool, err error) {
	const op = "query event"
	if err := e.use(); err != nil {
		return false, e.device().err(op, err)
	}
	defer e.obj.Done()
	if open(&e.capture) != nil {
		// Asking the driver would spoil the capture.
		return false, e.dev.code(op, ErrorCapturedEvent, "it stands for a place in a graph until it is recorded outside of the capture")
	}
	return e.dev.happened(op, e.dev.ctx.QueryEvent(e.h))
}

// Synchronize waits until the event has happened, and answers the error of work
// before it that failed. No thread waits. When ctx ends, Synchronize returns,
// and the work goes on.
//
// Implements: cuEventQuery.
func (e *Event) Synchronize(ctx context.Context) error {
	return e.device().waitPoll(ctx, "wait for event", "its stream", e.Query)
}

// Elapsed returns the time between two events, by the GPU's clock, in steps of
// about half a microsecond. It answers ErrorNotReady until both have happened.
//
// Implements: cuEventElapsedTime.
func (e *Event) Elapsed(since *Event) (time.Duration, error) {
	const op = "measure time between events"
	if e == nil || since == nil {
		return 0, e.device().err(op, ErrClosed)
	}
	for _, used := range inOrder(e, since) {
		if err := used.use(); err != nil {
			return 0, e.dev.err(op, err)
		}
		defer used.obj.Done()
	}
	if !e.timing || !since.timing {
		return 0, e.dev.code(op, ErrorInvalidHandle, "an event made with NoTiming or Interprocess has no time")
	}
	ms, r := e.dev.ctx.Elapsed(since.h, e.h)
	return time.Duration(float64(ms) * float64(time.Millisecond)), e.dev.check(op, r)
}

// inOrder returns two events in the order in which everybody takes them, or one
// if they are the same.
func inOrder(a, b *Event) []*Event {
	switch {
	case a == b:
		return []*Event{a}
	case a.h < b.h:
		return []*Event{a, b}
	}
	return []*Event{b, a}
}

// Close destroys the event.
//
// Implements: cuEventDestroy.
func (e *Event) Close() error {
	if e == nil || e.dev == nil {
		return nil
	}
	return e.dev.closing("destroy event", &e.obj, func() ccuda.Result { return e.dev.ctx.DestroyEvent(e.h) })
}

// CloseAll is Close: nothing hangs on an event.
func (e *Event) CloseAll() error { return e.Close() }
