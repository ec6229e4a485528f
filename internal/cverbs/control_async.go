//go:build linux && cgo

package cverbs

// #include "gf1_shim.h"
import "C"

import "unsafe"

// AsyncEvent is something that happened to an object or to the device (struct
// ibv_async_event). Each one taken must be acknowledged: destroying its object
// waits for that.
type AsyncEvent struct {
	element [8]byte
	kind    int32
	v       unsafe.Pointer
}

// AsyncFD returns the descriptor that is readable when an event waits; the
// context owns it.
func (c Context) AsyncFD() int { return int(c.c().async_fd) }

// NextAsyncEvent takes an event. On a descriptor that does not block, no event
// is EAGAIN.
//
// Implements: ibv_get_async_event.
func (c Context) NextAsyncEvent() (AsyncEvent, error) {
	var ev C.struct_gf1_async_event
	if rc := C.gf1_get_async_event(table(c.v), c.c(), &ev); rc != 0 {
		return AsyncEvent{}, errno(rc)
	}
	return AsyncEvent{element: *(*[8]byte)(unsafe.Pointer(&ev.element)), kind: int32(ev.event_type), v: c.v}, nil
}

// Ack acknowledges the event.
//
// Implements: ibv_ack_async_event.
func (e AsyncEvent) Ack() error {
	var ev C.struct_gf1_async_event
	*(*[8]byte)(unsafe.Pointer(&ev.element)) = e.element
	ev.event_type = C.int32_t(e.kind)
	return errno(C.gf1_ack_async_event(table(e.v), &ev))
}

// Type returns what happened, one of IBV_EVENT_*.
func (e AsyncEvent) Type() int32 { return e.kind }

// Port returns the port of an event that is about a port.
func (e AsyncEvent) Port() int { return int(*(*int32)(unsafe.Pointer(&e.element))) }

func (e AsyncEvent) object() unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&e.element)) }

// CQ returns the object of an event that is about a CQ.
func (e AsyncEvent) CQ() CQ { return CQ{e.object(), e.v} }

// QP returns the object of an event that is about a queue pair.
func (e AsyncEvent) QP() QP { return QP{e.object(), e.v} }

// SRQ returns the object of an event that is about a shared receive queue.
func (e AsyncEvent) SRQ() SRQ { return SRQ{e.object(), e.v} }
