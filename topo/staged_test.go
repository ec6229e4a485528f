package topo

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// stage makes a machine's files from their text, see sysfs.ParseTree.
func stage(t testing.TB, text ...string) fs.FS {
	t.Helper()
	tree, err := sysfs.ParseTree(strings.Join(text, "\n[]\n"))
	require.NoError(t, err)
	return tree
}

func readStaged(t testing.TB, text ...string) *System {
	t.Helper()
	s, err := Read(stage(t, text...), ReadOptions{})
	require.NoError(t, err)
	return s
}

const (
	gpuAttrs    = "class = 0x030200\nvendor = 0x10de\n"
	nicAttrs    = "class = 0x020700\nvendor = 0x15b3\ndevice = 0x1021\n"
	bridgeAttrs = "class = 0x060400\n"
	twoNodes    = `
[sys/devices/system/node]
online = 0-1
node0/cpulist = 0-3
node0/distance = 10 21
node1/cpulist = 4-7
node1/distance = 21 10
`
)

// function is the files of a PCI function; place is its path below sys/devices.
func function(place string, attrs ...string) string {
	return "[sys/devices/" + place + "]\n" + strings.Join(attrs, "")
}

func numaNode(n string) string { return "numa_node = " + n + "\n" }

// hca is the files of an RDMA device at a place, with one active port.
func hca(name, place string, attrs ...string) string {
	dir := "sys/devices/" + place + "/infiniband/" + name
	return "[sys/class/infiniband]\n" + name + " -> ../../../" + dir + "\n" +
		"[" + dir + "]\ndevice -> ../../../" + place[strings.LastIndexByte(place, '/')+1:] + "\n" +
		"ports/1/state = 4: ACTIVE\nports/1/link_layer = InfiniBand\nports/1/rate = 400 Gb/sec (4X NDR)\n" +
		strings.Join(attrs, "")
}

// switches is two switches below each other on one root, another below the same
// root, and functions on other roots: every kind of path.
func switches(t testing.TB) *System {
	const root = "pci0000:00/0000:00:01.0"
	return readStaged(t, twoNodes,
		function(root, bridgeAttrs, numaNode("0")),
		function(root+"/0000:01:00.0", bridgeAttrs, numaNode("0")),
		function(root+"/0000:01:00.0/0000:02:00.0", bridgeAttrs, numaNode("0")),
		function(root+"/0000:01:00.0/0000:02:00.0/0000:03:00.0", gpuAttrs, numaNode("0")),
		function(root+"/0000:01:00.0/0000:02:01.0", bridgeAttrs, numaNode("0")),
		function(root+"/0000:01:00.0/0000:02:01.0/0000:04:00.0", nicAttrs, numaNode("0")),
		function(root+"/0000:01:00.0/0000:02:01.0/0000:04:00.1", nicAttrs, numaNode("0")),
		function(root+"/0000:01:00.0/0000:02:02.0", bridgeAttrs, numaNode("0")),
		function(root+"/0000:01:00.0/0000:02:02.0/0000:05:00.0", bridgeAttrs, numaNode("0")),
		function(root+"/0000:01:00.0/0000:02:02.0/0000:05:00.0/0000:06:00.0", bridgeAttrs, numaNode("0")),
		function(root+"/0000:01:00.0/0000:02:02.0/0000:05:00.0/0000:06:00.0/0000:07:00.0", nicAttrs, numaNode("0")),
		function("pci0000:00/0000:00:02.0", bridgeAttrs, numaNode("0")),
		function("pci0000:00/0000:00:02.0/0000:08:00.0", nicAttrs, numaNode("0")),
		function("pci0000:40/0000:40:01.0", bridgeAttrs, numaNode("0")),
		function("pci0000:40/0000:40:01.0/0000:41:00.0", nicAttrs, numaNode("0")),
		function("pci0000:80/0000:80:01.0", bridgeAttrs, numaNode("1")),
		function("pci0000:80/0000:80:01.0/0000:81:00.0", nicAttrs, numaNode("1")),
		hca("mlx5_0", root+"/0000:01:00.0/0000:02:01.0/0000:04:00.0"),
		hca("mlx5_1", root+"/0000:01:00.0/0000:02:01.0/0000:04:00.1"),
		hca("mlx5_2", root+"/0000:01:00.0/0000:02:02.0/0000:05:00.0/0000:06:00.0/0000:07:00.0"),
		hca("mlx5_3", "pci0000:00/0000:00:02.0/0000:08:00.0"),
		hca("mlx5_4", "pci0000:40/0000:40:01.0/0000:41:00.0"),
		hca("mlx5_10", "pci0000:80/0000:80:01.0/0000:81:00.0"))
}

// warningsOf returns the texts of one kind of warning, by device.
func warningsOf(s *System, code WarningCode) map[string]string {
	found := map[string]string{}
	for _, w := range s.Warnings {
		if w.Code == code {
			found[w.Device] = w.Text
		}
	}
	return found
}
