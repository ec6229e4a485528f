//go:build linux && cgo

package cverbs

// #include "gf1_device.h"
import "C"

import "unsafe"

// ForkInit has the library keep registered memory out of children that do not
// start another program.
//
// Implements: ibv_fork_init.
func ForkInit() error {
	lib, err := openLibrary()
	if err != nil {
		return err
	}
	return errno(C.gf1_fork_init(lib.functions))
}

// ForkStatus says how far registered memory is kept out of children.
//
// Implements: ibv_is_fork_initialized.
func ForkStatus() (int32, error) {
	return ask(func(lib *C.struct_gf1_library, out *C.int) C.int { return C.gf1_is_fork_initialized(lib, out) })
}

// ImportDevice opens the device that another process has open by a duplicate of
// that process's descriptor.
//
// Implements: ibv_import_device.
func ImportDevice(fd int) (Context, error) {
	lib, err := openLibrary()
	if err != nil {
		return Context{}, err
	}
	var ctx *C.struct_gf1_context
	if rc := C.gf1_import_device(lib.functions, C.int(fd), &ctx); rc != 0 {
		return Context{}, errno(rc)
	}
	return Context{p: unsafe.Pointer(ctx), v: unsafe.Pointer(lib.table)}, nil
}

// ask calls a function of the library that answers with a number.
func ask(call func(lib *C.struct_gf1_library, out *C.int) C.int) (int32, error) {
	lib, err := openLibrary()
	if err != nil {
		return 0, err
	}
	var out C.int
	rc := call(lib.functions, &out)
	return int32(out), errno(rc)
}

// askText calls a function of the library that answers with a text.
func askText(call func(lib *C.struct_gf1_library, out **C.char) C.int) (string, error) {
	lib, err := openLibrary()
	if err != nil {
		return "", err
	}
	var out *C.char
	rc := call(lib.functions, &out)
	return C.GoString(out), errno(rc)
}

// The library's own names of values, and its conversions of rates. Package verbs
// has its own, which work without the library; tests hold them against these.

// NodeTypeText names a kind of device.
//
// Implements: ibv_node_type_str.
func NodeTypeText(v int32) (string, error) {
	return askText(func(lib *C.struct_gf1_library, out **C.char) C.int { return C.gf1_node_type_str(lib, C.int(v), out) })
}

// PortStateText names a state of a port.
//
// Implements: ibv_port_state_str.
func PortStateText(v int32) (string, error) {
	return askText(func(lib *C.struct_gf1_library, out **C.char) C.int { return C.gf1_port_state_str(lib, C.int(v), out) })
}

// EventTypeText names a kind of asynchronous event.
//
// Implements: ibv_event_type_str.
func EventTypeText(v int32) (string, error) {
	return askText(func(lib *C.struct_gf1_library, out **C.char) C.int { return C.gf1_event_type_str(lib, C.int(v), out) })
}

// WCStatusText names a completion's status.
//
// Implements: ibv_wc_status_str.
func WCStatusText(v int32) (string, error) {
	return askText(func(lib *C.struct_gf1_library, out **C.char) C.int { return C.gf1_wc_status_str(lib, C.int(v), out) })
}

// WROpcodeText names a kind of request.
//
// Implements: ibv_wr_opcode_str.
func WROpcodeText(v int32) (string, error) {
	return askText(func(lib *C.struct_gf1_library, out **C.char) C.int { return C.gf1_wr_opcode_str(lib, C.int(v), out) })
}

// RateToMult converts a rate's code to multiples of 2.5 Gb/s.
//
// Implements: ibv_rate_to_mult.
func RateToMult(rate int32) (int32, error) {
	return ask(func(lib *C.struct_gf1_library, out *C.int) C.int { return C.gf1_rate_to_mult(lib, C.int(rate), out) })
}

// MultToRate converts multiples of 2.5 Gb/s to a rate's code.
//
// Implements: mult_to_ibv_rate.
func MultToRate(mult int32) (int32, error) {
	return ask(func(lib *C.struct_gf1_library, out *C.int) C.int { return C.gf1_mult_to_rate(lib, C.int(mult), out) })
}

// RateToMbps converts a rate's code to Mb/s.
//
// Implements: ibv_rate_to_mbps.
func RateToMbps(rate int32) (int32, error) {
	return ask(func(lib *C.struct_gf1_library, out *C.int) C.int { return C.gf1_rate_to_mbps(lib, C.int(rate), out) })
}

// MbpsToRate converts Mb/s to a rate's code.
//
// Implements: mbps_to_ibv_rate.
func MbpsToRate(mbps int32) (int32, error) {
	return ask(func(lib *C.struct_gf1_library, out *C.int) C.int { return C.gf1_mbps_to_rate(lib, C.int(mbps), out) })
}
