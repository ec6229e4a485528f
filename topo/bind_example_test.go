package topo_test

import (
	"fmt"
	"log"

	"github.com/gofabric/gofabric/topo"
)

// A goroutine that serves an RDMA device runs on the CPUs of the device's node, and
// its buffer stands there.
func ExampleBindThread() {
	s, err := topo.Live(topo.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	hca, ok := s.HCA("mlx5_0")
	if !ok {
		log.Fatal("no mlx5_0")
	}
	near := s.CPUsFor(hca)
	binding, err := topo.BindThread(near, topo.BindOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer binding.Restore()
	fmt.Println(binding.Bound())
	buffer := make([]byte, 64<<20)
	if err := topo.BindMemory(buffer, near, topo.BindOptions{}); err != nil {
		log.Fatal(err)
	}
}
