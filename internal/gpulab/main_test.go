//go:build linux && cgo

package gpulab

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/testutil"
)

// Variables that tell a process of this binary what it is.
const (
	roleEnv  = "GOFABRIC_GPULAB_ROLE"  // one of roles
	innerEnv = "GOFABRIC_GPULAB_INNER" // it is the supervised process that runs the tests
)

// gpuEnv has the tests run over this machine's libraries where no NVIDIA device is
// seen, as under WSL.
const gpuEnv = "GOFABRIC_GPU"

// realGPU: the tests run on this machine's GPUs.
var realGPU = os.Getenv(ccuda.PathEnv) == "" && (len(nvidiaDevices()) > 0 || os.Getenv(gpuEnv) != "")

func nvidiaDevices() []string {
	// A pattern without a mistake cannot fail.
	found, _ := filepath.Glob("/dev/nvidia[0-9]*")
	return found
}

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(roleEnv) != "":
		playRole(os.Getenv(roleEnv))
	case realGPU && os.Getenv(innerEnv) == "":
		flag.Parse()
		bound := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
		os.Exit(supervise("/proc/self/exe", os.Args[1:], bound, os.Stdout))
	case realGPU:
		os.Exit(m.Run())
	}
	// The release that the machines have on which these tests run for real.
	os.Exit(fakegpu.Main(fakegpu.Options{NCCL: "2.28.3"}, func() int { return testutil.Main(m, nothingOpen) }))
}

func nothingOpen() error {
	for _, o := range life.Open() {
		return fmt.Errorf("%s, made by\n%s", o.Name, o.Stack)
	}
	return nil
}

// figure prints a line for the record.
func figure(format string, args ...any) {
	prefix := "figure: "
	if !realGPU {
		prefix = "fake figure: "
	}
	fmt.Printf(prefix+format+"\n", args...)
}
