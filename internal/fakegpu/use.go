package fakegpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The variables by which packages cuda and nccl find their libraries.
const (
	cudaEnv = "GOFABRIC_LIBCUDA"
	ncclEnv = "GOFABRIC_LIBNCCL"
)

var process struct {
	once    sync.Once
	control *Control
	folder  string
	err     error
}

// Start builds the libraries and points this process, and the processes that it
// starts, at them. It must come before the first use of package cuda or nccl;
// only the first call of a process counts. Where the environment names a control
// page (ControlEnv), a process takes the page and the libraries as they stand
// there: a child that wants others is started without these variables. Other
// settings are read from the environment by the fakes when they are loaded:
//
//	GF1_FAKE_GPUS         number of devices (2)
//	GF1_FAKE_GPU_MEMORY   MiB a device (8192)
//	GF1_FAKE_DRIVER       what cuDriverGetVersion says (13000)
//	GF1_FAKE_ATTRIBUTES   device attributes to change, "124=0,116=0"
//	GF1_FAKE_NO_PEERS     1: no device can reach another
//	CUDA_VISIBLE_DEVICES  ordinals, as for the driver
func Start(options Options) (*Control, error) {
	process.once.Do(func() { process.control, process.err = start(options) })
	return process.control, process.err
}

func start(options Options) (*Control, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("the fake GPU libraries need linux: %w", errors.ErrUnsupported)
	}
	if page := os.Getenv(ControlEnv); page != "" {
		return openControl(page)
	}
	libraries, err := Build("", options)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "fakegpu-")
	if err != nil {
		return nil, err
	}
	process.folder = folder
	page := filepath.Join(folder, "control")
	control, err := newControl(page)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{cudaEnv: libraries.CUDA, ncclEnv: libraries.NCCL, ControlEnv: page} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	return control, nil
}

// Main is for TestMain: it starts the fakes, runs the tests (m.Run, or a
// function that wraps it, such as the leak check of testutil) and answers the
// exit status.
func Main(options Options, run func() int) int {
	if _, err := Start(options); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(process.folder)
	return run()
}

// Use gives a test the control page, with all knobs in their normal state. When
// the test ends, a report that it did not take fails it. Tests that use the page
// must not run in parallel with others of the same process.
func Use(t testing.TB) *Control {
	t.Helper()
	control, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	control.Reset()
	t.Cleanup(func() {
		for _, report := range control.Reports() {
			t.Errorf("the fake GPU libraries report: %s", report)
		}
		control.Reset()
		ForgetIDs()
	})
	return control
}

// ForgetIDs closes the files of unique ids that not all ranks have used, for the
// leak check of a test main: NCCL serves such an id for ever. Use calls it when
// a test ends.
func ForgetIDs() {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return // not linux, so there are no fakes
	}
	for _, file := range files {
		target, err := os.Readlink("/proc/self/fd/" + file.Name())
		fd, bad := strconv.Atoi(file.Name())
		if err == nil && bad == nil && strings.HasPrefix(target, "/memfd:fake-nccl ") {
			closeDescriptor(fd)
		}
	}
}
