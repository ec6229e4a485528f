//go:build !linux

package verbs

import "fmt"

func mapMemory(int, bool) ([]byte, func() error, error) {
	return nil, nil, fmt.Errorf("RDMA memory needs linux: %w", ErrNotSupported)
}

func memlockLimit() (limit uint64, limited bool) { return 0, false }
