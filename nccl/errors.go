package nccl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/internal/dl"
	"github.com/gofabric/gofabric/internal/life"
)

// What errors.Is can ask of this package's errors, besides a Result that NCCL
// answered (ResultRemoteError and so on) and the error of a context.
var (
	// ErrNotSupported: the loaded NCCL, or this build, cannot do it. It is
	// errors.ErrUnsupported.
	ErrNotSupported = errors.ErrUnsupported
	// ErrClosed: the object was closed, or never opened.
	ErrClosed = life.ErrClosed
	// ErrBusy: the object cannot close while others use it.
	ErrBusy = life.ErrBusy
	// ErrLibraryNotFound: libnccl is not installed.
	ErrLibraryNotFound = dl.ErrNotFound
	// ErrAborted: the communicator was aborted, by this call or another, or
	// Shrink ended the work that was under way (ShrinkAbort).
	ErrAborted = errors.New("communicator aborted")
	// ErrBroken: an operation was cancelled or failed inside NCCL; nothing but
	// Abort is allowed.
	ErrBroken = errors.New("communicator broken, only Abort is allowed")
	// ErrFinalized: the communicator was finalized; nothing but Close and
	// Abort is allowed.
	ErrFinalized = errors.New("communicator finalized, only Close and Abort are allowed")
	// ErrRevoked: the communicator was revoked; nothing but Split, Shrink,
	// Close and Abort is allowed.
	ErrRevoked = errors.New("communicator revoked, only Split, Shrink, Close and Abort are allowed")
	// ErrSuspended: the communicator is suspended; nothing but Resume,
	// MemStats and Abort is allowed.
	ErrSuspended = errors.New("communicator suspended, only Resume, MemStats and Abort are allowed")
	// ErrStuck: NCCL did not come back within the bound. What it holds is left
	// to it.
	ErrStuck = errors.New("NCCL did not return in time")
	// ErrIDUsed: this process has used the unique id for that rank already.
	ErrIDUsed = errors.New("unique id used already for this rank")
	// ErrConcurrentUse: two goroutines used one group at once.
	ErrConcurrentUse = errors.New("used by two goroutines at once")
)

// Result is what an NCCL function answers. It is an error, so that errors.Is can
// ask for it.
type Result int

// NCCL's results.
const (
	ResultSuccess            Result = 0
	ResultUnhandledCUDAError Result = 1
	ResultSystemError        Result = 2
	ResultInternalError      Result = 3
	ResultInvalidArgument    Result = 4
	ResultInvalidUsage       Result = 5
	ResultRemoteError        Result = 6
	ResultInProgress         Result = 7
	ResultTimeout            Result = 8
)

var resultNames = []string{
	"ncclSuccess", "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalidArgument",
	"ncclInvalidUsage", "ncclRemoteError", "ncclInProgress", "ncclTimeout",
}

// String returns NCCL's name of the result, or its number if it is newer than
// this package.
func (r Result) String() string {
	if r >= 0 && int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("ncclResult %d", int(r))
}

// Error implements error.
func (r Result) Error() string { return r.String() }

// Error is a result that NCCL answered.
type Error struct {
	Code Result
	// Text is NCCL's text for the result.
	Text string
	// Last is the last message that NCCL wrote in this process: one buffer for
	// all communicators, never cleared. It usually is about this error, and may
	// be about an older or another one.
	Last string
}

// Error implements error.
func (e *Error) Error() string {
	msg := e.Code.String()
	if e.Text != "" {
		msg += ": " + e.Text
	}
	if e.Last != "" {
		msg += "; NCCL's last message in this process: " + strings.TrimSpace(e.Last)
	}
	return msg
}

// Is reports whether target is the error's Code.
func (e *Error) Is(target error) bool {
	r, ok := target.(Result)
	return ok && r == e.Code
}

// ArgumentError is a call that was refused before NCCL saw it. It matches
// ResultInvalidArgument.
type ArgumentError struct{ Problem string }

// Error implements error.
func (e *ArgumentError) Error() string { return e.Problem }

// Is reports whether target is ResultInvalidArgument.
func (e *ArgumentError) Is(target error) bool { return target == ResultInvalidArgument }

func badArgument(format string, args ...any) error {
	return &ArgumentError{Problem: fmt.Sprintf(format, args...)}
}

// UnsupportedError is something that the loaded library is too old for. It
// matches ErrNotSupported.
type UnsupportedError struct {
	What   string // "ncclCommShrink", "data type f8e4m3"
	Since  Version
	Loaded Version
	Path   string // of the loaded library
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	if e.Loaded >= e.Since {
		return fmt.Sprintf("%s is missing from %s, though that is NCCL %v and %v brought it: the library was built without it",
			e.What, e.Path, e.Loaded, e.Since)
	}
	return fmt.Sprintf("%s comes with NCCL %v; %s is NCCL %v", e.What, e.Since, e.Path, e.Loaded)
}

// Is reports whether target is ErrNotSupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrNotSupported }

// OpError says which operation failed, on which rank, and why.
type OpError struct {
	Op     string // "AllReduce"
	Rank   int    // -1 if no communicator was reached
	Size   int    // ranks of the communicator; 0 if none was reached
	Device int    // CUDA's ordinal; -1 if no device was reached
	Err    error
	// Hint says what to do. It is there only when its ground was checked when
	// the error was made.
	Hint string
}

// Error implements error.
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("nccl: " + e.Op)
	if e.Size != 0 {
		fmt.Fprintf(&b, " on rank %d of %d", e.Rank, e.Size)
	}
	if e.Device >= 0 {
		fmt.Fprintf(&b, " (device %d)", e.Device)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// OpFailure is one operation of a group that failed.
type OpFailure struct {
	Index int    // from 0, in the order of recording
	Op    string // "Send"
	Rank  int    // of the communicator that it was for
	Err   error
}

// GroupError is a group that failed. NCCL drops the whole group when one
// operation is refused, so none of them took place.
type GroupError struct {
	Failures []OpFailure
	// End is what ncclGroupEnd, or a communicator afterwards, answered; nil if
	// only operations failed.
	End error
}

// Error implements error.
func (e *GroupError) Error() string {
	const most = 4
	var parts []string
	for i, f := range e.Failures {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more operations", len(e.Failures)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("operation %d (%s on rank %d): %v", f.Index, f.Op, f.Rank, f.Err))
	}
	if e.End != nil {
		parts = append(parts, fmt.Sprintf("the group: %v", e.End))
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns every cause.
func (e *GroupError) Unwrap() []error {
	var errs []error
	for _, f := range e.Failures {
		errs = append(errs, f.Err)
	}
	if e.End != nil {
		errs = append(errs, e.End)
	}
	return errs
}
