package fromnvml_test

import (
	"fmt"
	"testing/fstest"

	"github.com/gofabric/gofabric/nvml/nvmltest"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/fromnvml"
)

// A machine without files, whose driver tells of two GPUs. A program reads
// topo.Live and asks nvmllib.
func Example() {
	s, err := topo.Read(fstest.MapFS{}, topo.ReadOptions{GPUs: fromnvml.Source(nvmltest.H200Pair())})
	if err != nil {
		fmt.Println(err)
		return
	}
	path, _ := s.Path(s.GPUs[0], s.GPUs[1])
	fmt.Println(s.GPUs[0].Name, path)
	// Output:
	// NVIDIA H200 NV18
}
