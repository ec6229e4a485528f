//go:build !linux

package verbs

import "fmt"

func mapMemory(int, bool) ([]byte, func() error, error) {
	return nil, nil, fmt.Errorf("RDMA memory needs linux: %w", ErrNotSupported)
}

func memlock() (limit, used uint64, limited bool) { return 0, 0, false }
