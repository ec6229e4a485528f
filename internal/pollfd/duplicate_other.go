//go:build !unix

package pollfd

import (
	"errors"
	"os"
)

// Duplicate is not supported on this system.
func Duplicate(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
