package rdmacm

import "github.com/gofabric/gofabric/internal/crdmacm"

// LibraryPath returns the file of librdmacm that is in use. Its name ends in the
// release: librdmacm.so.1.3.44.0 is of rdma-core 44.
func LibraryPath() (string, error) { return crdmacm.LibraryPath() }

// Devices returns the names of the devices that librdmacm can use, ordered as it
// lists them. The library opens each device once, when an id is bound to it or by
// this call, and keeps it open as long as the process lives: the two descriptors
// that stay are the library's.
//
// Implements: rdma_get_devices, rdma_free_devices.
func Devices() ([]string, error) {
	names, err := crdmacm.Devices()
	if err != nil {
		return nil, &OpError{Op: "list devices", Err: err}
	}
	return names, nil
}
