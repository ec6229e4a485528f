package nccltest

import (
	"runtime"
	"runtime/metrics"
)

// garbageLimit is how many bytes of heap are left alone. The collector is off
// during a run, and a row leaves some kilobytes.
const garbageLimit = 64 << 20

// collect collects garbage if there is much. Doing so before each row costs the
// row: threads wake on all processors, and the caches of the one that issues the
// operations are somebody else's.
func collect() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	if heap[0].Value.Kind() != metrics.KindUint64 || heap[0].Value.Uint64() > garbageLimit {
		runtime.GC()
	}
}
