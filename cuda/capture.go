package cuda

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/life"
)

// CaptureMode says what other goroutines may do while a capture is open.
type CaptureMode int

const (
	// CaptureRelaxed, the default, forbids nothing and lets any goroutine on
	// any thread go on with the capture and end it.
	CaptureRelaxed CaptureMode = iota
	// CaptureThreadLocal refuses calls on the capturing thread that could
	// disturb it, such as allocating memory. It belongs to a thread: the
	// goroutine must hold its own (runtime.LockOSThread) until EndCapture.
	CaptureThreadLocal
	// CaptureGlobal refuses such calls on all threads of the process. It
	// belongs to a thread in the same way.
	CaptureGlobal
)

func (m CaptureMode) raw() (int, bool) {
	switch m {
	case CaptureRelaxed:
		return ccuda.CU_STREAM_CAPTURE_MODE_RELAXED, true
	case CaptureThreadLocal:
		return ccuda.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, true
	case CaptureGlobal:
		return ccuda.CU_STREAM_CAPTURE_MODE_GLOBAL, true
	}
	return 0, false
}

// capture is a graph in the making. It holds the stream that it began on, and
// the communicators whose work it recorded: the graph will use them.
type capture struct {
	obj    life.Object
	origin *Stream
	ended  atomic.Bool
	over   chan struct{} // closed when it has let go of everything
	mu     sync.Mutex    // guards ending and the holds
	holds  []*captureHold
}

// captureHold keeps one communicator open while the capture is.
type captureHold struct {
	obj     life.Object
	capture *capture
	parent  *life.Object
}

// CloseAll gives up the whole capture: without the communicator it has no use.
func (h *captureHold) CloseAll() error { return h.capture.abandon() }

// CloseAll gives up the capture.
func (c *capture) CloseAll() error { return c.abandon() }

// open returns the capture that a stream or an event is in, or nil.
func open(p *atomic.Pointer[capture]) *capture {
	c := p.Load()
	if c == nil {
		return nil
	}
	if c.ended.Load() {
		p.CompareAndSwap(c, nil)
		return nil
	}
	return c
}

// notCapturing refuses what would spoil an open capture. The stream is in use.
func (s *Stream) notCapturing(op string) error {
	if open(&s.capture) == nil {
		return nil
	}
	return s.dev.code(op, ErrorStreamCaptureUnsupported, "a capture is open on "+s.String())
}

// BeginCapture has the work that is put on the stream from now on recorded in a
// graph, in place of being done, until EndCapture. Streams that wait for an event
// recorded on this one join the capture, and must be waited for before it ends.
//
// It answers ErrorIllegalState while another goroutine is putting work of a
// communicator on the stream, and after such a call was given up until the
// communicator is aborted: it could not be known on which side of the beginning
// that work falls.
//
// Implements: cuStreamBeginCapture.
func (s *Stream) BeginCapture(mode CaptureMode) error {
	const op = "begin capture"
	if err := s.use(); err != nil {
		return s.device().err(op, err)
	}
	defer s.life.Done()
	raw, ok := mode.raw()
	if !ok {
		return s.dev.err(op, fmt.Errorf("no capture mode %d", int(mode)))
	}
	if open(&s.capture) != nil {
		return s.dev.code(op, ErrorIllegalState, "a capture is open on "+s.String())
	}
	if err := s.exclude(op); err != nil {
		return err
	}
	defer s.work.Unlock()
	if r := s.dev.ctx.BeginCapture(s.h, raw); r != 0 {
		return s.dev.check(op, r)
	}
	c := &capture{origin: s, over: make(chan struct{})}
	life.Enter(&c.obj, c, "capture on "+s.name, s.life)
	s.capture.Store(c)
	return nil
}

// exclude keeps work of communicators off the stream until s.work.Unlock.
func (s *Stream) exclude(op string) error {
	if s.work.TryLock() {
		return nil
	}
	return s.dev.code(op, ErrorIllegalState, "work of a communicator is being put on "+s.String()+
		" by another goroutine, or a call was given up that may still do so: then abort the communicator")
}

// EndCapture ends the capture that BeginCapture began on this stream, and returns
// what was recorded. A capture that something spoiled ends too, with an error
// (ErrorStreamCaptureInvalidated and its neighbours), and the stream is as it was
// before.
//
// The graph keeps open the communicators of package nccl whose work it holds.
//
// Implements: cuStreamEndCapture.
func (s *Stream) EndCapture() (*Graph, error) {
	const op = "end capture"
	if err := s.use(); err != nil {
		return nil, s.device().err(op, err)
	}
	c := open(&s.capture)
	s.life.Done()
	if c == nil {
		return nil, s.dev.code(op, ErrorIllegalState, "no capture was begun on "+s.String())
	}
	if c.origin != s {
		return nil, s.dev.code(op, ErrorStreamCaptureUnmatched, "the capture was begun on "+c.origin.String())
	}
	return c.end(op, true)
}

// Capturing reports whether what is put on the stream is recorded in a graph, by
// whoever began it. If something spoiled the capture it answers true and
// ErrorStreamCaptureInvalidated.
//
// Implements: cuStreamIsCapturing.
func (s *Stream) Capturing() (bool, error) {
	const op = "query capture"
	if err := s.use(); err != nil {
		return false, s.device().err(op, err)
	}
	defer s.life.Done()
	status, r := s.dev.ctx.CaptureStatus(s.h)
	if r != 0 {
		return false, s.dev.check(op, r)
	}
	if status == ccuda.CU_STREAM_CAPTURE_STATUS_INVALIDATED {
		return true, s.dev.code(op, ErrorStreamCaptureInvalidated, "")
	}
	return status != ccuda.CU_STREAM_CAPTURE_STATUS_NONE, nil
}

// end ends the capture and returns its graph, if that is wanted.
//
// Objects of package life are taken before c.mu, never under it: a caller of
// holdCapture has some in use.
func (c *capture) end(op string, want bool) (*Graph, error) {
	s := c.origin
	d := s.dev
	if err := s.use(); err != nil {
		return nil, d.err(op, err)
	}
	h, ended, err := c.endUsed(op)
	s.life.Done()
	if !ended {
		return nil, err
	}
	defer close(c.over)
	var g *Graph
	switch {
	case err != nil:
	case want:
		g = d.enterGraph(h, c.users())
	default:
		err = d.check(op, d.ctx.DestroyGraph(h))
	}
	// What the graph needs, it holds by now.
	keep := func() error { return nil }
	for _, h := range c.holds {
		err = errors.Join(err, h.obj.Close(keep))
	}
	return g, errors.Join(err, c.obj.Close(keep))
}

// endUsed ends the capture while its stream is in use, and reports whether it
// ended here: afterwards the holds do not change.
func (c *capture) endUsed(op string) (graph uintptr, ended bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.origin
	d := s.dev
	if c.ended.Load() {
		return 0, false, d.code(op, ErrorIllegalState, "the capture has just ended")
	}
	h, r := d.ctx.EndCapture(s.h)
	if r != 0 {
		// After most errors the capture is over. From a wrong thread it is not.
		status, q := d.ctx.CaptureStatus(s.h)
		if q == 0 && status != ccuda.CU_STREAM_CAPTURE_STATUS_NONE {
			return 0, false, d.check(op, r)
		}
	}
	c.ended.Store(true)
	s.capture.CompareAndSwap(c, nil)
	return h, true, d.check(op, r)
}

// users returns the communicators that the capture holds.
func (c *capture) users() []*life.Object {
	var users []*life.Object
	for _, h := range c.holds {
		users = append(users, h.parent)
	}
	return users
}

// abandon ends the capture and throws away what it recorded. If somebody else is
// ending it, the graph that comes out holds what it needs when abandon returns.
func (c *capture) abandon() error {
	const op = "give up capture"
	_, err := c.end(op, false)
	if c.ended.Load() {
		<-c.over
		// Whether it had been spoiled before does not matter any more.
		return nil
	}
	return err
}

// holdCapture makes a communicator, which is in use, one that the stream's
// capture needs. Without an open capture it does nothing.
func holdCapture(s *Stream, parent *life.Object) error {
	if s == nil {
		return nil
	}
	c := open(&s.capture)
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended.Load() {
		return nil
	}
	for _, h := range c.holds {
		if h.parent == parent {
			return nil
		}
	}
	h := &captureHold{capture: c, parent: parent}
	life.Enter(&h.obj, h, "capture on "+c.origin.String(), parent)
	c.holds = append(c.holds, h)
	return nil
}
