package interop

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/internal/perftest"
	"github.com/gofabric/gofabric/internal/testutil"
)

// asTool makes the test binary behave as the tool that it names, so that one
// binary is all of them.
const asTool = "GOFABRIC_INTEROP_TOOL"

// exitLeaked is the status of a tool that left something open on a device.
const exitLeaked = 99

func TestMain(m *testing.M) {
	name := os.Getenv(asTool)
	if name == "" {
		os.Exit(testutil.Main(m))
	}
	i := slices.IndexFunc(perftest.Tools, func(tool perftest.Tool) bool { return tool.Name == name })
	if i < 0 {
		fmt.Fprintf(os.Stderr, "%s=%s is no tool\n", asTool, name)
		os.Exit(2)
	}
	status := perftest.Main(perftest.Tools[i], os.Args[1:], os.Stdout, os.Stderr)
	for _, left := range life.Open() {
		fmt.Fprintf(os.Stderr, "left open: %s, made at\n%s", left.Name, left.Stack)
		status = exitLeaked
	}
	os.Exit(status)
}

func goTool(name string) pairs.Tool {
	return pairs.Tool{Name: "Go", Argv: []string{os.Args[0]}, Env: []string{asTool + "=" + name}}
}

func cTool(name string) pairs.Tool {
	return pairs.Tool{Name: "C", Argv: []string{"ib_" + name}}
}

// The lab's two devices reach each other.
const (
	serverDevice, clientDevice = "rxe0", "rxe1"
	serverAddress              = "10.0.0.1" // of serverDevice
)

// runLimit ends a run that hangs. The lab's machine is slow, and -a moves 160 MB.
const runLimit = 3 * time.Minute

var lastPort atomic.Int32

// freePort returns a port that no other test uses.
func freePort() int { return 19000 + int(lastPort.Add(1)) }

// inLab returns a context for one run, which needs the lab's devices.
func inLab(t *testing.T) context.Context {
	t.Helper()
	if !testutil.InLab() {
		testutil.Skip(t, "needs the lab's two RDMA devices and perftest")
	}
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	t.Cleanup(cancel)
	return ctx
}
