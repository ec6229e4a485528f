// Package spin keeps a goroutine that waits without sleeping on good terms with
// the scheduler.
//
// From a goroutine that does not reach the scheduler within 10 ms the runtime
// takes the processor, and its monitor then looks every 20 µs whether to do so
// again. Where few CPUs are left, as in a small virtual machine, that cost a
// transfer a fifth of its rate. To go to the scheduler much more often is no
// better: each time it wakes a thread.
package spin

import (
	"runtime"
	"time"
)

// every is how long a goroutine may go on without a rest: less than the
// runtime's 10 ms, with some to spare for one that looks at the clock late.
const every = 8 * time.Millisecond

// Rest is when a goroutine last let others run. The zero value is long ago.
type Rest struct{ last time.Time }

// Take lets others run if that is due.
func (r *Rest) Take(now time.Time) {
	if now.Sub(r.last) > every {
		r.last = now
		runtime.Gosched()
	}
}
