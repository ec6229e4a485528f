//go:build unix

package rsocket

import "golang.org/x/sys/unix"

// allocate returns memory that is not of the Go heap, which may move its pages back
// to the system while a device writes to them.
func allocate(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func release(mem []byte) error { return unix.Munmap(mem) }
