//go:build unix

package pollfd

import (
	"os"

	"golang.org/x/sys/unix"
)

// Duplicate returns a non-blocking duplicate of a descriptor that the netpoller
// can wait on. Closing it leaves the original to its owner.
func Duplicate(fd int, name string) (*os.File, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(dup, true); err != nil {
		unix.Close(dup)
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(dup), name), nil
}
