package verbs_test

import (
	"os"
	"testing"

	"github.com/gofabric/gofabric/internal/conformance"
	_ "github.com/gofabric/gofabric/internal/loopdev"
	"github.com/gofabric/gofabric/internal/testutil"
)

func TestMain(m *testing.M) { os.Exit(testutil.Main(m, conformance.Leaks)) }

// TestConformanceLoop runs the suite on the in-process device.
func TestConformanceLoop(t *testing.T) { conformance.Run(t, "loop0") }

// TestConformance runs the suite on the device that GOFABRIC_DEVICE names, or
// the lab guest's first.
func TestConformance(t *testing.T) { conformance.Run(t, testutil.Device(t)) }
