package rsocket

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/gofabric/gofabric/internal/crdmacm"
)

// fixedRelease is the first rdma-core whose threads survive more rsockets than
// mostBefore: earlier ones go on with an array that was freed when the fourth came.
const (
	fixedRelease = 53
	mostBefore   = 3
)

// ErrTooMany: the installed rdma-core, older than 53, corrupts its memory with more
// than three streams, listeners or datagram rsockets in a process. It is
// ErrNotSupported.
var ErrTooMany = fmt.Errorf("librdmacm before rdma-core %d holds %d in a process, install a newer one: %w",
	fixedRelease, mostBefore, ErrNotSupported)

// count is how many rsockets a thread of the library has.
type count struct {
	mu sync.Mutex
	n  int
}

// streams, listeners and packets are what the library has a thread each for.
var streams, listeners, packets count

// take makes room for one more.
func (c *count) take() error {
	most := -1
	if path, err := crdmacm.LibraryPath(); err == nil && releaseOf(path) < fixedRelease {
		most = mostBefore
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == most {
		return ErrTooMany
	}
	c.n++
	return nil
}

func (c *count) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
}

// releaseOf reads the release of rdma-core off the library's file, as in
// librdmacm.so.1.3.44.0; 0 if the name does not tell.
func releaseOf(path string) int {
	_, version, _ := strings.Cut(path, ".so.")
	parts := strings.Split(version, ".")
	if len(parts) < 3 {
		return 0
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil {
		return 0
	}
	return n
}
