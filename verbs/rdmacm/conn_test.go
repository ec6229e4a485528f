//go:build linux && cgo

package rdmacm_test

import (
	"testing"

	"github.com/gofabric/gofabric/internal/connsuite"
	_ "github.com/gofabric/gofabric/internal/loopdev"
	"github.com/gofabric/gofabric/internal/testutil"
)

// TestConnLoop runs the connection's suite on the in-process device.
func TestConnLoop(t *testing.T) { connsuite.Run(t, "loop0") }

// TestConn runs it on the device that GOFABRIC_DEVICE names, or the lab guest's
// first.
func TestConn(t *testing.T) { connsuite.Run(t, testutil.Device(t)) }
