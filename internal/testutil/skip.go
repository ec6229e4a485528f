package testutil

import (
	"os"
	"path/filepath"
	"sort"
	"testing"
)

// LabEnv is set, to anything, by the lab in the environment of the programs that
// it runs in a guest.
const LabEnv = "GOFABRIC_LAB"

// DeviceEnv names an RDMA device of this machine that tests may use. Without it
// a test outside the lab leaves real devices alone.
const DeviceEnv = "GOFABRIC_DEVICE"

// InLab reports whether this process runs in a guest of the lab.
func InLab() bool { return os.Getenv(LabEnv) != "" }

// Skip skips the test for a reason that says what is missing. In the lab it
// fails the test instead: a guest has everything that a test may ask for.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if InLab() {
		t.Fatalf("skipped in the lab, where nothing may be: %s", reason)
	}
	t.Skip(reason)
}

// SkipPeerCannot skips a test, in the lab too, because the program that it runs
// against cannot do that with its own like either, as was just seen.
func SkipPeerCannot(t testing.TB, reason string) {
	t.Helper()
	t.Skip(reason)
}

// Device returns the name of the RDMA device to test with: the one named by
// DeviceEnv, or the guest's first one in the lab. Elsewhere the test is skipped.
func Device(t testing.TB) string {
	t.Helper()
	if name := os.Getenv(DeviceEnv); name != "" {
		return name
	}
	if !InLab() {
		Skip(t, "needs an RDMA device: run it in the lab, or set "+DeviceEnv+" to a device of this machine")
	}
	paths, err := filepath.Glob("/sys/class/infiniband/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("the guest has no RDMA device (reading /sys/class/infiniband: %v)", err)
	}
	sort.Strings(paths)
	return filepath.Base(paths[0])
}
