//go:build linux && cgo

package crdmacm

// #cgo CFLAGS: -I${SRCDIR}/../cverbs
// #include "gf1_cma.h"
import "C"

import (
	"cmp"
	"sync"
	"unsafe"

	"github.com/gofabric/gofabric/internal/dl"
)

// oldestRelease is the first rdma-core that has every function the table needs.
const oldestRelease = "rdma-core 31"

// load opens librdmacm once. A failure is not remembered: the package may be
// installed while the program runs.
var load = struct {
	sync.Mutex
	dl    *dl.Library
	table *C.struct_gf1_cm
}{}

func library() (*C.struct_gf1_cm, error) {
	load.Lock()
	defer load.Unlock()
	if load.table != nil {
		return load.table, nil
	}
	so, err := dl.Open("librdmacm", "librdmacm1", "librdmacm.so.1")
	if err != nil {
		return nil, err
	}
	// The table lives as long as the library: for ever.
	table := new(C.struct_gf1_cm)
	names, since := unsafe.Pointer(&C.gf1_cm_names), unsafe.Pointer(&C.gf1_cm_since)
	if err := resolve(so, names, since, unsafe.Pointer(table)); err != nil {
		return nil, err
	}
	load.dl, load.table = so, table
	return table, nil
}

// resolve stores the functions' addresses in the table's slots. A later function
// that is missing leaves its slot empty; without since, none is later.
func resolve(so *dl.Library, names, since, slots unsafe.Pointer) error {
	at := func(array unsafe.Pointer, i int) *C.char {
		return *(**C.char)(unsafe.Add(array, uintptr(i)*unsafe.Sizeof(array)))
	}
	for i := 0; at(names, i) != nil; i++ {
		release := ""
		if since != nil {
			if s := at(since, i); s != nil {
				release = C.GoString(s)
			}
		}
		p, err := so.Symbol(C.GoString(at(names, i)), cmp.Or(release, oldestRelease))
		if err != nil && release == "" {
			return err
		}
		*(*unsafe.Pointer)(unsafe.Add(slots, uintptr(i)*unsafe.Sizeof(p))) = p
	}
	return nil
}

// LibraryPath returns the file of librdmacm that is in use; its name ends in the
// release ("librdmacm.so.1.3.44.0" is rdma-core 44).
func LibraryPath() (string, error) {
	if _, err := library(); err != nil {
		return "", err
	}
	return load.dl.Path(), nil
}
