package rdmacm

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/gofabric/gofabric/internal/dl"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/verbs"
)

// What errors.Is can ask of this package's errors, besides the errno that the
// library or the kernel answered.
var (
	// ErrNotSupported: the library, the kernel or this build cannot do it. It
	// is errors.ErrUnsupported.
	ErrNotSupported = errors.ErrUnsupported
	// ErrClosed: the object was closed, or never opened.
	ErrClosed = life.ErrClosed
	// ErrBusy: the object cannot close while others use it.
	ErrBusy = life.ErrBusy
	// ErrLibraryNotFound: librdmacm is not installed.
	ErrLibraryNotFound = dl.ErrNotFound
	// ErrDeviceGone: the device was removed.
	ErrDeviceGone = verbs.ErrDeviceGone
	// ErrRejected: the peer, or its kernel, refused. The error is a
	// *RejectError.
	ErrRejected = errors.New("connection rejected")
	// ErrUnreachable: the peer did not answer.
	ErrUnreachable = errors.New("peer unreachable")
	// ErrTimedOut: the kernel gave up waiting. It is syscall.ETIMEDOUT.
	ErrTimedOut error = syscall.ETIMEDOUT
	// ErrDisconnected: the connection is over.
	ErrDisconnected = errors.New("disconnected")
	// ErrPrivateData: the peer's private data is not framed as this package
	// frames it.
	ErrPrivateData = errors.New("private data is not framed")
	// ErrAbandoned: an earlier call's context ended before the kernel
	// answered. The id is good for nothing but Close.
	ErrAbandoned = errors.New("an earlier operation was abandoned")
	// ErrConcurrentUse: two goroutines operated on one id at once.
	ErrConcurrentUse = verbs.ErrConcurrentUse
)

// OpError says which operation failed, where, and why.
type OpError struct {
	Op      string // "resolve address"
	Address string // the peer's, or the listener's; empty if none is concerned
	Device  string // "mlx5_0"; empty if the id is not bound to one
	Port    int    // the device's, from 1; 0 if the id is not bound to one
	Err     error
	// Hint says what to do. It is there only when its ground was checked when
	// the error was made.
	Hint string
}

// Error implements error.
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("rdmacm: " + e.Op)
	if e.Address != "" {
		b.WriteString(" " + e.Address)
	}
	if e.Device != "" {
		fmt.Fprintf(&b, " on %s port %d", e.Device, e.Port)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// EventError is an event that ended an operation without success.
type EventError struct {
	Event EventType
	// Errno is the kernel's reason; 0 if it gave none.
	Errno syscall.Errno
}

// Error implements error.
func (e *EventError) Error() string {
	if e.Errno == 0 {
		return e.Event.String()
	}
	return fmt.Sprintf("%v: %v", e.Event, e.Errno)
}

// Unwrap returns the errno, if there is one.
func (e *EventError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// Is reports whether target is the sentinel for the event.
func (e *EventError) Is(target error) bool {
	switch e.Event {
	case EventUnreachable:
		return target == ErrUnreachable
	case EventDisconnected:
		return target == ErrDisconnected
	case EventDeviceRemoval:
		return target == ErrDeviceGone
	}
	return false
}

// RejectError is a refused connection.
type RejectError struct {
	Reason RejectReason
	// Data is what the peer sent with it, as an application's reason; padded
	// (PrivateData).
	Data PrivateData
}

// Error implements error.
func (e *RejectError) Error() string {
	return fmt.Sprintf("connection rejected: %v (reason %d)", e.Reason, int(e.Reason))
}

// Is reports whether target is ErrRejected, or syscall.ECONNREFUSED where nobody
// listened, or the reason.
func (e *RejectError) Is(target error) bool {
	if r, ok := target.(RejectReason); ok {
		return r == e.Reason
	}
	return target == ErrRejected || target == syscall.ECONNREFUSED && e.Reason == RejectNoListener
}
