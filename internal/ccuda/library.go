//go:build linux && cgo

package ccuda

// #include <stdlib.h>
// #include "gf1_cuda_shim.h"
//
// static int gf1_go_init(void) { return gf1_cuda.cuInit(0); }
// static int gf1_go_version(int *version) { return gf1_cuda.cuDriverGetVersion(version); }
// static int gf1_go_name(int code, const char **name) { return gf1_cuda.cuGetErrorName(code, name); }
// static int gf1_go_text(int code, const char **text) { return gf1_cuda.cuGetErrorString(code, text); }
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"github.com/gofabric/gofabric/internal/dl"
)

// oldestRelease is the first CUDA whose driver has every function that the
// table needs.
const oldestRelease = "CUDA 11.0"

// load opens libcuda once. A failure is not remembered: the driver may be
// installed while the program runs.
var load = struct {
	sync.Mutex
	so    *dl.Library
	ready bool // cuInit succeeded
}{}

// open opens the library; the caller holds the lock.
func open() error {
	if load.so != nil {
		return nil
	}
	name := cmp.Or(os.Getenv(PathEnv), "libcuda.so.1")
	so, err := dl.Open("libcuda", "libcuda1 (in a container, NVIDIA's container toolkit on the host brings it: --gpus all)", name)
	if err != nil {
		return err
	}
	if err := resolve(so); err != nil {
		return err
	}
	load.so = so
	return nil
}

// resolve stores the functions' addresses in the table. A later function that
// is missing leaves its slot empty.
func resolve(so *dl.Library) error {
	slots := unsafe.Pointer(&C.gf1_cuda)
	for i, e := range exports() {
		p, err := so.Symbol(e.name, cmp.Or(e.since, oldestRelease))
		if err != nil && e.since == "" {
			return err
		}
		*(*unsafe.Pointer)(unsafe.Add(slots, uintptr(i)*unsafe.Sizeof(p))) = p
	}
	return nil
}

// export is a function of the library.
type export struct {
	name  string
	since string // "" if every release that we support has it
}

// exports lists the table's functions in the order of its slots.
func exports() []export {
	names := unsafe.Pointer(&C.gf1_cuda_names)
	since := unsafe.Pointer(&C.gf1_cuda_since)
	at := func(array unsafe.Pointer, i int) *C.char {
		return *(**C.char)(unsafe.Add(array, uintptr(i)*unsafe.Sizeof(array)))
	}
	var list []export
	for i := 0; at(names, i) != nil; i++ {
		e := export{name: C.GoString(at(names, i))}
		if v := at(since, i); v != nil {
			e.since = "CUDA " + C.GoString(v)
		}
		list = append(list, e)
	}
	return list
}

// Library opens the library if it is not open, and returns its file and the
// version of CUDA that it brings, such as 13000. It needs no GPU.
//
// Implements: cuDriverGetVersion.
func Library() (path string, version int, err error) {
	load.Lock()
	defer load.Unlock()
	if err := open(); err != nil {
		return "", 0, err
	}
	var v C.int
	if rc := C.gf1_go_version(&v); rc != 0 {
		return "", 0, fmt.Errorf("cuDriverGetVersion answered %d", int(rc))
	}
	return load.so.Path(), int(v), nil
}

// Init opens the library and initialises it, once. The error is of the opening.
//
// Implements: cuInit.
func Init() (Result, error) {
	load.Lock()
	defer load.Unlock()
	if load.ready {
		return 0, nil
	}
	if err := open(); err != nil {
		return 0, err
	}
	rc := C.gf1_go_init()
	load.ready = rc == 0
	return Result(rc), nil
}

// Missing returns the error of a function that the library lacks.
func (r Result) Missing() error {
	list := exports()
	i := -1 - int(r)
	if i < 0 || i >= len(list) {
		return errors.New("no such function")
	}
	load.Lock()
	defer load.Unlock()
	return &dl.SymbolError{Symbol: list[i].name, Library: load.so.Path(), Since: cmp.Or(list[i].since, oldestRelease)}
}

// Text returns the driver's name and description of an error code; both are
// empty for one that it does not know.
//
// Implements: cuGetErrorName, cuGetErrorString.
func (r Result) Text() (name, text string) {
	var n, t *C.char
	if C.gf1_go_name(C.int(r), &n) == 0 && n != nil {
		name = C.GoString(n)
	}
	if C.gf1_go_text(C.int(r), &t) == 0 && t != nil {
		text = C.GoString(t)
	}
	return name, text
}

// EnterLeave returns the addresses of
//
//	int gf1_cuda_enter(void *context, void **previous);
//	int gf1_cuda_leave(void *previous);
//
// for other C that must run inside a context: enter makes it current on the
// thread, leave makes current what was before. Both answer a CUresult, and both
// belong to one call of C, since a goroutine may move between two. The library
// must be open (Init).
func EnterLeave() (enter, leave unsafe.Pointer) {
	return unsafe.Pointer(C.gf1_cuda_enter), unsafe.Pointer(C.gf1_cuda_leave)
}
