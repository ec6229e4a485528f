//go:build linux && cgo

package rdmacm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/connsuite"
	_ "github.com/gofabric/gofabric/internal/loopdev"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// TestConnLoop runs the connection's suite on the in-process device.
func TestConnLoop(t *testing.T) { connsuite.Run(t, "loop0") }

// TestConn runs it on the device that GOFABRIC_DEVICE names, or the lab guest's
// first.
func TestConn(t *testing.T) { connsuite.Run(t, testutil.Device(t)) }

// loopPair makes a connection on the in-process device.
func loopPair(t testing.TB, o rdmacm.ConnOptions) (a, b *rdmacm.Conn) {
	dev, err := verbs.Open("loop0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	h, err := rdmacm.NewHub(dev, rdmacm.HubOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.CloseAll()) })
	return onHub(t, h, o)
}

func onHub(t testing.TB, h *rdmacm.Hub, o rdmacm.ConnOptions) (a, b *rdmacm.Conn) {
	a, b, err := rdmacm.Pair(patiently(t), h, h, o)
	require.NoError(t, err)
	return a, b
}
