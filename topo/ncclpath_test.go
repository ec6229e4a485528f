package topo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNCCLHasNoNODE(t *testing.T) {
	s := switches(t)
	for name, want := range map[string]string{
		"GPU0": "LOC", "mlx5_0": "PIX", "mlx5_2": "PXB", "mlx5_3": "PHB", "mlx5_4": "PHB", "mlx5_10": "SYS",
	} {
		assert.Equal(t, want, ncclText(t, s, "GPU0", name), name)
	}
}

func TestNCCLOrderAndGPUDirect(t *testing.T) {
	order := []NCCLPath{NCCLLOC, NCCLNVL, NCCLNVB, NCCLC2C, NCCLPIX, NCCLPXB, NCCLP2C, NCCLPXN, NCCLPHB, NCCLSYS, NCCLNET}
	words := "[LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS NET]"
	assert.Equal(t, words, fmt.Sprint(order))
	for i, p := range order {
		assert.Equal(t, i <= 6, p.GPUDirect(), "%s: GPUDirect up to P2C", p)
		if i > 0 {
			assert.Less(t, order[i-1], p)
		}
	}
	assert.False(t, NCCLUnknown.GPUDirect())
}

// broadcom is a switch of two levels, with the numbers that NCCL looks at.
func broadcom(t *testing.T, device, outer, inner, subsystemVendor string) *System {
	const root = "pci0000:00/0000:00:01.0"
	chip := func(sub string) string {
		return bridgeAttrs + "vendor = 0x1000\ndevice = " + device + "\nsubsystem_vendor = " + subsystemVendor + "\nsubsystem_device = " + sub + "\n"
	}
	up := root + "/0000:01:00.0"
	return readStaged(t, twoNodes,
		function(root, bridgeAttrs, numaNode("0")),
		function(up, chip(outer)),
		function(up+"/0000:02:00.0", chip(outer)),
		function(up+"/0000:02:00.0/0000:03:00.0", chip(inner)),
		function(up+"/0000:02:00.0/0000:03:00.0/0000:04:00.0", chip(inner)),
		function(up+"/0000:02:00.0/0000:03:00.0/0000:04:00.0/0000:05:00.0", gpuAttrs),
		function(up+"/0000:02:01.0", chip(outer)),
		function(up+"/0000:02:01.0/0000:06:00.0", chip(inner)),
		function(up+"/0000:02:01.0/0000:06:00.0/0000:07:00.0", chip(inner)),
		function(up+"/0000:02:01.0/0000:06:00.0/0000:07:00.0/0000:08:00.0", nicAttrs),
		hca("mlx5_0", up+"/0000:02:01.0/0000:06:00.0/0000:07:00.0/0000:08:00.0"))
}

func TestNCCLFlattensTwoLevelBroadcomSwitches(t *testing.T) {
	for _, c := range []struct {
		name                         string
		device, outer, inner, vendor string
		want                         string
	}{
		{"generation 4", "0xc010", "0xa096", "0xa096", "0x1000", "PIX"},
		{"generation 5", "0xc030", "0x0072", "0x1003", "0x1000", "PIX"},
		{"generation 5, two outer levels", "0xc030", "0x0072", "0x0072", "0x1000", "PXB"},
		{"another maker's board", "0xc030", "0x0072", "0x1003", "0x15d9", "PXB"},
		{"inner level without number", "0xc010", "0xa096", "0x0000", "0x1000", "PXB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := broadcom(t, c.device, c.outer, c.inner, c.vendor)
			assert.Equal(t, "PXB", pathText(t, s, "GPU0", "mlx5_0"), "nvidia-smi does not flatten")
			assert.Equal(t, c.want, ncclText(t, s, "GPU0", "mlx5_0"))
		})
	}
}

func TestNCCLTellsPXN(t *testing.T) {
	links := []NVLink{{Peer: PeerSwitch, Count: 18}}
	s, err := Read(stage(t, twoNodes,
		function("pci0000:00/0000:00:01.0", bridgeAttrs, numaNode("0")),
		function("pci0000:00/0000:00:01.0/0000:01:00.0", bridgeAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0", bridgeAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", gpuAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0", bridgeAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0", nicAttrs),
		function("pci0000:80/0000:80:01.0", bridgeAttrs, numaNode("1")),
		function("pci0000:80/0000:80:01.0/0000:81:00.0", gpuAttrs),
		hca("mlx5_0", "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0")),
		ReadOptions{GPUs: GPUFacts{GPUs: []GPUFact{
			{Index: 0, PCI: "0000:03:00.0", NVLinks: links}, {Index: 1, PCI: "0000:81:00.0", NVLinks: links}}}})
	require.NoError(t, err)
	p, why := s.NCCLPath(find(t, s, "GPU1"), find(t, s, "mlx5_0"))
	assert.Equal(t, NCCLSYS, p, "the GPU's own way")
	assert.Contains(t, why.String(), "GPU0, which is nearer (PXN)")
	_, why = s.NCCLPath(find(t, s, "GPU0"), find(t, s, "mlx5_0"))
	assert.NotContains(t, why.String(), "PXN")
}

func TestNCCLTakesChipToChipLinks(t *testing.T) {
	s, err := Read(stage(t, twoNodes,
		function("pci0008:00/0008:06:00.0", gpuAttrs, numaNode("0")),
		function("pci0101:00/0101:00:00.0", nicAttrs, numaNode("0")),
		hca("mlx5_0", "pci0101:00/0101:00:00.0")),
		ReadOptions{GPUs: GPUFacts{GPUs: []GPUFact{{PCI: "0008:06:00.0", C2CLinks: 10}}}})
	require.NoError(t, err)
	assert.Equal(t, "NODE", pathText(t, s, "GPU0", "mlx5_0"))
	assert.Equal(t, "P2C", ncclText(t, s, "mlx5_0", "GPU0"))
}
