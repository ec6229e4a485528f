//go:build !unix

package rdmacm

import "os"

func duplicate(int, string) (*os.File, error) { return nil, ErrNotSupported }
