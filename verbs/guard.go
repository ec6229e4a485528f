package verbs

import (
	"runtime"
	"sync/atomic"
	"time"
)

// guard lets one goroutine at a time into a data path. It costs two atomic
// operations and tells misuse instead of hiding it behind a lock.
type guard struct{ word atomic.Uint32 }

// A guard is closed until it is opened, and so is that of an object that was
// never made.
const (
	guardClosed = iota
	guardIdle
	guardBusy
	guardVisited // by a visit
)

// open lets goroutines in.
func (g *guard) open() { g.word.Store(guardIdle) }

// enter answers ErrConcurrentUse while another goroutine is inside, and
// ErrClosed before open and after shut. It waits for a visit to end.
func (g *guard) enter() error {
	if g.word.CompareAndSwap(guardIdle, guardBusy) {
		return nil
	}
	return g.enterLate()
}

func (g *guard) enterLate() error {
	for {
		switch g.word.Load() {
		case guardClosed:
			return ErrClosed
		case guardBusy:
			return ErrConcurrentUse
		}
		if g.word.CompareAndSwap(guardIdle, guardBusy) {
			return nil
		}
		runtime.Gosched()
	}
}

// visit is enter for this package's own short stays, of which no user learns. It
// answers false while somebody is inside, and when the guard is closed. exit ends
// it.
func (g *guard) visit() bool { return g.word.CompareAndSwap(guardIdle, guardVisited) }

// shut keeps everybody out; it waits for whoever is inside.
func (g *guard) shut() {
	for spins := 0; !g.word.CompareAndSwap(guardIdle, guardClosed); spins++ {
		if g.word.Load() == guardClosed {
			return
		}
		if spins < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(50 * time.Microsecond)
		}
	}
}
