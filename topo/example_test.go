package topo_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"
	"testing/fstest"

	"github.com/gofabric/gofabric/topo"
)

// load reads a machine that was captured elsewhere.
func load(name string) *topo.System {
	data, err := os.ReadFile("testdata/machines/" + name + ".txtar")
	if err != nil {
		log.Fatal(err)
	}
	s, _, err := topo.Parse(data)
	if err != nil {
		log.Fatal(err)
	}
	return s
}

func Example() {
	s := load("asus-esc8000a-2xepyc-4xada-2xcx7")
	gpu, _ := s.GPU(2)
	for _, c := range s.HCAsFor(gpu) {
		if c.Best {
			fmt.Println(c.Device.Label(), c.Path)
		}
	}
	fmt.Println("run on CPUs", s.CPUsFor(gpu).CPUs)
	for _, w := range s.Warnings {
		if w.Code == topo.WarnDegradedLink {
			fmt.Println(w.Text)
		}
	}
	// Output:
	// mlx5_2 NODE
	// mlx5_3 NODE
	// run on CPUs 32-63
	// The link of 0000:71:00.0 is x1 and could be x2: reseat the card or check the slot.
	// The link of 0000:b1:00.0 is x1 and could be x2: reseat the card or check the slot.
}

func ExampleSystem_Path() {
	s := load("oci-bm-gpu-h100")
	gpu, _ := s.Find("GPU0")
	near, _ := s.Find("mlx5_0")
	path, why := s.Path(gpu, near)
	fmt.Println(path, why)
	nccl, why := s.NCCLPath(gpu, near)
	fmt.Println(nccl, why)
	// Output:
	// PXB 3 PCIe switches are between GPU0 and mlx5_0; they meet at 0000:08:00.0.
	// PIX 3 PCIe switches are between GPU0 and mlx5_0; they meet at 0000:08:00.0. NCCL takes the two levels of this Broadcom switch for one.
}

func ExampleSystem_HCAsFor() {
	s := load("dgx-a100")
	gpu, _ := s.GPU(0)
	fmt.Println(s.HCAsFor(gpu)[0].Explain())
	// Output:
	// 0000:12:00.0 for GPU0: PIX (NCCL: PIX). It is the nearest. GPU0 and 0000:12:00.0 are below one PCIe switch or bridge, 0000:03:00.0.
}

func ExampleSystem_Plan() {
	s := load("azure-ndv4-a100")
	plan, err := s.Plan(4)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range plan.Ranks {
		fmt.Println(r.Explain())
	}
	// Output:
	// Rank 0 runs on GPU0 with 0101:00:00.0. GPU0 is on NUMA node 1 (numa_node of 0001:00:00.0).
	// Rank 1 runs on GPU1 with 0102:00:00.0. GPU1 is on NUMA node 1 (numa_node of 0002:00:00.0).
	// Rank 2 runs on GPU2 with 0103:00:00.0. GPU2 is on NUMA node 0 (numa_node of 0003:00:00.0).
	// Rank 3 runs on GPU3 with 0104:00:00.0. GPU3 is on NUMA node 0 (numa_node of 0004:00:00.0).
}

func ExampleSystem_CPUsFor() {
	s := load("aws-g5-a10g")
	efa, _ := s.HCA("rdmap0s21")
	fmt.Println(s.CPUsFor(efa).Explain())
	// Output:
	// rdmap0s21 is on NUMA node 1 (numa_node of 0000:00:15.0). Its CPUs are not known.
}

func ExampleRead() {
	files := fstest.MapFS{
		"sys/devices/system/node/online":                             {Data: []byte("0-1\n")},
		"sys/devices/system/node/node0/cpulist":                      {Data: []byte("0-31\n")},
		"sys/devices/system/node/node1/cpulist":                      {Data: []byte("32-63\n")},
		"sys/devices/pci0000:80/0000:80:01.1/class":                  {Data: []byte("0x060400\n")},
		"sys/devices/pci0000:80/0000:80:01.1/numa_node":              {Data: []byte("1\n")},
		"sys/devices/pci0000:80/0000:80:01.1/0000:81:00.0/class":     {Data: []byte("0x030200\n")},
		"sys/devices/pci0000:80/0000:80:01.1/0000:81:00.0/vendor":    {Data: []byte("0x10de\n")},
		"sys/devices/pci0000:80/0000:80:01.1/0000:81:00.0/numa_node": {Data: []byte("-1\n")},
	}
	s, err := topo.Read(files, topo.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.CPUsFor(s.GPUs[0]).Explain())
	// Output:
	// GPU0 is on NUMA node 1 (numa_node of the bridge 0000:80:01.1).
}

func ExampleCapture() {
	files := fstest.MapFS{
		"sys/devices/pci0000:00/0000:00:01.0/class":      {Data: []byte("0x020700\n")},
		"sys/class/infiniband/mlx5_0/node_guid":          {Data: []byte("9c63:c003:0012:3450\n")},
		"sys/class/infiniband/mlx5_0/ports/1/link_layer": {Data: []byte("InfiniBand\n")},
		"sys/class/infiniband/mlx5_0/ports/1/state":      {Data: []byte("4: ACTIVE\n")},
	}
	var text bytes.Buffer
	if err := topo.Capture(&text, files, topo.CaptureOptions{Comment: "no GPU is seen"}); err != nil {
		log.Fatal(err)
	}
	for _, line := range strings.Split(text.String(), "\n") {
		if strings.Contains(line, "guid") {
			fmt.Println(line)
		}
	}
	s, format, err := topo.Parse(text.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(format, len(s.HCAs))
	// Output:
	// node_guid = 0f00:0000:0000:0001
	// gofabric capture 1
}

func ExampleParseCPUList() {
	cpus, err := topo.ParseCPUList("0-31,64-95")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(cpus), cpus, cpus.Mask())
	// Output:
	// 64 0-31,64-95 ffffffff,00000000,ffffffff
}
