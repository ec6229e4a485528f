package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/life"
)

// Stream is a queue of work for a GPU, done in order. It is safe for concurrent
// use: what two goroutines put on it at once is done in either order.
type Stream struct {
	// life is the object whose closing ends the stream: its own, or the
	// device's for streams that live as long as the device.
	life    *life.Object
	own     life.Object
	dev     *Device
	h       uintptr
	name    string
	foreign bool // made by others, and not ours to destroy
	capture atomic.Pointer[capture]
	// work is read by whoever puts work of a communicator on the stream. Captures
	// begin and are joined with it written, and never wait for it: work that goes
	// into a capture must have been told of it.
	work sync.RWMutex
	// inside is read by whoever is inside a communicator's call with the stream.
	// Close does not wait for it: such a call may last until the communicator is
	// aborted, and meanwhile nobody else could use the stream.
	inside sync.RWMutex
	serial uint64
}

var streamSerials atomic.Uint64

// StreamOptions are the options of a stream.
type StreamOptions struct {
	// Priority is 0 or a number within Device.StreamPriorities: work of a
	// stream with a lower number is preferred.
	Priority int
	// Blocking has the stream and the null stream wait for each other, as the
	// streams of cudaStreamCreate do.
	Blocking bool
}

// StreamPriorities returns the numbers that stream priorities lie between. The
// greatest priority is the lowest number.
//
// Implements: cuCtxGetStreamPriorityRange.
func (d *Device) StreamPriorities() (least, greatest int, err error) {
	const op = "read stream priorities"
	if err := d.use(); err != nil {
		return 0, 0, d.err(op, err)
	}
	defer d.obj.Done()
	least, greatest, r := d.ctx.Priorities()
	return least, greatest, d.check(op, r)
}

// CreateStream makes a stream.
//
// Implements: cuStreamCreateWithPriority.
func (d *Device) CreateStream(opts StreamOptions) (*Stream, error) {
	const op = "create stream"
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	if opts.Priority != 0 {
		// The driver would quietly take the nearest.
		least, greatest, r := d.ctx.Priorities()
		if r != 0 {
			return nil, d.check(op, r)
		}
		if opts.Priority > least || opts.Priority < greatest {
			return nil, d.outOfRange(op, "priority %d: the GPU has %d (greatest) to %d (least)", opts.Priority, greatest, least)
		}
	}
	flags := uint32(ccuda.CU_STREAM_NON_BLOCKING)
	if opts.Blocking {
		flags = 0
	}
	h, r := d.ctx.CreateStream(flags, opts.Priority)
	if r != 0 {
		return nil, d.check(op, r)
	}
	return d.enterStream(&Stream{h: h, name: fmt.Sprintf("stream %d", d.number())}), nil
}

func (d *Device) enterStream(s *Stream) *Stream {
	s.life, s.dev, s.serial = &s.own, d, streamSerials.Add(1)
	life.Enter(&s.own, s, s.name, &d.obj)
	return s
}

// NullStream returns the stream that exists without being made (handle 0). It
// lives as long as the device, and Close does nothing to it. It cannot be
// captured, and blocking streams wait for it.
func (d *Device) NullStream() *Stream { return &d.null }

// The handle values that name a stream without being one.
const (
	legacyStream    = 1
	perThreadStream = 2
)

// WrapStream makes a Stream of one that other code made on this device's primary
// context: a CUstream or cudaStream_t. That code keeps it and must not destroy it
// before Close, which only forgets it. A handle that is no stream at all is not
// found out: the driver follows it as a pointer.
//
// Handle 2, the stream of the calling thread, means another stream on each
// thread. A goroutine has none of its own: use it only between
// runtime.LockOSThread and UnlockOSThread. Package nccl refuses it.
//
// Implements: cuStreamGetCtx.
func (d *Device) WrapStream(handle uintptr) (*Stream, error) {
	const op = "wrap stream"
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	if handle != 0 && handle != legacyStream && handle != perThreadStream {
		same, r := d.ctx.OwnsStream(handle)
		if r != 0 {
			return nil, d.check(op, r)
		}
		if !same {
			return nil, d.code(op, ErrorInvalidContext, "the stream is of another context: of another GPU, or not of the primary one")
		}
	}
	return d.enterStream(&Stream{h: handle, foreign: true, name: fmt.Sprintf("wrapped stream %#x", handle)}), nil
}

// use keeps the stream open until s.life.Done. What needs another object too
// takes that one first, everywhere: two that close at the same time would
// otherwise stop two users of both for good.
func (s *Stream) use() error {
	if s == nil || s.life == nil {
		return ErrClosed
	}
	return s.life.Use()
}

// device returns the stream's device, or nil of a stream that was never made.
func (s *Stream) device() *Device {
	if s == nil {
		return nil
	}
	return s.dev
}

// Handle returns the stream's CUstream, for other bindings. It is good until
// Close.
func (s *Stream) Handle() uintptr { return s.h }

// Device returns the GPU that the stream is of.
func (s *Stream) Device() *Device { return s.dev }

// String returns "stream 3 of GPU 0".
func (s *Stream) String() string {
	if s.device() == nil {
		return "no stream"
	}
	return fmt.Sprintf("%s of GPU %d", s.name, s.dev.info.Ordinal)
}

// Query reports whether all work on the stream is done. It answers the error of
// work that failed.
//
// Implements: cuStreamQuery.
func (s *Stream) Query() (done bool, err error) {
	const op = "query stream"
	if err := s.use(); err != nil {
		return false, s.device().err(op, err)
	}
	defer s.life.Done()
	if err := s.notCapturing(op); err != nil {
		return false, err
	}
	return s.dev.happened(op, s.dev.ctx.QueryStream(s.h))
}

// Synchronize waits until the work that is on the stream now is done, and
// answers the error of work that failed. No thread waits. When ctx ends,
// Synchronize returns, and the work goes on.
//
// Implements: cuEventQuery.
func (s *Stream) Synchronize(ctx context.Context) error {
	if done, err := s.Query(); done || err != nil {
		return err
	}
	return s.finish(ctx, "wait for stream")
}

// finish waits for an event behind the work on the stream. A query of the stream
// itself would wait for what others put on it later, too.
func (s *Stream) finish(ctx context.Context, op string) error {
	if err := s.use(); err != nil {
		return s.device().err(op, err)
	}
	d := s.dev
	if ctx == nil {
		s.life.Done()
		return d.err(op, errNoContext)
	}
	e, r := d.takeEvent()
	if r == 0 {
		if r = d.ctx.RecordEvent(e, s.h); r != 0 {
			_ = d.putEvent(e) // the stream holds the device: nothing is released
		}
	}
	s.life.Done()
	if r != 0 {
		return d.check(op, r)
	}
	err := d.waitPoll(ctx, op, s.String(), func() (bool, error) {
		if err := s.use(); err != nil {
			return false, d.err(op, err)
		}
		defer s.life.Done()
		return d.happened(op, d.ctx.QueryEvent(e))
	})
	if dropped := d.putEvent(e); err == nil {
		err = d.err(op, dropped)
	}
	return err
}

// WaitEvent has the work that is put on the stream from now on wait until the
// event, as it was last recorded, has happened. The event may be of another GPU.
// An event out of a capture has the stream join it, which fails as BeginCapture
// does while another goroutine is at it. It allocates nothing.
//
// Implements: cuStreamWaitEvent.
func (s *Stream) WaitEvent(e *Event) error {
	const op = "wait for event on stream"
	if err := e.use(); err != nil {
		return s.device().err(op, err)
	}
	defer e.obj.Done()
	if err := s.use(); err != nil {
		return s.device().err(op, err)
	}
	defer s.life.Done()
	if open(&e.capture) != nil && open(&s.capture) == nil {
		if err := s.exclude(op); err != nil {
			return err
		}
		defer s.work.Unlock()
	}
	if r := s.dev.ctx.WaitEvent(s.h, e.h); r != 0 {
		return s.dev.check(op, r)
	}
	// Waiting for an event out of a capture joins the capture.
	if c := open(&e.capture); c != nil {
		s.capture.Store(c)
	}
	return nil
}

// Close destroys the stream. Work on it goes on. It fails with ErrBusy while a
// capture is open on it, and while a call of a communicator is putting work there.
//
// Implements: cuStreamDestroy.
func (s *Stream) Close() error {
	if s == nil || s.dev == nil {
		return nil
	}
	const op = "destroy stream"
	if !s.inside.TryLock() {
		return s.dev.err(op, fmt.Errorf("%w: a call of a communicator is putting work on it", ErrBusy))
	}
	defer s.inside.Unlock()
	return s.dev.closing(op, &s.own, func() ccuda.Result {
		if s.foreign {
			return 0
		}
		return s.dev.ctx.DestroyStream(s.h)
	})
}

// CloseAll gives up a capture that is open on the stream, and destroys it.
func (s *Stream) CloseAll() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.own.CloseChildren(), s.Close())
}
