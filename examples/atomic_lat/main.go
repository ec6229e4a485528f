// Command atomic_lat measures the latency of atomics between two machines.
// It has the flags, the output and the protocol of the C tool ib_atomic_lat of
// perftest 4.5, so that either side of a run may be the C tool:
//
//	atomic_lat -d mlx5_0              # on one machine: the server
//	atomic_lat -d mlx5_0 SERVER       # on the other: the client
//	atomic_lat -d loop0               # both in one process, without an adapter
//
// atomic_lat -h lists the flags, and docs/perftest.md explains them. An error is one
// line on standard error and exit status 1; after Ctrl-C everything is closed and
// the status is 130.
package main

import (
	"os"

	"github.com/gofabric/gofabric/internal/perftest"
)

func main() {
	os.Exit(perftest.Main(perftest.AtomicLat, os.Args[1:], os.Stdout, os.Stderr))
}
