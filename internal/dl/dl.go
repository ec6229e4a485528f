//go:build linux && cgo

package dl

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "gf1_dl.h"
import "C"

import (
	"path/filepath"
	"unsafe"
)

// Library is an opened C library. It stays open for the life of the process,
// because the functions handed out by Symbol stay in use.
type Library struct {
	handle unsafe.Pointer
	path   string
}

// reasonLen bounds the dynamic linker's message that is kept.
const reasonLen = 512

// Open opens the first of names that the dynamic linker finds. A name with a
// slash is a path; others are searched for as dlopen(3) does. library and pkg
// are used in the error.
//
// Implements: dlopen.
func Open(library, pkg string, names ...string) (*Library, error) {
	e := &NotFoundError{Library: library, Package: pkg}
	reason := (*C.char)(C.malloc(reasonLen))
	defer C.free(unsafe.Pointer(reason))
	for _, name := range names {
		cname := C.CString(name)
		handle := C.gf1_dl_open(cname, reason, reasonLen)
		C.free(unsafe.Pointer(cname))
		if handle != nil {
			return &Library{handle: handle, path: loadedPath(handle, name)}, nil
		}
		e.Tried = append(e.Tried, Attempt{Name: name, Reason: C.GoString(reason)})
	}
	return nil, e
}

// loadedPath asks the dynamic linker which file it took and follows links to
// the file that carries the version in its name.
func loadedPath(handle unsafe.Pointer, name string) string {
	cpath := C.gf1_dl_path(handle)
	if cpath == nil {
		return name
	}
	path := C.GoString(cpath)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Path returns the file that was loaded, with symbolic links followed, so that
// its name ends in the full version ("libibverbs.so.1.14.44.0").
func (l *Library) Path() string { return l.path }

// Symbol returns the address of a function. since is the release that brings
// it, for the error.
//
// Implements: dlsym.
func (l *Library) Symbol(name, since string) (unsafe.Pointer, error) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	if p := C.gf1_dl_sym(l.handle, cname); p != nil {
		return p, nil
	}
	return nil, &SymbolError{Symbol: name, Library: l.path, Since: since}
}
