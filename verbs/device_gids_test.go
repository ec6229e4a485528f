//go:build linux && cgo

package verbs_test

import (
	"testing"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGIDTableAsSysHasIt compares the table that the device answers with the
// one that its description shows.
func TestGIDTableAsSysHasIt(t *testing.T) {
	dev, err := verbs.Open("loop0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, dev.Close()) }()
	info, err := dev.Info()
	require.NoError(t, err)
	port, ok := info.Port(1)
	require.True(t, ok)
	table, err := dev.GIDs(1)
	require.NoError(t, err)
	assert.Equal(t, port.GIDs, table)
	assert.NotEmpty(t, table)
}
