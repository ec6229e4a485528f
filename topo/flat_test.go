package topo

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	virtualHost = "[sys/class/dmi/id]\nsys_vendor = QEMU\n"
	cloudFile   = `<system version="1"><cpu numaid="1"><pci busid="ffff:ff:01.0" class="0x060400"><pci busid="0000:00:05.0"/><pci busid="0000:00:06.0"/></pci></cpu><cpu numaid="0"><pci busid="0000:00:07.0"/></cpu></system>`
)

func flatFiles(more ...string) []string {
	return append([]string{virtualHost, twoNodes,
		function("pci0000:00/0000:00:05.0", gpuAttrs, numaNode("-1")),
		function("pci0000:00/0000:00:06.0", nicAttrs, numaNode("-1")), hca("mlx5_0", "pci0000:00/0000:00:06.0"),
		function("pci0000:00/0000:00:07.0", nicAttrs, numaNode("-1")), hca("mlx5_1", "pci0000:00/0000:00:07.0")}, more...)
}

func TestFlatMachineCannotTell(t *testing.T) {
	s := readStaged(t, flatFiles()...)
	assert.Equal(t, "KVM", s.Host.Virtual)
	assert.True(t, s.Host.Flat)
	p, why := s.Path(s.GPUs[0], s.HCAs[0])
	assert.Equal(t, PHB, p, "what the tree shows, as nvidia-smi does")
	assert.Contains(t, why.CannotTell, "cannot be told")
	choices := s.HCAsFor(s.GPUs[0])
	assert.True(t, choices[0].Best && choices[1].Best, "nothing tells them apart")
	assert.Contains(t, choices[0].Explain(), "cannot be told")
	assert.Contains(t, warningsOf(s, WarnFlat), "")
}

func TestFlatMachineReadsTheTopologyFile(t *testing.T) {
	for name, opts := range map[string]ReadOptions{
		virtualTopology: {}, "etc/topo.xml": {TopologyFile: "etc/topo.xml"},
	} {
		s, err := Read(stage(t, flatFiles(name+" = "+cloudFile)...), opts)
		require.NoError(t, err)
		assert.False(t, s.Host.Flat)
		assert.Equal(t, name, s.Host.TopologyFile)
		assert.Equal(t, "PIX", pathText(t, s, "GPU0", "mlx5_0"), "below the virtual switch ffff:ff:01.0")
		assert.Equal(t, "SYS", pathText(t, s, "GPU0", "mlx5_1"))
		node, ok := s.GPUs[0].NUMA.Known()
		assert.True(t, ok)
		assert.Equal(t, 1, node)
		assert.Empty(t, warningsOf(s, WarnFlat))
	}
}

func TestTopologyFileThatIsMissingOrBadIsAWarning(t *testing.T) {
	for name, content := range map[string]string{"etc/none.xml": "", "etc/bad.xml": "etc/bad.xml = <system><cpu"} {
		s, err := Read(stage(t, flatFiles(content)...), ReadOptions{TopologyFile: name})
		require.NoError(t, err)
		assert.True(t, s.Host.Flat)
		assert.NotEmpty(t, warningsOf(s, WarnUnreadable), name)
	}
}

func TestMachineWithSwitchesIgnoresTheTopologyFile(t *testing.T) {
	s, err := Read(stage(t, virtualHost, function("pci0000:00/0000:00:01.0", bridgeAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0", bridgeAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0", bridgeAttrs),
		function("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", gpuAttrs),
		"etc/topo.xml = "+cloudFile), ReadOptions{TopologyFile: "etc/topo.xml"})
	require.NoError(t, err)
	assert.False(t, s.Host.Flat)
	assert.Empty(t, s.Host.TopologyFile)
}

func TestBareMachineWithoutSwitchesIsNotFlat(t *testing.T) {
	s := readStaged(t, twoNodes, function("pci0000:00/0000:00:05.0", gpuAttrs, numaNode("0")))
	assert.False(t, s.Host.Flat)
}

func TestHypervisorsAndContainers(t *testing.T) {
	for text, want := range map[string]string{
		"sys/hypervisor/type = xen": "xen",
		"[sys/class/dmi/id]\nsys_vendor = Microsoft Corporation\nproduct_name = Virtual Machine":                                   "Microsoft Hyper-V",
		"[sys/class/dmi/id]\nsys_vendor = VMware, Inc.\nproduct_name = VMware7,1":                                                  "VMware",
		"proc/cpuinfo =\n| vendor_id : GenuineIntel\n| flags : fpu hypervisor tsc":                                                 "hypervisor",
		"[sys/class/dmi/id]\nsys_vendor = Amazon EC2\n[proc]\ncpuinfo =\n| vendor_id : GenuineIntel\n| flags : fpu hypervisor tsc": "Amazon EC2",
		"[sys/class/dmi/id]\nsys_vendor = Somebody\n[proc]\ncpuinfo =\n| vendor_id : GenuineIntel\n| flags : fpu hypervisor tsc":   "hypervisor (Somebody)",
		"[sys/class/dmi/id]\nsys_vendor = Amazon EC2\nproduct_name = p4d.metal":                                                    "",
		"[sys/class/dmi/id]\nsys_vendor = Dell Inc.":                                                                               "",
		"": "",
	} {
		assert.Equal(t, want, readStaged(t, text).Host.Virtual, text)
	}
	for text, want := range map[string]string{
		"run/.containerenv =": "podman", "var/run/secrets/kubernetes.io/": "kubernetes",
		"proc/1/cgroup = 0::/kubepods/burstable/pod1": "kubernetes", "proc/1/cgroup = 0::/init.scope": "",
	} {
		assert.Equal(t, want, readStaged(t, text).Host.Container, text)
	}
	cpu := readStaged(t, "proc/cpuinfo =\n| processor : 0\n| vendor_id : AuthenticAMD\n| cpu family : 25\n| model : 17\n|\n| processor : 1\n| model : 99").Host.CPU
	assert.Equal(t, CPUInfo{Arch: "x86_64", Vendor: "AuthenticAMD", Family: 25, Model: 17}, cpu)
}

func TestNothingThere(t *testing.T) {
	s := readStaged(t, "")
	assert.Empty(t, s.Warnings)
	_, err := s.Find("GPU0")
	assert.ErrorContains(t, err, "neither a GPU nor an RDMA device")
	s, err = Read(os.DirFS(t.TempDir()), ReadOptions{})
	require.NoError(t, err)
	assert.Empty(t, s.GPUs)
	plan, err := s.Plan(2)
	require.NoError(t, err)
	assert.Len(t, plan.Ranks, 2)
}

func TestHyperVRootsAreFoundWithoutTheBus(t *testing.T) {
	place := "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/00000000-0000-8899-0000-000000000000/pci0101:00/0101:00:00.0"
	s := readStaged(t, function(place, nicAttrs), "sys/devices/platform/40000000.pcie/pci0002:00/0002:00:00.0/class = 0x060400")
	require.Len(t, s.PCI, 2)
	assert.Equal(t, "pci0002:00", s.PCI[0].Root)
	assert.Equal(t, "pci0101:00", s.PCI[1].Root)
}
