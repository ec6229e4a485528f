package verbs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/internal/dl"
	"github.com/gofabric/gofabric/internal/life"
)

// What errors.Is can ask of this package's errors, besides the errno that a
// verb answered (syscall.EINVAL and so on).
var (
	// ErrNotSupported: the device, the kernel, the library or this build
	// cannot do it. It is errors.ErrUnsupported.
	ErrNotSupported = errors.ErrUnsupported
	// ErrClosed: the object was closed, or never opened.
	ErrClosed = life.ErrClosed
	// ErrBusy: the object cannot close while others use it.
	ErrBusy = life.ErrBusy
	// ErrLibraryNotFound: libibverbs is not installed.
	ErrLibraryNotFound = dl.ErrNotFound
	// ErrSendQueueFull: the send queue has no room until completions are
	// polled. The queue pair is well.
	ErrSendQueueFull = errors.New("send queue full")
	// ErrRecvQueueFull is the same of the receive queue.
	ErrRecvQueueFull = errors.New("receive queue full")
	// ErrConcurrentUse: two goroutines were inside the same side of a queue
	// pair, or the same completion queue, at once.
	ErrConcurrentUse = errors.New("used by two goroutines at once")
	// ErrOutOfRange: a piece of memory lies outside of what it is a piece of.
	// The device was not asked.
	ErrOutOfRange = errors.New("out of range")
	// ErrNotGPUMemory: what was given as memory of a GPU is not, or not any
	// more.
	ErrNotGPUMemory = errors.New("not memory of a GPU")
	// ErrDeviceGone: the device was removed.
	ErrDeviceGone = errors.New("device removed")
)

// errNoContext is the answer to a context that is nil.
var errNoContext = errors.New("the context is nil: context.Background() waits without end")

// OpError says which operation failed, where, and why.
type OpError struct {
	Op     string // "create QP"
	Device string // "mlx5_0"; empty if no device was reached
	Port   int    // from 1; 0 if no port is concerned
	QPN    uint32 // 0 if no queue pair is concerned
	Err    error
	// Hint says what to do. It is there only when its ground was checked when
	// the error was made.
	Hint string
}

// Error implements error.
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("verbs: " + e.Op)
	if e.Device != "" {
		b.WriteString(" on " + e.Device)
	}
	if e.Port != 0 {
		fmt.Fprintf(&b, " port %d", e.Port)
	}
	if e.QPN != 0 {
		fmt.Fprintf(&b, " QP 0x%06x", e.QPN)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// CompletionError is a request that the device could not carry out.
type CompletionError struct {
	ID        uint64 // the request's, as given when it was posted
	Status    Status
	VendorErr uint32 // the device's own code; its manual knows it
	QPN       uint32
}

// Error implements error.
func (e *CompletionError) Error() string {
	return fmt.Sprintf("verbs: request %d on QP 0x%06x: %v (status %d, vendor error 0x%x)",
		e.ID, e.QPN, e.Status, int(e.Status), e.VendorErr)
}

// Is reports whether target is the error's Status.
func (e *CompletionError) Is(target error) bool {
	s, ok := target.(Status)
	return ok && s == e.Status
}
