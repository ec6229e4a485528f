//go:build !linux

package counters

import (
	"errors"
	"fmt"
	"runtime"
)

// ReadEthtool needs Linux: the error has errors.ErrUnsupported in its chain.
func ReadEthtool(string) ([]Value, error) {
	return nil, fmt.Errorf("counters: ethtool on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
