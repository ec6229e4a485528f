package topo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func labels(choices []Choice) []string {
	var names []string
	for _, c := range choices {
		names = append(names, c.Device.Label())
	}
	return names
}

func TestHCAsForRanksByPath(t *testing.T) {
	s := switches(t)
	choices := s.HCAsFor(s.GPUs[0])
	assert.Equal(t, []string{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_10"}, labels(choices))
	assert.Equal(t, []string{"mlx5_0", "mlx5_1"}, bestOf(t, choices))
	assert.Contains(t, choices[0].Explain(), "one of 2 that are equally near")
	assert.Contains(t, choices[0].Explain(), "below one PCIe switch or bridge, 0000:01:00.0")
	assert.Contains(t, choices[5].Explain(), "NUMA nodes 0 and 1")
	assert.Equal(t, 400.0, choices[0].RateGbps)
}

func TestPortsThatAreNotActiveRankLast(t *testing.T) {
	s := switches(t)
	mustHCA(t, s, "mlx5_0").Ports[0].State = PortDown
	choices := s.HCAsFor(s.GPUs[0])
	assert.Equal(t, []string{"mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_10", "mlx5_0"}, labels(choices))
	assert.False(t, choices[5].Usable)
	assert.Contains(t, choices[5].Explain(), "None of its ports is active")
}

func TestFrontEndPortsRankBehind(t *testing.T) {
	s := switches(t)
	mustHCA(t, s, "mlx5_0").Ports[0].RateGbps = 100
	choices := s.HCAsFor(s.GPUs[0])
	assert.Equal(t, []string{"mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_10", "mlx5_0"}, labels(choices))
	assert.Contains(t, choices[5].Explain(), "less than half of the rate")
	mustHCA(t, s, "mlx5_0").Ports[0].RateGbps = 200
	assert.Equal(t, []string{"mlx5_1", "mlx5_0"}, labels(s.HCAsFor(s.GPUs[0]))[:2], "half is enough; then the faster comes first")
}

func TestRateIsLimitedByPCIe(t *testing.T) {
	s := switches(t)
	d, _ := s.Device(mustHCA(t, s, "mlx5_0").PCI[0])
	d.Link = Link{Speed: 16, Width: 8}
	_, gbps := s.capacity(mustHCA(t, s, "mlx5_0"))
	assert.InDelta(t, 126, gbps, 0.1)
}

// everywhere is a machine of one cloud: the NUMA nodes of GPUs and HCAs match, and
// nvidia-smi says SYS for every pair.
func everywhere(t *testing.T) *System {
	zero, one := 0, 1
	s := &System{GPUs: []*GPU{{Index: 0, StatedNode: &zero}, {Index: 1, StatedNode: &one}},
		HCAs:  []*HCA{{Name: "mlx5_0", StatedNode: &one}, {Name: "mlx5_1", StatedNode: &zero}},
		Nodes: []*NUMANode{{ID: 0, Online: true, CPUs: CPUSet{0, 1}, CPUsKnown: true}, {ID: 1, Online: true, CPUs: CPUSet{2, 3}, CPUsKnown: true}}}
	for _, g := range []string{"GPU0", "GPU1"} {
		for _, h := range []string{"mlx5_0", "mlx5_1"} {
			s.Stated = append(s.Stated, StatedPath{g, h, SYS, "nvidia-smi"})
		}
	}
	require.NoError(t, s.Finish())
	return s
}

func TestSYSEverywhereIsRankedByNUMA(t *testing.T) {
	s := everywhere(t)
	p, why := s.Path(s.GPUs[0], mustHCA(t, s, "mlx5_1"))
	assert.Equal(t, SYS, p, "what the tool said is shown")
	assert.Contains(t, why.String(), "nvidia-smi says SYS")
	assert.Equal(t, []string{"mlx5_1"}, bestOf(t, s.HCAsFor(s.GPUs[0])))
	assert.Equal(t, []string{"mlx5_0"}, bestOf(t, s.HCAsFor(s.GPUs[1])))
	assert.Contains(t, s.HCAsFor(s.GPUs[0])[0].Explain(), "The NUMA nodes are the same")
	assert.Equal(t, "PHB", ncclText(t, s, "GPU0", "mlx5_1"))
	assert.Contains(t, warningsOf(s, WarnStatedDiffers)[""], "GPU0-mlx5_1 SYS")
}

func TestFarNodesRankByDistance(t *testing.T) {
	s := readStaged(t, `
[sys/devices/system/node]
online = 0-2
node0/cpulist = 0
node0/distance = 10 32 21
node1/cpulist = 1
node1/distance = 32 10 32
node2/cpulist = 2
node2/distance = 21 32 10
`, function("pci0000:00/0000:00:01.0", gpuAttrs, numaNode("0")),
		function("pci0000:40/0000:40:01.0", nicAttrs, numaNode("1")), hca("mlx5_0", "pci0000:40/0000:40:01.0"),
		function("pci0000:80/0000:80:01.0", nicAttrs, numaNode("2")), hca("mlx5_1", "pci0000:80/0000:80:01.0"))
	assert.Equal(t, []string{"mlx5_1", "mlx5_0"}, labels(s.HCAsFor(s.GPUs[0])))
}

func TestPlanRefusesWhatCannotBe(t *testing.T) {
	s := switches(t)
	_, err := s.Plan(0)
	assert.Error(t, err)
	_, err = s.Plan(2)
	assert.ErrorContains(t, err, "this machine has 1 GPUs")
}

func TestPlanGivesOneGPUAllItsTies(t *testing.T) {
	s := switches(t)
	plan, err := s.Plan(1)
	require.NoError(t, err)
	r := plan.Ranks[0]
	require.Len(t, r.HCAs, 2)
	assert.Equal(t, "Rank 0 runs on GPU0 with mlx5_0 and mlx5_1. GPU0 is on NUMA node 0 (numa_node of 0000:03:00.0).", r.Explain())
	assert.Equal(t, "0-3", r.CPUs.String())
}

func TestPlanWithoutGPUsSpreadsOverHCAsThenNodes(t *testing.T) {
	s := readStaged(t, twoNodes, function("pci0000:00/0000:00:01.0", nicAttrs, numaNode("1")), hca("mlx5_0", "pci0000:00/0000:00:01.0"),
		function("pci0000:80/0000:80:01.0", nicAttrs, numaNode("0")), hca("mlx5_1", "pci0000:80/0000:80:01.0"))
	plan, err := s.Plan(3)
	require.NoError(t, err)
	for i, want := range []string{"mlx5_0", "mlx5_1", "mlx5_0"} {
		assert.Equal(t, want, plan.Ranks[i].HCAs[0].Name)
	}
	assert.Equal(t, 1, *plan.Ranks[0].Node)
	plan, err = readStaged(t, twoNodes).Plan(3)
	require.NoError(t, err)
	assert.Equal(t, "4-7", plan.Ranks[1].CPUs.String())
	assert.Contains(t, plan.Ranks[1].Explain(), "NUMA node 1")
}
