//go:build linux && cgo

package dl_test

import (
	"errors"
	"testing"

	"github.com/gofabric/gofabric/internal/dl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpenAndSymbol(t *testing.T) {
	lib, err := dl.Open("libm", "libc6", "libnotthere.so.9", "libm.so.6")
	require.NoError(t, err)
	assert.Contains(t, lib.Path(), "libm")

	p, err := lib.Symbol("cos", "")
	require.NoError(t, err)
	assert.NotNil(t, p)

	_, err = lib.Symbol("no_such_function", "libm 99")
	var se *dl.SymbolError
	require.ErrorAs(t, err, &se)
	assert.True(t, errors.Is(err, errors.ErrUnsupported))
	assert.Contains(t, err.Error(), "no_such_function")
	assert.Contains(t, err.Error(), "libm 99")
}

func TestMissingLibraryNamesItAndItsPackage(t *testing.T) {
	_, err := dl.Open("libnotthere", "libnotthere1", "libnotthere.so.1", "/nowhere/libnotthere.so")
	require.ErrorIs(t, err, dl.ErrNotFound)
	var nf *dl.NotFoundError
	require.ErrorAs(t, err, &nf)
	assert.Len(t, nf.Tried, 2)
	assert.Contains(t, err.Error(), "libnotthere.so.1")
	assert.Contains(t, err.Error(), "package libnotthere1")
}
