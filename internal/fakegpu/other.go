//go:build !unix

package fakegpu

import (
	"errors"
	"os"
)

func lock(string) (func(), error) { return nil, errors.ErrUnsupported }

func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func closeDescriptor(int) {}

func alive(int) bool { return false }
