//go:build !amd64 || race

package verbs

import "sync/atomic"

// counter counts what one goroutine at a time does, for all to read.
type counter struct{ n atomic.Uint64 }

// add belongs to whoever is inside the guard.
func (c *counter) add(n uint64) { c.n.Store(c.n.Load() + n) }

func (c *counter) load() uint64 { return c.n.Load() }
