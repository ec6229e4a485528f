//go:build !linux || !cgo

package dl

import (
	"errors"
	"fmt"
	"unsafe"
)

// Library is an opened C library; in this build there is none.
type Library struct{}

// Open answers errors.ErrUnsupported: this build has no cgo.
func Open(library, _ string, _ ...string) (*Library, error) {
	return nil, fmt.Errorf("%s cannot be opened: built without cgo for linux: %w", library, errors.ErrUnsupported)
}

// Path returns "": there is no library in this build.
func (l *Library) Path() string { return "" }

// Symbol answers errors.ErrUnsupported: this build has no cgo.
func (l *Library) Symbol(name, _ string) (unsafe.Pointer, error) {
	return nil, fmt.Errorf("%s: built without cgo for linux: %w", name, errors.ErrUnsupported)
}
