//go:build !linux || !cgo

package nvmllib

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/nvml"
)

func TestNotSupportedHere(t *testing.T) {
	_, err := Open(Options{})
	require.ErrorIs(t, err, nvml.ErrNotSupported)
	snapshot, err := nvml.Take(&Library{})
	require.ErrorIs(t, err, nvml.ErrNotSupported)
	assert.Empty(t, snapshot.Inventory)
}
