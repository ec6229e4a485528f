// Command read_bw measures the bandwidth of RDMA reads between two machines.
// It has the flags, the output and the protocol of the C tool ib_read_bw of
// perftest 4.5, so that either side of a run may be the C tool:
//
//	read_bw -d mlx5_0              # on one machine: the server
//	read_bw -d mlx5_0 SERVER       # on the other: the client
//	read_bw -d loop0               # both in one process, without an adapter
//
// read_bw -h lists the flags, and docs/perftest.md explains them. An error is one
// line on standard error and exit status 1; after Ctrl-C everything is closed and
// the status is 130.
package main

import (
	"os"

	"github.com/gofabric/gofabric/internal/perftest"
)

func main() {
	os.Exit(perftest.Main(perftest.ReadBW, os.Args[1:], os.Stdout, os.Stderr))
}
