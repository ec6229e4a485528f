package counters_test

import (
	"fmt"
	"os"
	"testing/fstest"
	"time"

	"github.com/gofabric/gofabric/topo/counters"
)

func ExampleReadPorts() {
	for _, port := range counters.ReadPorts(os.DirFS("/")) {
		for _, absent := range port.Absent {
			fmt.Println(port.Device, absent.Name, "is absent:", absent.Why)
		}
	}
}

func ExampleBetween() {
	machine := func(words, downs string) fstest.MapFS {
		dir := "sys/class/infiniband/mlx5_0/ports/1/counters/"
		return fstest.MapFS{
			dir + "port_xmit_data": {Data: []byte(words + "\n")},
			dir + "link_downed":    {Data: []byte(downs + "\n")},
		}
	}
	before := counters.ReadPorts(machine("1000", "2"))[0]
	after := counters.ReadPorts(machine("251000", "3"))[0]
	after.At = before.At.Add(time.Second)

	w := counters.Between(before, after)
	rate, _ := w.PerSecond(counters.Port, "port_xmit_data")
	fmt.Println(rate, "bytes a second")
	for _, d := range w.Errors() {
		fmt.Println(d.Severity, d.Name, d.Grown, counters.Describe(d.Source, d.Name).Means)
	}
	// Output:
	// 1e+06 bytes a second
	// critical link_downed 1 the link went down
}
