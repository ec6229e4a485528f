package dl

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound is what every *NotFoundError matches.
var ErrNotFound = errors.New("library not found")

// NotFoundError says which library could not be opened, what the dynamic
// linker answered for each name tried, and which package installs it.
type NotFoundError struct {
	Library string
	Tried   []Attempt
	Package string // Debian's name for the package
}

// Attempt is one name that was tried and the dynamic linker's answer.
type Attempt struct {
	Name   string
	Reason string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	var reasons []string
	for _, a := range e.Tried {
		reasons = append(reasons, a.Reason)
	}
	msg := fmt.Sprintf("%s cannot be opened (%s)", e.Library, strings.Join(reasons, "; "))
	if e.Package != "" {
		msg += "; Debian's package " + e.Package + " installs it"
	}
	return msg
}

// Is reports whether target is ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// SymbolError says that a library was opened but lacks a function.
// It matches errors.ErrUnsupported.
type SymbolError struct {
	Symbol  string
	Library string // the library's path as loaded
	Since   string // the release that brings the symbol; empty if unknown
}

// Error implements error.
func (e *SymbolError) Error() string {
	msg := fmt.Sprintf("%s has no function %s", e.Library, e.Symbol)
	if e.Since != "" {
		msg += "; it comes with " + e.Since + " and later"
	}
	return msg
}

// Is reports whether target is errors.ErrUnsupported.
func (e *SymbolError) Is(target error) bool { return target == errors.ErrUnsupported }
