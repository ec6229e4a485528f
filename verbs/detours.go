package verbs

import (
	"path"
	"strconv"
	"strings"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// rxeVendor is what the kernel's soft-RoCE calls itself.
const rxeVendor = 0xffffff

// detours returns what of the device's provider has to be gone round. Those are
// faults of libibverbs' soft-RoCE provider, by the release that mends them. A
// release that cannot be told is taken to have them: the ways round are right
// everywhere, only slower.
func (d *Device) detours() uint32 {
	if _, ok := cverbs.ProviderOf(d.name); ok || d.attr.VendorID != rxeVendor {
		return 0
	}
	library, err := cverbs.LibraryPath()
	if err != nil {
		return 0
	}
	release, _ := coreRelease(library)
	var faults uint32
	if release < 59 {
		faults |= cverbs.NeverNextPoll
	}
	if release < 64 {
		faults |= cverbs.ClassicSGEList | cverbs.OneInlinePiece
	}
	return faults
}

// coreRelease reads the release of rdma-core from the file name of its library:
// 44 from libibverbs.so.1.14.44.0.
func coreRelease(file string) (int, bool) {
	_, version, ok := strings.Cut(path.Base(file), ".so.")
	parts := strings.Split(version, ".")
	if !ok || len(parts) < 4 {
		return 0, false
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil || n < 0 {
		return 0, false
	}
	return n, true
}
