package topo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func pathText(t *testing.T, s *System, a, b string) string {
	t.Helper()
	p, why := s.Path(find(t, s, a), find(t, s, b))
	assert.NotEmpty(t, why.String())
	return p.String()
}

func ncclText(t *testing.T, s *System, a, b string) string {
	t.Helper()
	p, why := s.NCCLPath(find(t, s, a), find(t, s, b))
	assert.NotEmpty(t, why.String())
	return p.String()
}

func TestPathsCountSwitches(t *testing.T) {
	s := switches(t)
	for name, want := range map[string]string{
		"mlx5_0": "PIX", "mlx5_2": "PXB", "mlx5_3": "PHB", "mlx5_4": "NODE", "mlx5_10": "SYS", "GPU0": "X",
	} {
		assert.Equal(t, want, pathText(t, s, "GPU0", name), name)
		assert.Equal(t, want, pathText(t, s, name, "GPU0"), name)
	}
	_, why := s.Path(find(t, s, "GPU0"), find(t, s, "mlx5_2"))
	assert.Equal(t, 2, why.Switches)
	assert.Equal(t, []Address{"0000:02:00.0", "0000:01:00.0", "0000:02:02.0", "0000:05:00.0", "0000:06:00.0"}, why.Via)
}

func TestPathBetweenFunctionsOfOneDeviceIsPIX(t *testing.T) {
	s := switches(t)
	assert.Equal(t, "PIX", pathText(t, s, "mlx5_0", "mlx5_1"))
	// Without any bridge above, and of one function with itself by another name.
	flat := readStaged(t, function("pci0000:00/0000:00:05.0", nicAttrs), function("pci0000:00/0000:00:05.1", nicAttrs),
		hca("a", "pci0000:00/0000:00:05.0"), hca("b", "pci0000:00/0000:00:05.0"), hca("c", "pci0000:00/0000:00:05.1"))
	assert.Equal(t, "PIX", pathText(t, flat, "a", "b"))
	assert.Equal(t, "PIX", pathText(t, flat, "a", "c"))
}

func TestBridgesAreToldBySwitchStructure(t *testing.T) {
	s := switches(t)
	for a, want := range map[Address]BridgeKind{
		"0000:00:01.0": RootPort, "0000:01:00.0": SwitchUpstream, "0000:02:00.0": SwitchDownstream,
		"0000:05:00.0": SwitchUpstream, "0000:06:00.0": SwitchDownstream, "0000:03:00.0": NotBridge,
	} {
		d, ok := s.Device(a)
		require.True(t, ok)
		assert.Equal(t, want, d.Bridge, a)
	}
	// A bridge that carries endpoints only is no switch, and still one bridge.
	s = readStaged(t, function("pci0000:00/0000:00:01.0", bridgeAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0", bridgeAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0", gpuAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:02.0", nicAttrs))
	assert.Equal(t, PlainBridge, s.PCI[1].Bridge)
	assert.Equal(t, "PIX", pathText(t, s, "GPU0", "0000:02:02.0"))
}

func TestNVLinksReplaceTheGPUPathAndPCIStays(t *testing.T) {
	facts := GPUFacts{GPUs: []GPUFact{
		{Index: 0, PCI: "00000000:01:00.0", NVLinks: []NVLink{{Peer: PeerGPU, Address: "0000:02:00.0", Count: 4}}},
		{Index: 1, PCI: "0000:02:00.0", NVLinks: []NVLink{{Peer: PeerGPU, Address: "0000:01:00.0", Count: 4}, {Peer: PeerSwitch, Count: 12}}},
		{Index: 2, PCI: "0000:03:00.0", NVLinks: []NVLink{{Peer: PeerSwitch, Count: 8}, {Peer: PeerSwitch, Count: 6}}},
	}}
	root := func(bus string) string { return "pci0000:" + bus + "/0000:" + bus + ":00.0" }
	s, err := Read(stage(t, twoNodes, function(root("01"), gpuAttrs, numaNode("0")),
		function(root("02"), gpuAttrs, numaNode("1")), function(root("03"), gpuAttrs, numaNode("1"))), ReadOptions{GPUs: facts})
	require.NoError(t, err)
	assert.Equal(t, "NV4", pathText(t, s, "GPU0", "GPU1"))
	pci, _ := s.PCIPath(s.GPUs[0], s.GPUs[1])
	assert.Equal(t, SYS, pci)
	assert.Equal(t, "NV12", pathText(t, s, "GPU1", "GPU2"), "the GPU with fewer links to switches is the limit")
	assert.Equal(t, "SYS", pathText(t, s, "GPU0", "GPU2"), "GPU0 has no link to a switch")
	assert.Equal(t, "NVL", ncclText(t, s, "GPU0", "GPU1"))
	assert.Equal(t, "NVB", ncclText(t, s, "GPU0", "GPU2"), "by way of GPU1")
	n, ok := NV(18).NVLinks()
	assert.True(t, ok)
	assert.Equal(t, 18, n)
	assert.True(t, NV(18).Closer(NV(4)))
	assert.True(t, NV(1).Closer(PIX))
	assert.True(t, SYS.Closer(PathUnknown))
}

func TestPathIsUnknownWithoutNodes(t *testing.T) {
	s := readStaged(t, twoNodes, function("pci0000:00/0000:00:01.0", gpuAttrs, numaNode("-1")),
		function("pci0000:80/0000:80:01.0", nicAttrs, numaNode("1")), hca("mlx5_0", "pci0000:80/0000:80:01.0"))
	assert.Equal(t, "?", pathText(t, s, "GPU0", "mlx5_0"), "two roots, one node unknown: neither NODE nor SYS can be told")
}

func TestNVMLAncestors(t *testing.T) {
	for level, want := range map[int]Path{0: PIX, 10: PIX, 20: PXB, 30: PHB, 40: NODE, 50: SYS} {
		got, err := PathFromNVML(level)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := PathFromNVML(60)
	assert.Error(t, err)
}

func TestParsePath(t *testing.T) {
	for _, p := range []Path{PathUnknown, LOC, PIX, PXB, PHB, PHBOrNODE, NODE, SYS, NV(1), NV(18)} {
		got, err := ParsePath(p.String())
		require.NoError(t, err)
		assert.Equal(t, p, got)
	}
	soc, err := ParsePath("SOC")
	require.NoError(t, err)
	assert.Equal(t, SYS, soc, "the word of old versions")
	for _, bad := range []string{"", "NV", "NV0", "NV-1", "NVx", "pix", "NODES"} {
		_, err := ParsePath(bad)
		assert.Error(t, err, bad)
	}
}
