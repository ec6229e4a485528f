//go:build linux && cgo

package loopdev

// #cgo CFLAGS: -I${SRCDIR}/../cverbs
// #include <stdlib.h>
// #include "gf1l.h"
import "C"

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

const prefix = "loop"

func init() {
	cverbs.Register(cverbs.Provider{Prefix: prefix, Root: snapshot, Open: open})
}

// fabric keeps the names of the devices in the order of their making; C has
// the rest.
var fabric struct {
	sync.Mutex
	started bool
	names   []string
}

// lockFabric also brings loop0 into being, once.
func lockFabric() {
	fabric.Lock()
	if !fabric.started {
		fabric.started = true
		// Without memory for it, opening loop0 answers ENODEV.
		_ = add(DeviceOptions{Name: "loop0"})
	}
}

// AddDevice makes a device. It answers EEXIST if the name is taken and EINVAL
// if the options cannot be had.
func AddDevice(o DeviceOptions) error {
	lockFabric()
	defer fabric.Unlock()
	if err := add(o); err != nil {
		return fmt.Errorf("add device %q with %d ports: %w", o.Name, o.Ports, err)
	}
	return nil
}

func add(o DeviceOptions) error {
	digits, ok := strings.CutPrefix(o.Name, prefix)
	number, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil || strconv.FormatUint(number, 10) != digits {
		return syscall.EINVAL
	}
	ports, link := C.int(1), C.int(C.LINK_ETHERNET)
	if o.Ports != 0 {
		ports = C.int(o.Ports)
	}
	if o.InfiniBand {
		link = C.LINK_INFINIBAND
	}
	name := C.CString(o.Name)
	defer C.free(unsafe.Pointer(name))
	if rc := C.gf1l_add_device(name, C.int(number), ports, link); rc != 0 {
		return syscall.Errno(rc)
	}
	fabric.names = append(fabric.names, o.Name)
	return nil
}

// RemoveDevice takes a device away as if it were pulled out. Who has it open
// gets the event that the device failed, its channels end with EIO, and every
// call answers EIO but those that destroy and close. The name is free again.
func RemoveDevice(device string) error {
	lockFabric()
	defer fabric.Unlock()
	name := C.CString(device)
	defer C.free(unsafe.Pointer(name))
	if rc := C.gf1l_remove_device(name); rc != 0 {
		return fmt.Errorf("remove device %q: %w", device, syscall.Errno(rc))
	}
	for i, n := range fabric.names {
		if n == device {
			fabric.names = append(fabric.names[:i:i], fabric.names[i+1:]...)
			break
		}
	}
	return nil
}

// Devices returns the names of the devices there are.
func Devices() []string {
	lockFabric()
	defer fabric.Unlock()
	return append([]string(nil), fabric.names...)
}

func open(device string) (cverbs.Context, error) {
	lockFabric()
	defer fabric.Unlock()
	name := C.CString(device)
	defer C.free(unsafe.Pointer(name))
	var context *C.struct_gf1_context
	if rc := C.gf1l_open_device(name, &context); rc != 0 {
		return cverbs.Context{}, syscall.Errno(rc)
	}
	return cverbs.NewContext(unsafe.Pointer(context), unsafe.Pointer(&C.gf1l_verbs)), nil
}
