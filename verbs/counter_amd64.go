//go:build !race

package verbs

import (
	"sync/atomic"
	"unsafe"
)

// counter counts what one goroutine at a time does, for all to read.
type counter struct{ n atomic.Uint64 }

// add belongs to whoever is inside the guard. It is an ordinary store, for the
// reason that guard.exit is one.
func (c *counter) add(n uint64) { *(*uint64)(unsafe.Pointer(&c.n)) += n }

func (c *counter) load() uint64 { return c.n.Load() }
