//go:build linux && cgo

package dl

// #include "gf1_seen.h"
//
// static uint32_t gf1_go_new_period(void)
// {
//	return __atomic_add_fetch(&gf1_seen_period, 1, __ATOMIC_RELAXED);
// }
import "C"

import "syscall"

// ForgetCalls begins a new period: Calls tells what was called since.
func ForgetCalls() { C.gf1_go_new_period() }

// Calls tells how the calls of each C function ended since ForgetCalls.
func Calls() map[string]Call {
	calls := map[string]Call{}
	period := C.gf1_seen_period
	for s := C.gf1_seen_next(nil); s != nil; s = C.gf1_seen_next(s) {
		name := C.GoString(s.name)
		c := calls[name]
		if s.succeeded == period {
			c.Succeeded = true
		}
		if s.failed == period {
			c.Failed = syscall.Errno(s.error)
		}
		calls[name] = c
	}
	return calls
}
