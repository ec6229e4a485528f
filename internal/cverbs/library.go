//go:build linux && cgo

package cverbs

// #include <stdlib.h>
// #include "gf1_shim.h"
import "C"

import (
	"cmp"
	"sync"
	"unsafe"

	"github.com/gofabric/gofabric/internal/dl"
)

// library is libibverbs as opened, with the table of its verbs.
type library struct {
	dl        *dl.Library
	table     *C.struct_gf1_verbs
	finder    *C.struct_gf1_finder
	functions *C.struct_gf1_library
}

// oldestRelease is the first rdma-core that has every verb the table needs.
const oldestRelease = "rdma-core 30"

// load opens libibverbs once. A failure is not remembered: the package may be
// installed while the program runs.
var load = struct {
	sync.Mutex
	lib *library
}{}

func openLibrary() (*library, error) {
	load.Lock()
	defer load.Unlock()
	if load.lib != nil {
		return load.lib, nil
	}
	lib, err := resolve()
	if err == nil {
		load.lib = lib
	}
	return lib, err
}

func resolve() (*library, error) {
	so, err := dl.Open("libibverbs", "libibverbs1 (with ibverbs-providers)", "libibverbs.so.1")
	if err != nil {
		return nil, err
	}
	// The tables live as long as the library: for ever.
	lib := &library{
		dl:        so,
		table:     (*C.struct_gf1_verbs)(C.calloc(1, C.sizeof_struct_gf1_verbs)),
		finder:    (*C.struct_gf1_finder)(C.calloc(1, C.sizeof_struct_gf1_finder)),
		functions: (*C.struct_gf1_library)(C.calloc(1, C.sizeof_struct_gf1_library)),
	}
	verbs := exports(unsafe.Pointer(&C.gf1_exported_names), unsafe.Pointer(&C.gf1_since))
	if err := resolveSlots(so, unsafe.Pointer(lib.table), verbs); err != nil {
		return nil, err
	}
	functions := exports(unsafe.Pointer(&C.gf1_function_names), unsafe.Pointer(&C.gf1_functions_since))
	if err := resolveSlots(so, unsafe.Pointer(lib.functions), functions); err != nil {
		return nil, err
	}
	C.gf1_complete_table(lib.table)
	finder := []export{{name: "ibv_get_device_list"}, {name: "ibv_free_device_list"}, {name: "ibv_open_device"}}
	return lib, resolveSlots(so, unsafe.Pointer(lib.finder), finder)
}

// export is a function of the library.
type export struct {
	name  string
	since string // "" if every release that we support has it
}

// resolveSlots stores the addresses of functions in consecutive pointers. A
// later function that is missing leaves its slot empty.
func resolveSlots(so *dl.Library, slots unsafe.Pointer, exports []export) error {
	for i, e := range exports {
		p, err := so.Symbol(e.name, cmp.Or(e.since, oldestRelease))
		if err != nil && e.since == "" {
			return err
		}
		*(*unsafe.Pointer)(unsafe.Add(slots, uintptr(i)*unsafe.Sizeof(p))) = p
	}
	return nil
}

// exports lists the functions of a table in the order of its slots.
func exports(names, since unsafe.Pointer) []export {
	at := func(array unsafe.Pointer, i int) *C.char {
		return *(**C.char)(unsafe.Add(array, uintptr(i)*unsafe.Sizeof(array)))
	}
	var list []export
	for i := 0; at(names, i) != nil; i++ {
		e := export{name: C.GoString(at(names, i))}
		if v := at(since, i); v != nil {
			e.since = C.GoString(v)
		}
		list = append(list, e)
	}
	return list
}

// LibraryPath returns the file of libibverbs that is in use; its name ends in
// the release ("libibverbs.so.1.14.44.0" is rdma-core 44).
func LibraryPath() (string, error) {
	lib, err := openLibrary()
	if err != nil {
		return "", err
	}
	return lib.dl.Path(), nil
}

// CountDevices asks the library how many devices it can drive.
func CountDevices() (int, error) {
	lib, err := openLibrary()
	if err != nil {
		return 0, err
	}
	var n C.int
	rc := C.gf1_count_devices(lib.finder, &n)
	return int(n), errno(rc)
}

// OpenDevice opens a device by its kernel name, through the provider that
// carries its prefix or through libibverbs.
func OpenDevice(name string) (Context, error) {
	if p, ok := ProviderOf(name); ok {
		return p.Open(name)
	}
	lib, err := openLibrary()
	if err != nil {
		return Context{}, err
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	var ctx *C.struct_gf1_context
	if rc := C.gf1_open(lib.finder, cname, &ctx); rc != 0 {
		return Context{}, errno(rc)
	}
	return Context{p: unsafe.Pointer(ctx), v: unsafe.Pointer(lib.table)}, nil
}

// NewContext wraps a context that a provider made, with its function table:
// pointers to struct gf1_context and struct gf1_verbs.
func NewContext(context, table unsafe.Pointer) Context { return Context{p: context, v: table} }

// Lacks tells whether the library in use is too old for a function that the
// table has a slot for, and which release brings it.
func Lacks(function string) (since string, lacks bool) {
	lib, err := openLibrary()
	if err != nil {
		return "", false
	}
	for _, list := range [][]export{
		exports(unsafe.Pointer(&C.gf1_exported_names), unsafe.Pointer(&C.gf1_since)),
		exports(unsafe.Pointer(&C.gf1_function_names), unsafe.Pointer(&C.gf1_functions_since)),
	} {
		for _, e := range list {
			if e.name == function && e.since != "" {
				_, err := lib.dl.Symbol(function, e.since)
				return e.since, err != nil
			}
		}
	}
	return "", false
}
