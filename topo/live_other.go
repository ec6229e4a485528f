//go:build !linux

package topo

import (
	"errors"
	"fmt"
	"io"
	"runtime"
)

// Live reads this machine, which only Linux lets it do: the error has
// errors.ErrUnsupported in its chain.
func Live(ReadOptions) (*System, error) {
	return nil, fmt.Errorf("reading this machine's topology on %s: %w; read a capture with Parse", runtime.GOOS, errors.ErrUnsupported)
}

// CaptureLive is Capture of this machine, which only Linux lets it do.
func CaptureLive(io.Writer, CaptureOptions) error {
	return fmt.Errorf("capturing this machine on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
