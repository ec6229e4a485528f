package verbs

import (
	"fmt"
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

// Capabilities that the kernel tells beyond libibverbs' names for them
// (ib_user_verbs.h, enum ib_uverbs_device_cap_flags).
const (
	capFlush       = 1<<38 | 1<<39 // global, persistent
	capAtomicWrite = 1 << 40
)

// kernelCarries refuses requests that the kernel's soft-RoCE does not know: the
// library's provider for it takes them all the same, and they fail when they are
// carried out.
func (d *Device) kernelCarries(ops SendOps) error {
	if _, ok := cverbs.ProviderOf(d.name); ok || d.attr.VendorID != rxeVendor || ops&(OpFlush|OpAtomicWrite) == 0 {
		return nil
	}
	attr, err := d.AttributesEx()
	if err != nil {
		return err
	}
	if ops&OpFlush != 0 && attr.CapabilitiesEx&capFlush == 0 {
		return fmt.Errorf("the kernel's soft-RoCE has no flush, which came with Linux 6.2: %w", ErrNotSupported)
	}
	if ops&OpAtomicWrite != 0 && attr.CapabilitiesEx&capAtomicWrite == 0 {
		return fmt.Errorf("the kernel's soft-RoCE has no atomic write, which came with Linux 6.2: %w", ErrNotSupported)
	}
	return nil
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
