//go:build !linux

package topo

import (
	"errors"
	"fmt"
	"runtime"
)

func notHere(op string) error {
	return &BindError{Op: op, Err: fmt.Errorf("%w on %s", errors.ErrUnsupported, runtime.GOOS)}
}

// ThreadBinding is a goroutine's thread that was bound. There is none on this
// system.
type ThreadBinding struct{}

// Bound tells what the binding came to.
func (t *ThreadBinding) Bound() Bound { return Bound{} }

// Restore does nothing.
func (t *ThreadBinding) Restore() error { return nil }

// BindThread is for Linux only: the error has errors.ErrUnsupported in its chain.
func BindThread(Affinity, BindOptions) (*ThreadBinding, error) {
	return nil, notHere("bind the thread")
}

// BindProcess is for Linux only: the error has errors.ErrUnsupported in its chain.
func BindProcess(Affinity, BindOptions) (Bound, error) {
	return Bound{}, notHere("bind the process")
}

// BindMemory is for Linux only: the error has errors.ErrUnsupported in its chain.
func BindMemory([]byte, Affinity, BindOptions) error { return notHere("bind a buffer") }
