package testutil

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Feature is something that some kernels' rdma_rxe can do and others cannot.
type Feature string

// Features that differ between the kernels of the lab. What all of them can do
// needs no name, and neither does what none can.
const (
	// FeatureFlush is the RDMA flush operation.
	FeatureFlush Feature = "flush"
	// FeatureAtomicWrite is the 8-byte atomic write operation.
	FeatureAtomicWrite Feature = "atomic write"
	// FeatureODP is on-demand paging of memory regions.
	FeatureODP Feature = "on-demand paging"
	// FeatureAccessCheck is the refusal of unknown memory region access bits.
	FeatureAccessCheck Feature = "check of access bits"
	// FeatureLastWQE is the asynchronous event QP_LAST_WQE_REACHED.
	FeatureLastWQE Feature = "last WQE reached event"
	// FeatureSRQFlush is the flushed completion of a shared receive that a queue
	// pair had begun to fill when it went to the error state.
	FeatureSRQFlush Feature = "flush of a shared receive under way"
	// FeatureLargeMessage is a message of more than 8 MiB.
	FeatureLargeMessage Feature = "messages over 8 MiB"
	// FeatureDisassociate is the removal of a device that is still open.
	FeatureDisassociate Feature = "removal of an open device"
)

// cannot is the support table: for each kernel series, which features its
// rdma_rxe lacks, oldest first. A kernel that is not listed is taken to be like
// the newest listed one before it.
var cannot = []kernelLimits{
	{6, 1, []Feature{
		FeatureFlush, FeatureAtomicWrite, FeatureODP, FeatureAccessCheck,
		FeatureLastWQE, FeatureLargeMessage, FeatureDisassociate,
	}},
	{6, 12, []Feature{FeatureSRQFlush, FeatureODP, FeatureDisassociate}},
	{7, 3, []Feature{FeatureSRQFlush}},
}

type kernelLimits struct {
	major, minor int
	features     []Feature
}

// RequireKernelFeature lets the test go on where the running kernel has the
// feature, and skips it, in the lab too, where the support table says that the
// kernel lacks it. A device that is not rdma_rxe has its own capabilities: tests
// ask those on real devices.
func RequireKernelFeature(t testing.TB, feature Feature) {
	t.Helper()
	if release := kernelRelease(t); !has(t, release, feature) {
		t.Skipf("rdma_rxe of kernel %s cannot: %s", release, feature)
	}
}

// KernelHas reports whether the running kernel has the feature, for tests that
// have something to check in either case.
func KernelHas(t testing.TB, feature Feature) bool {
	t.Helper()
	return has(t, kernelRelease(t), feature)
}

func has(t testing.TB, release string, feature Feature) bool {
	t.Helper()
	lacks, err := kernelLacks(release, feature)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return !lacks
}

func kernelRelease(t testing.TB) string {
	t.Helper()
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		Skip(t, fmt.Sprintf("needs to know the kernel's release: %v", err))
	}
	return strings.TrimSpace(string(release))
}

// kernelLacks looks a feature up for a release such as "6.1.0-57-amd64".
func kernelLacks(release string, feature Feature) (bool, error) {
	known := slices.ContainsFunc(cannot, func(k kernelLimits) bool {
		return slices.Contains(k.features, feature)
	})
	if !known {
		return false, fmt.Errorf("the support table has no feature %q: add it, or drop the requirement", feature)
	}
	major, minor, err := parseRelease(release)
	if err != nil {
		return false, err
	}
	// Kernels older than the first entry lack what it lacks.
	missing := cannot[0].features
	for _, k := range cannot {
		if k.major < major || k.major == major && k.minor <= minor {
			missing = k.features
		}
	}
	return slices.Contains(missing, feature), nil
}

func parseRelease(release string) (major, minor int, err error) {
	parts := strings.SplitN(strings.TrimSpace(release), ".", 3)
	if len(parts) < 2 {
		return 0, 0, fmt.Errorf("kernel release %q is not MAJOR.MINOR…", release)
	}
	if major, err = strconv.Atoi(parts[0]); err == nil {
		minor, err = strconv.Atoi(leadingDigits(parts[1]))
	}
	if err != nil {
		return 0, 0, fmt.Errorf("kernel release %q is not MAJOR.MINOR…: %w", release, err)
	}
	return major, minor, nil
}

func leadingDigits(s string) string {
	for i, r := range s {
		if r < '0' || r > '9' {
			return s[:i]
		}
	}
	return s
}
