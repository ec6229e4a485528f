package cuda

import (
	"errors"
	"fmt"
	"os"

	"github.com/gofabric/gofabric/internal/ccuda"
)

// Version is a version of CUDA.
type Version struct{ Major, Minor int }

// String returns "13.0".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// LibraryInfo describes libcuda as it was opened.
type LibraryInfo struct {
	Path    string  // the file, with symbolic links followed
	Version Version // of CUDA that the driver brings
}

// Library opens libcuda, which it does once in a process, and describes it. It
// needs no GPU. The environment variable GOFABRIC_LIBCUDA names a file to open
// in place of libcuda.so.1.
//
// It fails with ErrLibraryNotFound where no driver is installed, and with
// ErrNotSupported in a build without cgo or for another system than Linux.
//
// Implements: cuDriverGetVersion.
func Library() (LibraryInfo, error) {
	path, v, err := ccuda.Library()
	if err != nil {
		return LibraryInfo{}, failed("open libcuda", err)
	}
	return LibraryInfo{Path: path, Version: Version{Major: v / 1000, Minor: v % 1000 / 10}}, nil
}

// start opens the library and initialises it.
func start(op string) error {
	r, err := ccuda.Init()
	if err == nil && r != 0 {
		err = driverError(r)
	}
	if err != nil {
		return failed(op, err)
	}
	return nil
}

// DeviceCount returns how many GPUs this process may use: all, or those that
// CUDA_VISIBLE_DEVICES leaves. It makes no context. A host with the driver and
// no GPU has 0.
//
// Implements: cuInit, cuDeviceGetCount.
func DeviceCount() (int, error) {
	const op = "count GPUs"
	if err := start(op); errors.Is(err, ErrorNoDevice) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	n, r := ccuda.DeviceCount()
	if r != 0 {
		return 0, failed(op, driverError(r))
	}
	return n, nil
}

// findDevice returns a device by its number.
func findDevice(op string, ordinal int) (ccuda.Device, error) {
	if err := start(op); err != nil {
		return 0, err
	}
	dev, r := ccuda.GetDevice(ordinal)
	if r == 0 {
		return dev, nil
	}
	err := &OpError{Op: op, Device: ordinal, Err: driverError(r)}
	if n, r := ccuda.DeviceCount(); r == 0 && (ordinal < 0 || ordinal >= n) {
		err.Hint = fmt.Sprintf("this process sees %d GPUs, numbered from 0", n)
		if v, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
			err.Hint += fmt.Sprintf("; CUDA_VISIBLE_DEVICES is %q", v)
		}
	}
	return 0, err
}
