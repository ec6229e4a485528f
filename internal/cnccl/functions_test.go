//go:build linux && cgo

package cnccl_test

import (
	"strings"
	"testing"

	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFunctions(t *testing.T) {
	list := cnccl.Functions()
	require.Len(t, list, cnccl.FnCount)
	seen := map[string]bool{}
	for _, f := range list {
		assert.True(t, strings.HasPrefix(f.Name, "nccl"), f.Name)
		assert.False(t, seen[f.Name], "%s stands twice", f.Name)
		seen[f.Name] = true
		assert.True(t, f.Since >= 2305 && f.Since <= 23007, "%s since %d", f.Name, f.Since)
		assert.False(t, strings.HasPrefix(f.Name, "ncclDevComm"), f.Name)
	}
	// The names and the places go together.
	for place, name := range map[int]string{
		cnccl.FnGetVersion: "ncclGetVersion", cnccl.FnAllReduce: "ncclAllReduce", cnccl.FnCommInitRankConfig: "ncclCommInitRankConfig",
		cnccl.FnCommGrow: "ncclCommGrow", cnccl.FnWaitSignal: "ncclWaitSignal", cnccl.FnParamDumpAll: "ncclParamDumpAll",
	} {
		assert.Equal(t, name, list[place].Name)
	}
}

func TestOpenRefusesWhatIsNoNCCL(t *testing.T) {
	_, err := cnccl.Open(nil, nil, "libm.so.6")
	require.Error(t, err)
	assert.Contains(t, err.Error(), "ncclGetVersion")
	_, err = cnccl.Open(nil, nil, "/nowhere/libnccl.so.2")
	require.Error(t, err)
	assert.Contains(t, err.Error(), "libnccl2")
}
