//go:build !linux

package lab

import "context"

// Run needs Linux; elsewhere it returns [ErrNotSupported].
func (im *Image) Run(context.Context, Job) (Result, error) { return Result{}, ErrNotSupported }

// StartPair needs Linux; elsewhere it returns [ErrNotSupported].
func (im *Image) StartPair(context.Context, Job, Job) (*Pair, error) { return nil, ErrNotSupported }

// RunPair needs Linux; elsewhere it returns [ErrNotSupported].
func (im *Image) RunPair(context.Context, Job, Job) (a, b Result, err error) {
	return Result{}, Result{}, ErrNotSupported
}

// QEMUVersion needs Linux; elsewhere it returns [ErrNotSupported].
func QEMUVersion(context.Context) (string, error) { return "", ErrNotSupported }

// Guest returns at once: no guest is anything but Linux.
func Guest() {}
