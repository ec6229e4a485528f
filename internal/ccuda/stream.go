//go:build linux && cgo

package ccuda

// #cgo noescape gf1_cuda_stream_query
// #cgo nocallback gf1_cuda_stream_query
// #cgo noescape gf1_cuda_stream_wait
// #cgo nocallback gf1_cuda_stream_wait
// #cgo noescape gf1_cuda_event_record
// #cgo nocallback gf1_cuda_event_record
// #cgo noescape gf1_cuda_event_query
// #cgo nocallback gf1_cuda_event_query
// #include "gf1_cuda_shim.h"
import "C"

// CreateStream makes a stream.
//
// Implements: cuStreamCreateWithPriority.
func (c Context) CreateStream(flags uint32, priority int) (uintptr, Result) {
	var s C.gf1_cuda_handle
	rc := C.gf1_cuda_stream_create(c.c(), C.uint(flags), C.int(priority), &s)
	return uintptr(s), Result(rc)
}

// DestroyStream destroys a stream; work on it goes on.
//
// Implements: cuStreamDestroy.
func (c Context) DestroyStream(s uintptr) Result {
	return Result(C.gf1_cuda_stream_destroy(c.c(), C.gf1_cuda_handle(s)))
}

// QueryStream answers 0 once the stream's work is done.
//
// Implements: cuStreamQuery.
func (c Context) QueryStream(s uintptr) Result {
	return Result(C.gf1_cuda_stream_query(c.c(), C.gf1_cuda_handle(s)))
}

// OwnsStream reports whether the stream is of this context.
//
// Implements: cuStreamGetCtx.
func (c Context) OwnsStream(s uintptr) (bool, Result) {
	var same C.int
	rc := C.gf1_cuda_stream_belongs(c.c(), C.gf1_cuda_handle(s), &same)
	return same != 0, Result(rc)
}

// WaitEvent has what is put on the stream from now on wait for the event.
//
// Implements: cuStreamWaitEvent.
func (c Context) WaitEvent(s, event uintptr) Result {
	return Result(C.gf1_cuda_stream_wait(c.c(), C.gf1_cuda_handle(s), C.gf1_cuda_handle(event)))
}

// BeginCapture has the stream record into a graph.
//
// Implements: cuStreamBeginCapture.
func (c Context) BeginCapture(s uintptr, mode int) Result {
	return Result(C.gf1_cuda_capture_begin(c.c(), C.gf1_cuda_handle(s), C.int(mode)))
}

// EndCapture returns what the stream recorded.
//
// Implements: cuStreamEndCapture.
func (c Context) EndCapture(s uintptr) (uintptr, Result) {
	var g C.gf1_cuda_handle
	rc := C.gf1_cuda_capture_end(c.c(), C.gf1_cuda_handle(s), &g)
	return uintptr(g), Result(rc)
}

// CaptureStatus returns a CUstreamCaptureStatus.
//
// Implements: cuStreamIsCapturing.
func (c Context) CaptureStatus(s uintptr) (int, Result) {
	var status C.int
	rc := C.gf1_cuda_capture_status(c.c(), C.gf1_cuda_handle(s), &status)
	return int(status), Result(rc)
}

// CreateEvent makes an event.
//
// Implements: cuEventCreate.
func (c Context) CreateEvent(flags uint32) (uintptr, Result) {
	var e C.gf1_cuda_handle
	rc := C.gf1_cuda_event_create(c.c(), C.uint(flags), &e)
	return uintptr(e), Result(rc)
}

// DestroyEvent destroys an event.
//
// Implements: cuEventDestroy.
func (c Context) DestroyEvent(e uintptr) Result {
	return Result(C.gf1_cuda_event_destroy(c.c(), C.gf1_cuda_handle(e)))
}

// RecordEvent puts an event on a stream.
//
// Implements: cuEventRecord.
func (c Context) RecordEvent(e, s uintptr) Result {
	return Result(C.gf1_cuda_event_record(c.c(), C.gf1_cuda_handle(e), C.gf1_cuda_handle(s)))
}

// QueryEvent answers 0 once the event has happened.
//
// Implements: cuEventQuery.
func (c Context) QueryEvent(e uintptr) Result {
	return Result(C.gf1_cuda_event_query(c.c(), C.gf1_cuda_handle(e)))
}

// Elapsed returns the milliseconds between two events.
//
// Implements: cuEventElapsedTime.
func (c Context) Elapsed(start, end uintptr) (float32, Result) {
	var ms C.float
	rc := C.gf1_cuda_event_elapsed(c.c(), C.gf1_cuda_handle(start), C.gf1_cuda_handle(end), &ms)
	return float32(ms), Result(rc)
}
