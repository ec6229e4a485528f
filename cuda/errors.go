package cuda

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/dl"
	"github.com/gofabric/gofabric/internal/life"
)

// What errors.Is can ask of this package's errors, besides a Code of the driver
// (ErrorOutOfMemory and so on) and the context's error of a wait that ended.
var (
	// ErrNotSupported: the device, the driver or this build cannot do it. It
	// is errors.ErrUnsupported.
	ErrNotSupported = errors.ErrUnsupported
	// ErrClosed: the object was closed, or never opened.
	ErrClosed = life.ErrClosed
	// ErrBusy: the object cannot close while others use it.
	ErrBusy = life.ErrBusy
	// ErrLibraryNotFound: libcuda, which comes with the driver, is not there.
	ErrLibraryNotFound = dl.ErrNotFound
	// ErrOutOfRange: a piece of memory lies outside of what it is a piece of,
	// or two that should be equally long are not. The driver was not asked.
	ErrOutOfRange = errors.New("out of range")
	// ErrSharedPage: memory that other devices are to reach shares a page with
	// memory of others. The driver was not asked.
	ErrSharedPage = errors.New("page shared with other memory")
)

// Error is what the driver answered. errors.Is finds its Code in it.
type Error struct {
	Code Code
	Name string // the driver's: "CUDA_ERROR_OUT_OF_MEMORY"
	Text string // the driver's: "out of memory"
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%s, %d)", e.Text, e.Name, int(e.Code))
}

// Is reports whether target is the error's Code, or ErrNotSupported for codes
// that say so.
func (e *Error) Is(target error) bool {
	if target == ErrNotSupported {
		return e.Code == ErrorNotSupported || e.Code == ErrorPeerAccessUnsupported
	}
	c, ok := target.(Code)
	return ok && c == e.Code
}

// driverError makes an error of what the driver answered. A code that the
// driver does not know has a name too.
func driverError(r ccuda.Result) error {
	if r < 0 {
		return r.Missing()
	}
	name, text := r.Text()
	if name == "" {
		name = fmt.Sprintf("CUDA_ERROR_%d", int(r))
	}
	if text == "" {
		text = "an error that this driver does not describe"
	}
	return &Error{Code: Code(r), Name: name, Text: text}
}

// OpError says which operation failed, where, and why.
type OpError struct {
	Op     string // "allocate memory"
	Device int    // the GPU's ordinal; -1 if no GPU was reached
	Err    error
	// Hint says what to do. It is there only when its ground was checked when
	// the error was made.
	Hint string
}

// Error implements error.
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("cuda: " + e.Op)
	if e.Device >= 0 {
		fmt.Fprintf(&b, " on GPU %d", e.Device)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// failed makes the error of an operation that failed before a device was
// reached.
func failed(op string, err error) error { return &OpError{Op: op, Device: -1, Err: err} }

// err makes the error of an operation on the device; nil stays nil.
func (d *Device) err(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case d == nil:
		return failed(op, err)
	}
	return &OpError{Op: op, Device: d.info.Ordinal, Err: err, Hint: hintFor(err)}
}

// check makes the error of what the driver answered; success is nil.
func (d *Device) check(op string, r ccuda.Result) error {
	if r == 0 {
		return nil
	}
	return d.err(op, driverError(r))
}

// code makes an error that this package found by itself and for which the
// driver has a code.
func (d *Device) code(op string, c Code, hint string) error {
	return &OpError{Op: op, Device: d.info.Ordinal, Err: driverError(ccuda.Result(c)), Hint: hint}
}

// outOfRange says what does not fit.
func (d *Device) outOfRange(op, format string, args ...any) error {
	return d.err(op, fmt.Errorf("%w: "+format, append([]any{ErrOutOfRange}, args...)...))
}

// hintFor tells what the code itself proves.
func hintFor(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	switch {
	case e.Code == ErrorStreamCaptureWrongThread:
		return "capture with CaptureRelaxed, or call runtime.LockOSThread before BeginCapture"
	case e.Code.Sticky():
		return "this process has lost the GPU's context and every call answers this: start a new process"
	}
	return ""
}
