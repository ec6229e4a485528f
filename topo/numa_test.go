package topo

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNUMAClimbsToTheBridge(t *testing.T) {
	s := readStaged(t, twoNodes,
		function("pci0000:00/0000:00:01.0", bridgeAttrs, numaNode("1")),
		function("pci0000:00/0000:00:01.0/0000:01:00.0", gpuAttrs, numaNode("-1")))
	node, ok := s.GPUs[0].NUMA.Known()
	require.True(t, ok)
	assert.Equal(t, 1, node)
	assert.Contains(t, s.GPUs[0].NUMA.From, "0000:00:01.0")
}

func TestNUMAFromNVMLWhereSysfsIsSilent(t *testing.T) {
	one := 1
	s, err := Read(stage(t, twoNodes, function("pci0000:00/0000:00:01.0", gpuAttrs, numaNode("-1"))),
		ReadOptions{GPUs: GPUFacts{GPUs: []GPUFact{{PCI: "0000:00:01.0", Node: &one}}}})
	require.NoError(t, err)
	node, ok := s.GPUs[0].NUMA.Known()
	require.True(t, ok)
	assert.Equal(t, 1, node)
}

func TestNUMANodeOfTheGPUsMemoryIsNotItsPlace(t *testing.T) {
	memory := 8
	s, err := Read(stage(t, twoNodes, function("pci0000:00/0000:00:01.0", gpuAttrs, numaNode("-1"))),
		ReadOptions{GPUs: GPUFacts{GPUs: []GPUFact{{PCI: "0000:00:01.0", MemoryNode: &memory}}}})
	require.NoError(t, err)
	_, ok := s.GPUs[0].NUMA.Known()
	assert.False(t, ok)
	assert.Equal(t, 8, *s.GPUs[0].MemoryNode)
}

func TestNUMAIsTheOnlyNodeOfAHost(t *testing.T) {
	s := readStaged(t, "sys/devices/system/node/online = 0\nsys/devices/system/node/node0/cpulist = 0-7",
		function("pci0000:00/0000:00:01.0", gpuAttrs, numaNode("-1")))
	node, ok := s.GPUs[0].NUMA.Known()
	assert.True(t, ok)
	assert.Equal(t, 0, node)
	assert.Contains(t, s.GPUs[0].NUMA.From, "one NUMA node")
}

func TestNUMAIsNeverSilentlyZero(t *testing.T) {
	s := readStaged(t, twoNodes, function("pci0000:00/0000:00:01.0", gpuAttrs, numaNode("-1")),
		function("pci0000:00/0000:00:02.0", nicAttrs), hca("mlx5_0", "pci0000:00/0000:00:02.0"))
	for _, e := range s.endpoints() {
		_, ok := e.numa().Known()
		assert.False(t, ok, e.Label())
		assert.Contains(t, warningsOf(s, WarnNUMAUnknown), e.Label())
		a := s.CPUsFor(e)
		assert.Nil(t, a.Node)
		assert.Nil(t, a.CPUs)
		assert.Contains(t, a.Explain(), "not known")
	}
}

func TestNUMANodeZeroIsWrittenAndAbsenceIsNull(t *testing.T) {
	zero := 0
	for _, c := range []struct {
		numa NUMA
		want string
	}{{NUMA{Node: &zero}, `{"node":0}`}, {NUMA{}, `{"node":null}`}} {
		got, err := json.Marshal(c.numa)
		require.NoError(t, err)
		assert.Equal(t, c.want, string(got))
	}
	d, err := json.Marshal(PCIDevice{Address: "0000:00:01.0", StatedNode: &zero})
	require.NoError(t, err)
	assert.Contains(t, string(d), `"statedNode":0`)
	n, err := json.Marshal(NUMANode{})
	require.NoError(t, err)
	assert.Contains(t, string(n), `"id":0`)
}

func TestNodesWithoutCPUsAreNoPlaceToRun(t *testing.T) {
	s := readStaged(t, `
[sys/devices/system/node]
online = 0,8,250
node0/cpulist = 0-3
node0/distance = 10 40 80
node8/cpulist = 4-7
node8/distance = 40 10 60
node250/cpulist =
node250/distance = 80 60 10
`, function("pci0000:00/0000:00:01.0", gpuAttrs, numaNode("250")))
	assert.Equal(t, 2, s.ComputeNodes())
	for _, a := range []Affinity{s.CPUsFor(s.GPUs[0]), s.MemoryFor(s.GPUs[0])} {
		require.NotNil(t, a.Node)
		assert.Equal(t, 8, *a.Node, "the nearest node with CPUs")
		assert.Equal(t, "4-7", a.CPUs.String())
	}
	plan, err := s.Plan(1)
	require.NoError(t, err)
	assert.Equal(t, 8, *plan.Ranks[0].Node)
}

func TestMasksAreCheckedAgainstOnlineCPUs(t *testing.T) {
	s := readStaged(t, `
sys/devices/system/cpu/online = 0-5
[sys/devices/system/node]
online = 0-2
node0/cpulist = 0-3
node0/cpumap = 7
node1/cpulist = 3-7
node1/cpumap = f8
node2/cpulist = 8-9
node2/cpumap = 300
`, function("pci0000:00/0000:00:01.0", gpuAttrs, numaNode("1"), "local_cpulist = 0-1\nlocal_cpus = 3\n"))
	assert.Contains(t, warningsOf(s, WarnConflictingMask), "node0", "list and mask differ")
	assert.Contains(t, warningsOf(s, WarnConflictingMask), "node2", "no CPU online")
	assert.Contains(t, warningsOf(s, WarnConflictingMask), "0000:00:01.0", "local CPUs outside the node")
	assert.Contains(t, warningsOf(s, WarnNodeOverlap), "node1")
	assert.Equal(t, "3-5", s.CPUsFor(s.GPUs[0]).CPUs.String(), "only CPUs that are online")
}

func TestTruncatedMaskIsFlagged(t *testing.T) {
	s := &System{Nodes: []*NUMANode{{ID: 0, Mask: "ffff0000,00000000"}, {ID: 1, Mask: "fff0000,00000000"}}}
	require.NoError(t, s.Finish())
	assert.Len(t, warningsOf(s, WarnTruncatedMask), 1)
	assert.Contains(t, warningsOf(s, WarnTruncatedMask), "node1")
	// A short first word is right where all masks have it: 28 CPUs.
	s = &System{Nodes: []*NUMANode{{ID: 0, Mask: "fff0000"}, {ID: 1, Mask: "000ffff"}}}
	require.NoError(t, s.Finish())
	assert.Empty(t, s.Warnings)
	_, short, err := ParseCPUMask("0000ffff,ffff")
	require.NoError(t, err)
	assert.True(t, short)
}
