// Command write_lat measures the latency of RDMA writes between two machines.
// It has the flags, the output and the protocol of the C tool ib_write_lat of
// perftest 4.5, so that either side of a run may be the C tool:
//
//	write_lat -d mlx5_0              # on one machine: the server
//	write_lat -d mlx5_0 SERVER       # on the other: the client
//	write_lat -d loop0               # both in one process, without an adapter
//
// write_lat -h lists the flags, and docs/perftest.md explains them. An error is one
// line on standard error and exit status 1; after Ctrl-C everything is closed and
// the status is 130.
package main

import (
	"os"

	"github.com/gofabric/gofabric/internal/perftest"
)

func main() {
	os.Exit(perftest.Main(perftest.WriteLat, os.Args[1:], os.Stdout, os.Stderr))
}
