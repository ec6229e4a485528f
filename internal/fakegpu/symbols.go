package fakegpu

import (
	"fmt"
	"maps"
	"slices"
)

const newestNCCL = "2.30.7"

// since lists which release of NCCL brings a function, oldest first. What is
// not listed is in all releases from 2.14.3, the oldest that the fake can be.
var since = map[string][]string{
	"2.18.1": {"ncclCommSplit"},
	"2.19.1": {"ncclMemAlloc", "ncclMemFree", "ncclCommRegister", "ncclCommDeregister"},
	"2.22.3": {"ncclGroupSimulateEnd"},
	"2.23.4": {"ncclCommInitRankScalable"},
	"2.27.3": {"ncclCommShrink", "ncclCommWindowRegister", "ncclCommWindowDeregister"},
	"2.28.3": {"ncclAlltoAll", "ncclGather", "ncclScatter"},
	"2.28.7": {"ncclCommRevoke"},
	"2.29.2": {
		"ncclCommGetUniqueId", "ncclCommGrow", "ncclPutSignal", "ncclSignal", "ncclWaitSignal", "ncclCommQueryProperties",
		"ncclGetLsaDevicePointer", "ncclGetLsaMultimemDevicePointer", "ncclGetPeerDevicePointer", "ncclWinGetUserPtr",
	},
	"2.29.7": {"ncclCommSuspend", "ncclCommResume", "ncclCommMemStats"},
	"2.30.4": {
		"ncclParamBind", "ncclParamGetI8", "ncclParamGetI16", "ncclParamGetI32", "ncclParamGetI64", "ncclParamGetU8",
		"ncclParamGetU16", "ncclParamGetU32", "ncclParamGetU64", "ncclParamGetStr", "ncclParamGet",
		"ncclParamGetParameter", "ncclParamGetAllParameterKeys", "ncclParamDumpAll",
	},
}

// versionCode turns "2.28.3" into the number of ncclGetVersion.
func versionCode(text string) (int, error) {
	var major, minor, patch int
	if n, err := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch); n != 3 {
		return 0, fmt.Errorf("NCCL version %q is not of the form 2.28.3: %w", text, err)
	}
	code := major*10000 + minor*100 + patch
	if code < 21403 || code > 23007 {
		return 0, fmt.Errorf("NCCL version %q is outside 2.14.3 to %s", text, newestNCCL)
	}
	return code, nil
}

// newerThan lists the functions that a release does not have.
func newerThan(version int) []string {
	var names []string
	for _, release := range slices.Sorted(maps.Keys(since)) {
		if code, err := versionCode(release); err != nil || code > version {
			names = append(names, since[release]...)
		}
	}
	return names
}
