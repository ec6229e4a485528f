package nvml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/internal/dl"
	"github.com/gofabric/gofabric/internal/life"
)

// What errors.Is can ask of this package's errors, besides the Code that NVML
// answered.
var (
	// ErrNotSupported: the GPU, the driver or this build cannot do it. It is
	// errors.ErrUnsupported.
	ErrNotSupported = errors.ErrUnsupported
	// ErrClosed: the library or the watch was closed.
	ErrClosed = life.ErrClosed
	// ErrBusy: the library cannot close while a watch is open.
	ErrBusy = life.ErrBusy
	// ErrLibraryNotFound: libnvidia-ml is not installed.
	ErrLibraryNotFound = dl.ErrNotFound
	// ErrNoGPU: the source has no GPU of that UUID.
	ErrNoGPU = errors.New("no such GPU")
)

// OpError says which question failed, about which GPU, and why.
type OpError struct {
	Op  string // "read the NVLinks"
	GPU string // UUID, or "index 3" of a GPU that does not tell its own; empty if none is concerned
	Err error
	// Hint says what to do. It is there only when its ground was checked when
	// the error was made.
	Hint string
}

// Error implements error.
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("nvml: " + e.Op)
	if e.GPU != "" {
		b.WriteString(" of " + e.GPU)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Code is an answer of NVML other than success, nvmlReturn_t. It is an error.
type Code int

// NVML's codes that a program may want to tell apart.
const (
	CodeUninitialized    Code = 1
	CodeInvalidArgument  Code = 2
	CodeNotSupported     Code = 3
	CodeNoPermission     Code = 4
	CodeNotFound         Code = 6
	CodeDriverNotLoaded  Code = 9
	CodeTimeout          Code = 10
	CodeFunctionNotFound Code = 13
	CodeGPUIsLost        Code = 15
	CodeResetRequired    Code = 16
	CodeOperatingSystem  Code = 17
	CodeLibraryMismatch  Code = 18
	CodeNoData           Code = 21
	CodeArgumentVersion  Code = 25
	CodeDeprecated       Code = 26
	CodeGPUNotFound      Code = 28
	CodeUnknown          Code = 999
	codeInsufficientSize Code = 7
	codeIRQIssue         Code = 11
	codeCorruptedInforom Code = 14
	codeInUse            Code = 19
	codeMemory           Code = 20
	codeNotReady         Code = 27
	codeOutOfResources   Code = 23
)

var codeTexts = map[Code]string{
	CodeUninitialized:    "NVML is not initialised",
	CodeInvalidArgument:  "invalid argument",
	CodeNotSupported:     "not supported by this GPU or driver",
	CodeNoPermission:     "no permission",
	CodeNotFound:         "not found",
	codeInsufficientSize: "insufficient size",
	CodeDriverNotLoaded:  "the NVIDIA kernel driver is not loaded",
	CodeTimeout:          "timed out",
	codeIRQIssue:         "the kernel found an interrupt problem with the GPU",
	CodeFunctionNotFound: "the driver has no such function",
	codeCorruptedInforom: "the board's infoROM is corrupted",
	CodeGPUIsLost:        "the GPU has fallen off the bus",
	CodeResetRequired:    "the GPU needs a reset",
	CodeOperatingSystem:  "the operating system blocks the device (cgroup, or a container without the device file)",
	CodeLibraryMismatch:  "libnvidia-ml and the kernel driver are of different versions",
	codeInUse:            "in use",
	codeMemory:           "out of memory",
	CodeNoData:           "no data",
	codeOutOfResources:   "out of a critical resource",
	CodeArgumentVersion:  "the driver does not know this version of the question",
	CodeDeprecated:       "no longer offered by the driver",
	codeNotReady:         "not ready",
	CodeGPUNotFound:      "no GPU found",
	CodeUnknown:          "unknown error of the driver",
}

// Error implements error.
func (c Code) Error() string {
	if text, ok := codeTexts[c]; ok {
		return fmt.Sprintf("%s (NVML error %d)", text, int(c))
	}
	return fmt.Sprintf("NVML error %d", int(c))
}

// Is reports whether target is errors.ErrUnsupported and c means that.
func (c Code) Is(target error) bool {
	return target == errors.ErrUnsupported &&
		(c == CodeNotSupported || c == CodeFunctionNotFound || c == CodeArgumentVersion || c == CodeDeprecated)
}
