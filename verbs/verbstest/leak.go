package verbstest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/testutil"
)

// Main runs a package's tests and exits. A run that passes fails after all if it
// left a verbs object, a goroutine or a file descriptor open, or added more
// threads than the Go runtime may need. The message names each, with the stack
// that made it.
//
//	func TestMain(m *testing.M) { verbstest.Main(m) }
func Main(m *testing.M) {
	os.Exit(testutil.Main(m, func() error {
		var errs []error
		for _, o := range life.Open() {
			errs = append(errs, errors.New(describe(o)))
		}
		return errors.Join(errs...)
	}))
}

// CheckLeaks makes the test fail at its end if verbs objects that were opened
// since this call, on any device, are still open. Call it first: what the test
// cleans up later is closed before the check. It sees the whole process, so a
// test that calls it must not be parallel to others.
func CheckLeaks(t testing.TB) {
	t.Helper()
	before := objects(life.Open())
	t.Cleanup(func() {
		t.Helper()
		reportLeft(t, objects(life.Open()).without(before))
	})
}

// objects are open objects of package verbs, oldest first.
type objects []life.Info

// openOn lists what is open on a device, its handles included.
func openOn(device string) (list objects) {
	for _, o := range life.Open() {
		if o.Root == "device "+device {
			list = append(list, o)
		}
	}
	return list
}

func (list objects) without(others objects) (rest objects) {
	known := map[uint64]bool{}
	for _, o := range others {
		known[o.ID] = true
	}
	for _, o := range list {
		if !known[o.ID] {
			rest = append(rest, o)
		}
	}
	return rest
}

// reportLeft fails the test for objects left open. A test that failed already
// may have had no chance to close them: its own message matters more.
func reportLeft(t testing.TB, left objects) {
	t.Helper()
	if t.Failed() {
		return
	}
	for _, o := range left {
		t.Errorf("verbstest: left open: %s", describe(o))
	}
}

func describe(o life.Info) string {
	return fmt.Sprintf("%s on %s, made at\n%s", o.Name, o.Root, o.Stack)
}
