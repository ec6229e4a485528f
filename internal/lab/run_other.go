//go:build !linux

package lab

import "context"

// Run needs Linux; elsewhere it returns [ErrNotSupported].
func (im *Image) Run(context.Context, Job) (Result, error) { return Result{}, ErrNotSupported }

// QEMUVersion needs Linux; elsewhere it returns [ErrNotSupported].
func QEMUVersion(context.Context) (string, error) { return "", ErrNotSupported }

// Guest returns at once: no guest is anything but Linux.
func Guest() {}
