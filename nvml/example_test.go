package nvml_test

import (
	"fmt"
	"log"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmltest"
)

// A program takes a Source: of nvml/nvmllib on a machine with GPUs, of
// nvml/nvmltest in its tests.
func Example() {
	var source nvml.Source = nvmltest.H200Pair()
	gpus, err := source.GPUs()
	if err != nil {
		log.Print(err) // of what could not be read; the rest is there
	}
	for _, g := range gpus {
		node := "unknown"
		if n, ok := g.NUMANode(); ok {
			node = fmt.Sprint(n)
		}
		links, err := source.Links(g.UUID)
		if err != nil {
			log.Print(err)
		}
		fmt.Printf("%s at %s, NUMA node %s, %d NVLinks\n", g.Name, g.PCIAddress, node, len(links))
	}
	// Output:
	// NVIDIA H200 at 0000:00:06.0, NUMA node 0, 18 NVLinks
	// NVIDIA H200 at 0000:00:07.0, NUMA node 0, 18 NVLinks
}
