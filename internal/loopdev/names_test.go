//go:build linux && cgo

package loopdev_test

import "syscall"

var (
	errNoMemory    = syscall.ENOMEM
	errInvalid     = syscall.EINVAL
	errGone        = syscall.EIO
	errBusy        = syscall.EBUSY
	errUnsupported = syscall.EOPNOTSUPP
)

var (
	errNoDevice = syscall.ENODEV
	errNoEntry  = syscall.ENOENT
)
