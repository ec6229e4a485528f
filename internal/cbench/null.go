//go:build linux && cgo

package cbench

// #cgo CFLAGS: -I${SRCDIR}/../cverbs
// #cgo noescape gf1_null_call
// #cgo nocallback gf1_null_call
// #include <stdlib.h>
// #include "gf1_null.h"
import "C"

import (
	"io/fs"
	"syscall"
	"time"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/sysfs"
)

// Device is the null device's name.
const Device = "null0"

const tree = `
sys/class/infiniband/null0/node_type = 1: CA
sys/class/infiniband/null0/ports/1/state = 4: ACTIVE
sys/class/infiniband/null0/ports/1/link_layer = Ethernet
sys/class/infiniband/null0/ports/1/gids/0 = 0000:0000:0000:0000:0000:ffff:0a00:0001
sys/class/infiniband/null0/ports/1/gid_attrs/types/0 = RoCE v2
`

// Register makes the null device known to verbs.Open.
func Register() error {
	root, err := sysfs.ParseTree(tree)
	if err != nil {
		return err
	}
	cverbs.Register(cverbs.Provider{Prefix: "null", Root: func() fs.FS { return root }, Open: open})
	return nil
}

func open(string) (cverbs.Context, error) {
	ctx := C.gf1_null_open()
	if ctx == nil {
		return cverbs.Context{}, syscall.ENOMEM
	}
	return cverbs.NewContext(unsafe.Pointer(ctx), unsafe.Pointer(C.gf1_null_table())), nil
}

// CLoop lets C post and poll rounds batches on the null device.
func CLoop(batch, rounds int) time.Duration {
	ctx := C.gf1_null_open()
	defer C.free(unsafe.Pointer(ctx))
	return time.Duration(C.gf1_null_loop(ctx, C.int(batch), C.int(rounds)))
}

// CLoopEx lets C do the same by builders and extended polls.
func CLoopEx(batch, rounds int) time.Duration {
	ctx := C.gf1_null_open()
	defer C.free(unsafe.Pointer(ctx))
	return time.Duration(C.gf1_null_loop_ex(ctx, C.int(batch), C.int(rounds)))
}

// EmptyCall crosses into C and back.
func EmptyCall() { C.gf1_null_call() }
