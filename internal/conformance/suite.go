package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
)

// Case is a promise and the code that checks it.
type Case struct {
	Name string
	Run  func(*Rig)
}

// Cases returns the whole list.
func Cases() []Case {
	var all []Case
	for _, topic := range [][]Case{
		transferCases, batchCases, waitCases, requestErrorCases, remoteErrorCases,
		stateCases, memoryCases, lifetimeCases, misuseCases, hostileCases,
		unreliableCases, datagramCases, atomicCases, sharedReceiveCases, sendStateCases, eventCases,
		queueChangeCases, multicastCases,
		dmaBufCases, regionCases, windowCases, pendingCases, deviceCases, nameCases,
		extendedCQCases, extendedQPCases, xrcCases, queueExtraCases,
	} {
		all = append(all, topic...)
	}
	return all
}

// Run runs every case on a device, each with a fresh context.
func Run(t *testing.T, device string) {
	testutil.CoverageOn(t, where(device))
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(newRig(t, device)) })
	}
}

// where names what a run is evidence of: the device, and for one of the kernel's
// its release and the library.
func where(device string) string {
	if strings.HasPrefix(device, "loop") {
		return device
	}
	parts := []string{device}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		parts = append(parts, "kernel "+strings.TrimSpace(string(release)))
	}
	if path, err := verbs.LibraryPath(); err == nil {
		parts = append(parts, filepath.Base(path))
	}
	return strings.Join(parts, ", ")
}
