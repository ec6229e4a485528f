//go:build linux && cgo

package cnccl

// #include <stdlib.h>
// #include "gf1_nccl_run.h"
import "C"

import (
	"strings"
	"unsafe"
)

// longestParam bounds the text of one parameter.
const longestParam = 4096

// ParamText reads a parameter as text.
//
// Implements: ncclParamGetParameter.
func (l *Library) ParamText(key string) (value string, code int, last string) {
	text := lastBuffer()
	defer C.free(unsafe.Pointer(text))
	ckey := C.CString(key)
	defer C.free(unsafe.Pointer(ckey))
	buf := (*C.char)(C.calloc(1, longestParam))
	defer C.free(unsafe.Pointer(buf))
	var n C.int
	rc := C.gf1_nccl_param_text(l.p, ckey, buf, longestParam, &n, text)
	return C.GoString(buf), int(rc), C.GoString(text)
}

// ParamInt reads a parameter as a number.
//
// Implements: ncclParamBind, ncclParamGetI64.
func (l *Library) ParamInt(key string) (value int64, code int, last string) {
	text := lastBuffer()
	defer C.free(unsafe.Pointer(text))
	ckey := C.CString(key)
	defer C.free(unsafe.Pointer(ckey))
	var v C.int64_t
	rc := C.gf1_nccl_param_int(l.p, ckey, &v, text)
	return int64(v), int(rc), C.GoString(text)
}

// ParamKeys lists the parameters that NCCL documents.
//
// Implements: ncclParamGetAllParameterKeys.
func (l *Library) ParamKeys() (keys []string, code int, last string) {
	text := lastBuffer()
	defer C.free(unsafe.Pointer(text))
	for most := C.size_t(1 << 14); ; {
		buf := (*C.char)(C.calloc(1, most))
		var length C.size_t
		var count C.int
		rc := C.gf1_nccl_param_keys(l.p, buf, most, &length, &count, text)
		if rc == 0 && length <= most {
			all := C.GoStringN(buf, C.int(length))
			C.free(unsafe.Pointer(buf))
			return strings.FieldsFunc(all, func(r rune) bool { return r == 0 }), 0, ""
		}
		C.free(unsafe.Pointer(buf))
		if rc != 0 {
			return nil, int(rc), C.GoString(text)
		}
		most = length
	}
}

// ParamDump writes the parameters to NCCL's log.
//
// Implements: ncclParamDumpAll.
func (l *Library) ParamDump() { C.gf1_nccl_param_dump(l.p) }
