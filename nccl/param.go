package nccl

import (
	"strings"

	"github.com/gofabric/gofabric/internal/cnccl"
)

// Parameter returns the value of one of NCCL's parameters as text, as NCCL reads
// it from its environment and configuration files: Parameter("NCCL_DEBUG"). NCCL
// 2.30.4.
//
// Implements: ncclParamGetParameter.
func Parameter(key string) (value string, err error) {
	err = withParams("Parameter", cnccl.FnParamGetParameter, key, func(lib *library) error {
		var code int
		var last string
		if value, code, last = lib.ParamText(key); code != 0 {
			return lib.failure(code, last)
		}
		return nil
	})
	return value, err
}

// ParameterInt returns a parameter that is a number. NCCL 2.30.4.
//
// Implements: ncclParamBind, ncclParamGetI64.
func ParameterInt(key string) (value int64, err error) {
	err = withParams("ParameterInt", cnccl.FnParamGetI64, key, func(lib *library) error {
		var code int
		var last string
		if value, code, last = lib.ParamInt(key); code != 0 {
			return lib.failure(code, last)
		}
		return nil
	})
	return value, err
}

// Parameters lists the parameters that NCCL documents. NCCL 2.30.4.
//
// Implements: ncclParamGetAllParameterKeys.
func Parameters() (keys []string, err error) {
	err = withParams("Parameters", cnccl.FnParamGetAllParameterKeys, "", func(lib *library) error {
		var code int
		var last string
		if keys, code, last = lib.ParamKeys(); code != 0 {
			return lib.failure(code, last)
		}
		return nil
	})
	return keys, err
}

// DumpParameters writes the parameters to NCCL's log. NCCL 2.30.4.
//
// Implements: ncclParamDumpAll.
func DumpParameters() error {
	return withParams("DumpParameters", cnccl.FnParamDumpAll, "", func(lib *library) error {
		lib.ParamDump()
		return nil
	})
}

func withParams(op string, function int, key string, f func(*library) error) error {
	err := func() error {
		lib, err := load(LoadOptions{})
		if err != nil {
			return err
		}
		if err := lib.need(function); err != nil {
			return err
		}
		if strings.ContainsRune(key, 0) {
			return badArgument("the key has a zero byte in it")
		}
		return f(lib)
	}()
	if err != nil {
		return startError(op, nil, err)
	}
	return nil
}
