//go:build linux && cgo

package ccuda_test

import (
	"os"
	"testing"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/dl"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(fakegpu.Main(fakegpu.Options{}, m.Run)) }

func TestEnterLeaveAreFunctions(t *testing.T) {
	enter, leave := ccuda.EnterLeave()
	assert.NotNil(t, enter)
	assert.NotNil(t, leave)
	assert.NotEqual(t, enter, leave)
}

func TestMissingNamesSymbolAndVersion(t *testing.T) {
	_, _, err := ccuda.Library()
	require.NoError(t, err)
	for _, r := range []ccuda.Result{-1, -2} {
		var missing *dl.SymbolError
		require.ErrorAs(t, r.Missing(), &missing)
		assert.Equal(t, "CUDA 11.0", missing.Since)
	}
	assert.ErrorContains(t, ccuda.Result(-1).Missing(), "cuInit")
	for _, r := range []ccuda.Result{0, 1, -1000} {
		assert.Error(t, r.Missing())
	}
}

func TestText(t *testing.T) {
	r, err := ccuda.Init()
	require.NoError(t, err)
	require.Zero(t, r)
	name, text := ccuda.Result(ccuda.CUDA_ERROR_ILLEGAL_ADDRESS).Text()
	assert.Equal(t, "CUDA_ERROR_ILLEGAL_ADDRESS", name)
	assert.NotEmpty(t, text)
	name, _ = ccuda.Result(123456).Text()
	assert.Empty(t, name)
}
