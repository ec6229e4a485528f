//go:build linux && cgo

package loopdev

// #include <stdlib.h>
// #include "gf1l.h"
import "C"

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

func inject(device string, qpn uint32, fault C.int, amount int64) error {
	name := C.CString(device)
	defer C.free(unsafe.Pointer(name))
	if rc := C.gf1l_inject(name, C.uint32_t(qpn), fault, C.int64_t(amount)); rc != 0 {
		return fmt.Errorf("inject a fault into %s, queue pair %d: %w", device, qpn, syscall.Errno(rc))
	}
	return nil
}

// DropMessages loses the next n messages that the queue pair sends, retries
// included.
func DropMessages(device string, qpn uint32, n int) error {
	return inject(device, qpn, C.GF1L_FAULT_DROP, int64(n))
}

// DelayMessages makes each message of the queue pair leave d later than it
// could, until it is called with 0.
func DelayMessages(device string, qpn uint32, d time.Duration) error {
	return inject(device, qpn, C.GF1L_FAULT_DELAY, int64(d))
}

// StormRNR makes the queue pair find no receive for the next n messages that
// need one.
func StormRNR(device string, qpn uint32, n int) error {
	return inject(device, qpn, C.GF1L_FAULT_RNR, int64(n))
}

// FailPosts makes the next n posts to the queue pair, send or receive, answer
// ENOMEM.
func FailPosts(device string, qpn uint32, n int) error {
	return inject(device, qpn, C.GF1L_FAULT_POST, int64(n))
}

// SpuriousEvents raises n events without a completion on the channels of the
// queue pair's CQs.
func SpuriousEvents(device string, qpn uint32, n int) error {
	return inject(device, qpn, C.GF1L_FAULT_SPURIOUS, int64(n))
}

// FailAllocations makes the next n calls that make an object of the device
// answer ENOMEM.
func FailAllocations(device string, n int) error {
	return inject(device, 0, C.GF1L_FAULT_ALLOC, int64(n))
}

// LateEvents makes completion events of the device come d after their
// completions, until it is called with 0.
func LateEvents(device string, d time.Duration) error {
	return inject(device, 0, C.GF1L_FAULT_LATE, int64(d))
}

// SetPort brings a port up or down. While it is down, nothing that is sent
// from it or to it arrives.
func SetPort(device string, port int, up bool) error {
	name := C.CString(device)
	defer C.free(unsafe.Pointer(name))
	state := C.int(0)
	if up {
		state = 1
	}
	lockFabric()
	defer fabric.Unlock()
	if rc := C.gf1l_set_port(name, C.int(port), state); rc != 0 {
		return fmt.Errorf("set port %d of %s: %w", port, device, syscall.Errno(rc))
	}
	return nil
}
