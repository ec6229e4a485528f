package verbs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mapMemory maps size zeroed bytes outside the Go heap.
func mapMemory(size int, huge bool) ([]byte, func() error, error) {
	flags, length := unix.MAP_PRIVATE|unix.MAP_ANON, size
	var page int
	if huge {
		var err error
		if page, err = hugePageSize(); err != nil {
			return nil, nil, err
		}
		flags |= unix.MAP_HUGETLB
		length = (size + page - 1) / page * page
		if length < size {
			return nil, nil, fmt.Errorf("%d bytes are too many", size)
		}
	}
	m, err := unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		if huge && errors.Is(err, unix.ENOMEM) {
			return nil, nil, fmt.Errorf("%w: the region takes %d huge pages of %d bytes: raise /proc/sys/vm/nr_hugepages", err, length/page, page)
		}
		return nil, nil, fmt.Errorf("%d bytes: %w", size, err)
	}
	return m[:size:size], func() error { return unix.Munmap(m) }, nil
}

// hugePageSize reads the system's default.
func hugePageSize() (int, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(text), "\nHugepagesize:")
	if !ok {
		return 0, fmt.Errorf("this kernel has no huge pages: %w", ErrNotSupported)
	}
	line, _, _ := strings.Cut(rest, "\n")
	kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")))
	if err != nil {
		return 0, fmt.Errorf("/proc/meminfo: Hugepagesize: %w", err)
	}
	return kb << 10, nil
}

// memlock returns how many bytes this process may lock and how many it has
// registered; limited is false if there is no limit or it cannot be read.
func memlock() (limit, used uint64, limited bool) {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) != nil || r.Cur == unix.RLIM_INFINITY {
		return 0, 0, false
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return r.Cur, 0, true
	}
	return r.Cur, pinned(string(status)), true
}

// pinned finds the bytes that are pinned for devices in a process's status. A
// kernel that does not say has none to tell.
func pinned(status string) uint64 {
	_, rest, _ := strings.Cut(status, "\nVmPin:")
	line, _, _ := strings.Cut(rest, "\n")
	kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 53)
	if err != nil {
		return 0
	}
	return kb << 10
}
