// Command alltoallv_perf times an all-to-all in which each pair of ranks has a size of its own: by the
// distance of their numbers (NCCL_TESTS_ALLTOALLV_SPREAD), or by a matrix
// (NCCL_TESTS_ALLTOALLV_MATRIX_FILE).
// It has the flags, the timing and the output of the program of that name in
// NVIDIA's nccl-tests 2.19.6:
//
//	alltoallv_perf -b 8 -e 4G -f 2 -g 2           # two GPUs of this machine
//	mpirun -np 8 alltoallv_perf -b 8 -e 4G -f 2   # a process for each GPU
//
// alltoallv_perf -h lists the flags; docs/nccl-tests.md says what differs. The exit status
// is 7 for wrong data, 1 for any other failure, and 130 after Ctrl-C.
package main

import (
	"os"

	"github.com/gofabric/gofabric/internal/nccltest"
	"github.com/gofabric/gofabric/nvml/nvmllib"
)

func main() {
	os.Exit(nccltest.Main(nccltest.AllToAllV, os.Args[1:], os.Stdout, os.Stderr, func() (nccltest.GPUSource, error) {
		return nvmllib.Open(nvmllib.Options{})
	}))
}
