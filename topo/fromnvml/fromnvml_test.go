package fromnvml_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmltest"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/fromnvml"
)

func facts(t *testing.T, s nvml.Source) topo.GPUFacts {
	t.Helper()
	f, err := fromnvml.Source(s).GPUFacts()
	require.NoError(t, err)
	return f
}

// read is a machine without files: all that is known comes from NVML.
func read(t *testing.T, s nvml.Source) *topo.System {
	t.Helper()
	tree, err := sysfs.ParseTree("[proc]\ncpuinfo = x\n")
	require.NoError(t, err)
	sys, err := topo.Read(tree, topo.ReadOptions{GPUs: fromnvml.Source(s)})
	require.NoError(t, err)
	return sys
}

// Every host's GPUs arrive in NVML's order, and two GPUs share as many NVLinks as
// nvml itself counts.
func TestHosts(t *testing.T) {
	for name, host := range nvmltest.All() {
		t.Run(name, func(t *testing.T) {
			gpus, err := host.GPUs()
			require.NoError(t, err)
			s := read(t, host)
			require.Len(t, s.GPUs, len(gpus))
			for i, g := range gpus {
				got := s.GPUs[i]
				assert.Equal(t, g.Index, got.Index)
				assert.Equal(t, g.UUID, got.UUID)
				assert.Equal(t, g.PCIAddress, string(got.PCI))
				assert.Equal(t, g.Minor != nil, got.DeviceFile != "")
				assert.Equal(t, g.MemoryNode, got.MemoryNode)
				assert.Equal(t, g.CPUs.String(), got.StatedCPUs.String())
				node, ok := g.NUMANode()
				assert.Equal(t, ok, got.StatedNode != nil)
				if ok {
					assert.Equal(t, node, *got.StatedNode)
				}
				for j, other := range gpus {
					if i == j {
						continue
					}
					a, err := host.Links(g.UUID)
					require.NoError(t, err)
					b, err := host.Links(other.UUID)
					require.NoError(t, err)
					want, ok := nvml.LinksBetween(g, other, a, b)
					if ok {
						assert.Equal(t, want, s.NVLinks(got, s.GPUs[j]), "%d to %d", i, j)
					}
				}
			}
		})
	}
}

func TestFacts(t *testing.T) {
	f := facts(t, nvmltest.H200Pair())
	require.Len(t, f.GPUs, 2)
	assert.Equal(t, 90, f.GPUs[0].ComputeCapability)
	require.NotEmpty(t, f.GPUs[0].NVLinks)
	total := 0
	for _, l := range f.GPUs[0].NVLinks {
		assert.Equal(t, topo.PeerSwitch, l.Peer)
		assert.Equal(t, 4, l.Version)
		total += l.Count
	}
	assert.Equal(t, 18, total)
	require.Len(t, f.Pairs, 1)
	assert.Equal(t, []string{"GPU0", "GPU1", "NVML"}, []string{f.Pairs[0].A, f.Pairs[0].B, f.Pairs[0].By})

	flat := facts(t, nvmltest.FlatVM())
	assert.Nil(t, flat.GPUs[0].Node, "a node that nobody told is not node 0")
	assert.Empty(t, flat.GPUs[0].NVLinks)

	host := nvmltest.A100()
	host.Partition(1, 2)
	f = facts(t, host)
	assert.Len(t, f.GPUs[1].MIG, 2)
	g, err := read(t, host).Find(f.GPUs[1].MIG[0].UUID)
	require.NoError(t, err)
	assert.Equal(t, "GPU1", g.Label(), "a slice has its GPU's place")

	gb := facts(t, nvmltest.GB300())
	require.NotNil(t, gb.GPUs[0].MemoryNode)
	assert.NotEqual(t, gb.GPUs[0].Node, gb.GPUs[0].MemoryNode, "the node that a GPU's memory is is not where the GPU is")
}

// Links that end at GPUs are bundled by peer, inactive ones left out, and a peer of
// unknown type is told by its address.
func TestBundles(t *testing.T) {
	up, down := true, false
	version := nvml.NVLink3
	gpu := func(i int) nvml.GPU {
		return nvml.GPU{Index: i, UUID: fmt.Sprintf("GPU-%d", i), PCIAddress: fmt.Sprintf("0000:0%d:00.0", i+1)}
	}
	s := &nvml.Snapshot{Inventory: []nvml.GPU{gpu(0), gpu(1)}, NVLinks: map[string][]nvml.Link{"GPU-0": {
		{Number: 0, Active: &up, Peer: "0000:02:00.0", PeerType: nvml.PeerGPU, Version: &version},
		{Number: 1, Active: &up, Peer: "0000:02:00.0", Version: &version},
		{Number: 2, Active: &down, Peer: "0000:02:00.0", PeerType: nvml.PeerGPU},
		{Number: 3, Active: &up, Peer: "0004:04:00.0", PeerType: nvml.PeerNPU},
		{Number: 4, Peer: "0000:02:00.0", PeerType: nvml.PeerGPU},
	}}}
	assert.Equal(t, []topo.NVLink{
		{Peer: topo.PeerGPU, Address: "0000:02:00.0", Count: 2, Version: 3},
		{Peer: topo.PeerCPU, Address: "0004:04:00.0", Count: 1},
	}, facts(t, s).GPUs[0].NVLinks)
}

// A GPU that fell off the bus costs its own facts and not the others'.
func TestLostGPU(t *testing.T) {
	host := nvmltest.H100()
	gpus, err := host.GPUs()
	require.NoError(t, err)
	host.Lose(gpus[3].UUID)
	f, err := fromnvml.Source(host).GPUFacts()
	require.ErrorIs(t, err, nvml.CodeGPUIsLost)
	assert.Len(t, f.GPUs, len(gpus)-1)
	s := read(t, host)
	assert.Len(t, s.GPUs, len(gpus)-1)
	require.NotEmpty(t, s.Warnings)
	codes := map[topo.WarningCode]bool{}
	for _, w := range s.Warnings {
		codes[w.Code] = true
	}
	assert.True(t, codes[topo.WarnUnreadable])
}

func TestNoSourceReadsWithoutNVML(t *testing.T) {
	assert.Nil(t, fromnvml.Source(nil))
}
