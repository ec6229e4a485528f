package topo

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
)

func mustHCA(t *testing.T, s *System, name string) *HCA {
	t.Helper()
	h, ok := s.HCA(name)
	require.True(t, ok, name)
	return h
}

func TestHCAsComeFromTheInfinibandClass(t *testing.T) {
	// PCI classes of HCAs: Ethernet, InfiniBand, InfiniBand as a serial bus, and
	// none. A network card without RDMA is no HCA.
	var text []string
	for i, class := range []string{"0x020000", "0x020700", "0x0c0600", "0x00ff00"} {
		place := "pci0000:00/0000:00:0" + string(rune('1'+i)) + ".0"
		text = append(text, function(place, "class = "+class+"\n"), hca("mlx5_"+string(rune('0'+i)), place))
	}
	text = append(text, function("pci0000:00/0000:00:09.0", "class = 0x020000\n"))
	s := readStaged(t, text...)
	require.Len(t, s.HCAs, 4)
	for _, h := range s.HCAs {
		assert.Equal(t, KindPF, h.Kind)
		assert.Len(t, h.PCI, 1)
	}
}

func TestVirtualFunctionHasThePhysicalFunctionsLink(t *testing.T) {
	link := "current_link_speed = 32.0 GT/s PCIe\ncurrent_link_width = 16\nmax_link_speed = 32.0 GT/s PCIe\nmax_link_width = 16\n"
	empty := "current_link_speed = Unknown\ncurrent_link_width = 0\nmax_link_speed = Unknown\nmax_link_width = 255\n"
	s := readStaged(t, twoNodes, function("pci0000:00/0000:00:01.0", bridgeAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0", nicAttrs, numaNode("1"), link, "sriov_numvfs = 1\n"),
		function("pci0000:00/0000:00:01.0/0000:01:00.1", nicAttrs, numaNode("-1"), empty, "physfn -> ../0000:01:00.0\n"),
		hca("mlx5_0", "pci0000:00/0000:00:01.0/0000:01:00.0"), hca("mlx5_1", "pci0000:00/0000:00:01.0/0000:01:00.1"))
	vf := mustHCA(t, s, "mlx5_1")
	assert.Equal(t, KindVF, vf.Kind)
	d, _ := s.Device(vf.PCI[0])
	assert.Equal(t, Link{32, 16, 32, 16}, d.Link)
	assert.Equal(t, Address("0000:01:00.0"), d.PhysFn)
	node, ok := vf.NUMA.Known()
	assert.True(t, ok)
	assert.Equal(t, 1, node)
	pf, _ := s.Device("0000:01:00.0")
	assert.Equal(t, 1, pf.VFs)
	assert.Equal(t, KindPF, mustHCA(t, s, "mlx5_0").Kind)
}

const bondFiles = `
[sys/class/net]
bond0 -> ../../devices/virtual/net/bond0
eth0 -> ../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/net/eth0
eth1 -> ../../devices/pci0000:00/0000:00:01.0/0000:01:00.1/net/eth1
[sys/devices/virtual/net/bond0]
bonding/slaves = eth0 eth1
lower_eth0 -> ../../../pci0000:00/0000:00:01.0/0000:01:00.0/net/eth0
lower_eth1 -> ../../../pci0000:00/0000:00:01.0/0000:01:00.1/net/eth1
type = 1
[sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/net/eth0]
device -> ../../../0000:01:00.0
[sys/devices/pci0000:00/0000:00:01.0/0000:01:00.1/net/eth1]
device -> ../../../0000:01:00.1
`

func TestBondListsBothFunctions(t *testing.T) {
	s := readStaged(t, twoNodes, function("pci0000:00/0000:00:01.0", bridgeAttrs, numaNode("0")),
		function("pci0000:00/0000:00:01.0/0000:01:00.0", nicAttrs), function("pci0000:00/0000:00:01.0/0000:01:00.1", nicAttrs),
		hca("mlx5_bond_0", "pci0000:00/0000:00:01.0/0000:01:00.0", "ports/1/gids/0 = 0000:0000:0000:0000:0000:ffff:0a00:0001\nports/1/gid_attrs/types/0 = RoCE v2\nports/1/gid_attrs/ndevs/0 = bond0\n"),
		"sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_bond_0/extra = 1", bondFiles)
	h := mustHCA(t, s, "mlx5_bond_0")
	assert.Equal(t, KindBond, h.Kind)
	assert.Equal(t, []Address{"0000:01:00.0", "0000:01:00.1"}, h.PCI)
	assert.Contains(t, warningsOf(s, WarnBondRate), "mlx5_bond_0")
}

func TestSoftwareDeviceStandsAtItsNetdevsPlace(t *testing.T) {
	s := readStaged(t, twoNodes, function("pci0000:80/0000:80:01.0", "class = 0x020000\n", numaNode("1")), `
[sys/class/infiniband]
rxe0 -> ../../devices/virtual/infiniband/rxe0
[sys/devices/virtual/infiniband/rxe0]
parent = eth0.100
ports/1/state = 4: ACTIVE
ports/1/link_layer = Ethernet
ports/1/rate = 2.5 Gb/sec (1X SDR)
[sys/class/net]
eth0 -> ../../devices/pci0000:80/0000:80:01.0/net/eth0
eth0.100 -> ../../devices/virtual/net/eth0.100
lo -> ../../devices/virtual/net/lo
veth1 -> ../../devices/virtual/net/veth1
[sys/devices/pci0000:80/0000:80:01.0/net/eth0]
device -> ../../../0000:80:01.0
address = 02:00:00:00:00:01
operstate = up
speed = 100000
[sys/devices/virtual/net/eth0.100]
lower_eth0 -> ../../../pci0000:80/0000:80:01.0/net/eth0
[sys/devices/virtual/net/lo]
type = 772
[sys/devices/virtual/net/veth1]
type = 1
`)
	h := mustHCA(t, s, "rxe0")
	assert.Equal(t, KindSoftware, h.Kind)
	assert.Equal(t, "eth0.100", h.Parent)
	assert.Equal(t, []Address{"0000:80:01.0"}, h.PCI)
	node, ok := h.NUMA.Known()
	assert.True(t, ok)
	assert.Equal(t, 1, node)
	require.Len(t, s.Netdevs, 2, "interfaces without hardware below them are left out")
	assert.Equal(t, 100000, *s.Netdevs[0].SpeedMbps)
	assert.True(t, *s.Netdevs[0].Up)
}

// twoPorts is an InfiniBand card whose ports' GUIDs differ from the node's, with
// an IPoIB interface for the second port.
var twoPorts = []string{
	function("pci0000:00/0000:00:01.0", nicAttrs),
	hca("mlx4_0", "pci0000:00/0000:00:01.0", `node_guid = 0002:c903:0011:2200
ports/1/gids/0 = fe80:0000:0000:0000:0002:c903:0011:2201
ports/2/state = 2: INIT
ports/2/link_layer = InfiniBand
ports/2/gids/0 = fe80:0000:0000:0000:0002:c903:0011:2202
`), `
[sys/class/net]
ib1 -> ../../devices/pci0000:00/0000:00:01.0/net/ib1
[sys/devices/pci0000:00/0000:00:01.0/net/ib1]
device -> ../../../0000:00:01.0
type = 32
address = 80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:11:22:02
`}

func TestIPoIBBelongsToThePortWithItsGUID(t *testing.T) {
	s := readStaged(t, twoPorts...)
	h := mustHCA(t, s, "mlx4_0")
	require.Len(t, h.Ports, 2)
	assert.Empty(t, h.Ports[0].Netdevs)
	assert.Equal(t, []string{"ib1"}, h.Ports[1].Netdevs)
	assert.Equal(t, []string{"mlx4_0"}, s.Netdevs[0].RDMA)
	assert.Contains(t, warningsOf(s, WarnPortDown)["mlx4_0"], "Port 2 is INIT")
}

func TestRdmamapFillsGapsAndNeverReplaces(t *testing.T) {
	asked := func(s *System, answer string, err error) map[string]string {
		s.mapNetdevs(func(string) (string, error) { return answer, err })
		return warningsOf(s, WarnNetdevMapping)
	}
	t.Run("node GUID names another device", func(t *testing.T) {
		s := readStaged(t, append(twoPorts, function("pci0000:00/0000:00:02.0", nicAttrs), hca("mlx4_1", "pci0000:00/0000:00:02.0"))...)
		assert.Contains(t, asked(s, "mlx4_1", nil)["ib1"], "which is believed")
		assert.Equal(t, []string{"mlx4_0"}, s.Netdevs[0].RDMA)
	})
	t.Run("not found is an empty answer without error", func(t *testing.T) {
		s := readStaged(t, twoPorts...)
		assert.Empty(t, asked(s, "", nil))
		assert.Equal(t, []string{"mlx4_0"}, s.Netdevs[0].RDMA)
	})
	t.Run("an error", func(t *testing.T) {
		assert.Empty(t, asked(readStaged(t, twoPorts...), "mlx4_1", errors.New("no netlink here")))
	})
	t.Run("a device that is not there", func(t *testing.T) {
		assert.Contains(t, asked(readStaged(t, twoPorts...), "mlx9_9", nil)["ib1"], "not listed")
	})
	one := []string{function("pci0000:00/0000:00:01.0", nicAttrs), hca("mlx5_0", "pci0000:00/0000:00:01.0"), `
[sys/class/net]
ib0 -> ../../devices/pci0000:00/0000:00:01.0/net/ib0
[sys/devices/pci0000:00/0000:00:01.0/net/ib0]
device -> ../../../0000:00:01.0
type = 32
address = 80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:11:22:02
`}
	t.Run("a gap, confirmed by the PCI function", func(t *testing.T) {
		s := readStaged(t, one...) // the GID table is not shown
		require.Empty(t, s.Netdevs[0].RDMA)
		assert.Empty(t, asked(s, "mlx5_0", nil))
		assert.Equal(t, []string{"ib0"}, s.HCAs[0].Ports[0].Netdevs)
	})
	t.Run("a gap that nothing confirms", func(t *testing.T) {
		s := readStaged(t, append(one, function("pci0000:00/0000:00:02.0", nicAttrs), hca("mlx5_1", "pci0000:00/0000:00:02.0"))...)
		assert.Contains(t, asked(s, "mlx5_1", nil)["ib0"], "confirm")
	})
	t.Run("an address too short for rdmamap", func(t *testing.T) {
		s := readStaged(t, one...)
		s.Netdevs[0].MAC = "80:00"
		s.mapNetdevs(func(string) (string, error) {
			assert.Fail(t, "asked for an interface that it cannot read")
			return "", nil
		})
	})
}

func TestOneUnreadableFileLosesOnlyItself(t *testing.T) {
	for _, bad := range []string{"!EIO", "!EACCES", "= garbage"} {
		s := readStaged(t, twoNodes, function("pci0000:00/0000:00:01.0", nicAttrs, "numa_node "+bad+"\ncurrent_link_speed "+bad+"\n"),
			hca("mlx5_0", "pci0000:00/0000:00:01.0", "ports/2/state = 4: ACTIVE\nports/2/rate "+bad+"\nports/2/link_layer = InfiniBand\n"),
			function("pci0000:00/0000:00:02.0", gpuAttrs, numaNode("1")))
		h := mustHCA(t, s, "mlx5_0")
		require.Len(t, h.Ports, 2)
		assert.Equal(t, 400.0, h.Ports[0].RateGbps)
		assert.Equal(t, PortActive, h.Ports[1].State)
		assert.Zero(t, h.Ports[1].RateGbps)
		require.Len(t, s.GPUs, 1)
		unreadable := 0
		for _, w := range s.Warnings {
			if w.Code == WarnUnreadable {
				unreadable++
			}
		}
		assert.Equal(t, 3, unreadable, "%s: each file is named: %v", bad, s.Warnings)
	}
}

func TestAttributesThatDoNotApplyAreNoWarning(t *testing.T) {
	s := readStaged(t, "sys/devices/system/node/online = 0\nsys/devices/system/node/node0/cpulist = 0",
		function("pci0000:00/0000:00:01.0", nicAttrs, "current_link_speed !EINVAL\n"),
		hca("mlx5_0", "pci0000:00/0000:00:01.0", "fw_ver !EOPNOTSUPP\nports/1/gids/0 = fe80:0000:0000:0000:0002:c903:0011:2201\nports/1/gid_attrs/types/0 !EINVAL\n"))
	assert.Empty(t, s.Warnings)
}

func TestContainerMissesDeviceFiles(t *testing.T) {
	s := readStaged(t, "sys/devices/system/node/online = 0\nsys/devices/system/node/node0/cpulist = 0\n.dockerenv =\n",
		function("pci0000:00/0000:00:01.0", nicAttrs), hca("mlx5_0", "pci0000:00/0000:00:01.0"),
		function("pci0000:00/0000:00:02.0", nicAttrs), hca("mlx5_1", "pci0000:00/0000:00:02.0", "ports/2/state = 4: ACTIVE\nports/2/link_layer = Ethernet\n"),
		function("pci0000:00/0000:00:03.0", gpuAttrs), function("pci0000:00/0000:00:04.0", gpuAttrs), `
[proc/driver/nvidia/gpus]
0000:00:03.0/information =
| Model: 		 NVIDIA H100
| GPU UUID:   	 GPU-12345678-1234-1234-1234-123456789abc
| Device Minor: 	 0
0000:00:04.0/information =
| GPU UUID: GPU-????????-????-????-????-????????????
| Device Minor: 1
[sys/class/infiniband_verbs]
uverbs0/ibdev = mlx5_0
uverbs1/ibdev = mlx5_1
[dev]
infiniband/uverbs1 =
nvidia0 =
`)
	assert.Equal(t, "docker", s.Host.Container)
	assert.False(t, *mustHCA(t, s, "mlx5_0").UverbsPresent)
	assert.True(t, *mustHCA(t, s, "mlx5_1").UverbsPresent)
	assert.Equal(t, "NVIDIA H100", s.GPUs[0].Name)
	assert.Equal(t, "GPU-12345678-1234-1234-1234-123456789abc", s.GPUs[0].UUID)
	assert.Empty(t, s.GPUs[1].UUID, "the driver does not know it yet")
	assert.True(t, *s.GPUs[0].DeviceFilePresent)
	assert.False(t, *s.GPUs[1].DeviceFilePresent)
	missing := warningsOf(s, WarnNoDeviceFile)
	assert.Contains(t, missing["mlx5_0"], "/dev/infiniband/uverbs0")
	assert.Contains(t, missing["GPU1"], "/dev/nvidia1")
	assert.Len(t, missing, 2)
	assert.Contains(t, warningsOf(s, WarnNetdevElsewhere)["mlx5_1"], "another network namespace")
}

func TestWithoutDevNothingIsSaidAboutDeviceFiles(t *testing.T) {
	s := readStaged(t, function("pci0000:00/0000:00:01.0", nicAttrs), hca("mlx5_0", "pci0000:00/0000:00:01.0"),
		"sys/class/infiniband_verbs/uverbs0/ibdev = mlx5_0")
	assert.Equal(t, "uverbs0", s.HCAs[0].Uverbs)
	assert.Nil(t, s.HCAs[0].UverbsPresent)
}

func TestFabricManagementFunctionsAreNotUsed(t *testing.T) {
	s := readStaged(t, twoNodes, function("pci0000:00/0000:00:01.0", nicAttrs, numaNode("0"), "vpd =\n| V0 SN123 SMDL=SW_MNG\n"),
		hca("mlx5_0", "pci0000:00/0000:00:01.0"),
		function("pci0000:80/0000:80:01.0", nicAttrs, numaNode("1"), "vpd =\n| V0 SN456\n"), hca("mlx5_1", "pci0000:80/0000:80:01.0"),
		function("pci0000:00/0000:00:02.0", gpuAttrs, numaNode("0")))
	assert.True(t, mustHCA(t, s, "mlx5_0").Management)
	assert.False(t, mustHCA(t, s, "mlx5_1").Management)
	choices := s.HCAsFor(s.GPUs[0])
	require.Len(t, choices, 1)
	assert.Equal(t, "mlx5_1", choices[0].Device.Label())
	assert.Contains(t, warningsOf(s, WarnManagement), "mlx5_0")
}

func TestMIGSliceSharesItsGPUsPlace(t *testing.T) {
	s, err := Read(stage(t, twoNodes, function("pci0000:00/0000:00:01.0", gpuAttrs, numaNode("1"))),
		ReadOptions{GPUs: GPUFacts{GPUs: []GPUFact{{PCI: "0000:00:01.0", UUID: "GPU-a", MIG: []MIG{{UUID: "MIG-1"}, {UUID: "MIG-2"}}}}}})
	require.NoError(t, err)
	assert.Same(t, s.GPUs[0], find(t, s, "MIG-2"))
	assert.Same(t, s.GPUs[0], find(t, s, "GPU-a"))
	assert.Same(t, s.GPUs[0], find(t, s, "gpu0"))
}

func TestGPUsWithoutNVML(t *testing.T) {
	s := readStaged(t, function("pci0000:00/0000:00:01.0", "class = 0x030000\nvendor = 0x1a03\n"), // a server's display
		function("pci0000:00/0000:00:02.0", "class = 0x030000\nvendor = 0x10de\n"),
		function("pci0000:00/0000:00:02.1", "class = 0x040300\nvendor = 0x10de\n"), // its sound
		function("pci0000:00/0000:00:03.0", "class = 0x120000\nvendor = 0x1002\n"),
		function("pci10000:00/10000:00:01.0", gpuAttrs))
	var got []Address
	for i, g := range s.GPUs {
		assert.Equal(t, i, g.Index)
		got = append(got, g.PCI)
	}
	assert.Equal(t, []Address{"0000:00:02.0", "0000:00:03.0", "10000:00:01.0"}, got)
}

func TestNVMLOrdersTheGPUsAndAddsWhatSysfsHides(t *testing.T) {
	s, err := Read(stage(t, function("pci0000:00/0000:00:01.0", gpuAttrs), function("pci0000:00/0000:00:02.0", gpuAttrs)),
		ReadOptions{GPUs: GPUFacts{GPUs: []GPUFact{{Index: 0, PCI: "00000000:00:02.0"}, {Index: 1, PCI: "0000:00:09.0"}}}})
	require.NoError(t, err)
	require.Len(t, s.GPUs, 3)
	assert.Equal(t, Address("0000:00:02.0"), s.GPUs[0].PCI)
	assert.Equal(t, Address("0000:00:09.0"), s.GPUs[1].PCI, "/sys of a container may not show it")
	assert.Equal(t, Address("0000:00:01.0"), s.GPUs[2].PCI, "NVML does not list it")
	d, _ := s.Device("0000:00:09.0")
	assert.False(t, d.Placed)
}

type failingSource struct{}

func (failingSource) GPUFacts() (GPUFacts, error) { return GPUFacts{}, errors.New("driver not loaded") }

func TestReadWithoutNVMLAnswer(t *testing.T) {
	s, err := Read(stage(t, function("pci0000:00/0000:00:01.0", gpuAttrs)), ReadOptions{GPUs: failingSource{}})
	require.NoError(t, err)
	assert.Len(t, s.GPUs, 1)
	assert.Contains(t, warningsOf(s, WarnUnreadable)["NVML"], "driver not loaded")
}

// untouched fails a test that opens a device's file.
type untouched struct {
	sysfs.FS
	t *testing.T
}

func (u untouched) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, "dev/") && !strings.HasSuffix(name, "infiniband") {
		assert.Fail(u.t, "a device's file was opened", name)
	}
	return u.FS.Open(name)
}

func TestDeviceFilesAreNotOpened(t *testing.T) {
	tree := stage(t, function("pci0000:00/0000:00:01.0", nicAttrs), hca("mlx5_0", "pci0000:00/0000:00:01.0"),
		function("pci0000:00/0000:00:03.0", gpuAttrs), `
proc/driver/nvidia/gpus/0000:00:03.0/information = Device Minor: 0
sys/class/infiniband_verbs/uverbs0/ibdev = mlx5_0
dev/infiniband/uverbs0 =
dev/nvidia0 =
`).(sysfs.FS)
	var b bytes.Buffer
	require.NoError(t, Capture(&b, untouched{tree, t}, CaptureOptions{}))
	s, _, err := Parse(b.Bytes())
	require.NoError(t, err)
	assert.True(t, *s.GPUs[0].DeviceFilePresent)
	assert.True(t, *s.HCAs[0].UverbsPresent)
}
