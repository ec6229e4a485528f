//go:build unix

package fakegpu

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file for the life of the process.
func mapFile(f *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func closeDescriptor(fd int) { _ = unix.Close(fd) }

func alive(pid int) bool { return pid != 0 && unix.Kill(pid, 0) != unix.ESRCH }
