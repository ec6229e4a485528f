package topo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hwloc1Sample is of hwloc 1: NUMA nodes stand around what they hold.
const hwloc1Sample = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
  <object type="Machine" os_index="0" cpuset="0x000000ff" nodeset="0x00000003">
    <info name="Architecture" value="x86_64"/>
    <object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x00000001" local_memory="17179869184">
      <object type="Socket" os_index="0" cpuset="0x0000000f" nodeset="0x00000001">
        <info name="CPUVendor" value="GenuineIntel"/>
        <info name="CPUFamilyNumber" value="6"/>
        <info name="CPUModelNumber" value="63"/>
      </object>
      <object type="Bridge" os_index="0" bridge_type="0-1" depth="0" bridge_pci="0000:[00-05]">
        <object type="Bridge" os_index="48" bridge_type="1-1" depth="1" bridge_pci="0000:[04-04]" pci_busid="0000:00:03.0" pci_type="0604 [8086:2f08] [8086:0000] 02" pci_link_speed="7.876923">
          <object type="PCIDev" os_index="16384" pci_busid="0000:04:00.0" pci_type="0207 [15b3:1013] [15b3:0008] 00" pci_link_speed="7.876923">
            <object type="OSDev" name="ib0" osdev_type="2"><info name="Address" value="80:00:00:00:fe:80"/></object>
            <object type="OSDev" name="mlx5_0" osdev_type="3">
              <info name="NodeGUID" value="7cfe:9003:0000:0001"/>
              <info name="SysImageGUID" value="7cfe:9003:0000:0001"/>
              <info name="Port1State" value="4"/>
              <info name="Port1GID0" value="fe80:0000:0000:0000:7cfe:9003:0000:0001"/>
            </object>
          </object>
        </object>
      </object>
    </object>
    <object type="NUMANode" os_index="1" cpuset="0x000000f0" nodeset="0x00000002" local_memory="17179869184"/>
  </object>
</topology>
`

// hwloc2Sample is of hwloc 2: NUMA nodes stand beside what they hold.
const hwloc2Sample = `<?xml version="1.0" encoding="UTF-8"?>
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f,,0x0000000f" nodeset="0x00000003">
    <object type="Package" os_index="0" cpuset="0x0000000f" nodeset="0x00000001">
      <object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x00000001"/>
      <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[80-83]">
        <object type="PCIDev" gp_index="7" pci_busid="0000:81:00.0" pci_type="0302 [10de:20b0] [10de:134f] a1" pci_link_speed="31.507692">
          <object type="OSDev" gp_index="70" name="nvml1" osdev_type="1"/>
          <object type="OSDev" gp_index="71" name="cuda0" osdev_type="5"/>
        </object>
        <object type="PCIDev" gp_index="8" pci_busid="0000:82:00.0" pci_type="0302 [10de:20b0] [10de:134f] a1" pci_link_speed="0.700000">
          <object type="OSDev" gp_index="80" name="nvml0" osdev_type="1"><info name="GPUModel" value="A100"/></object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000f,,0x0" nodeset="0x00000002">
      <object type="NUMANode" os_index="1" cpuset="0x0000000f,,0x0" nodeset="0x00000002"/>
    </object>
    <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[c0-c1]">
      <object type="PCIDev" gp_index="9" pci_busid="0000:c1:00.0" pci_type="0300 [1a03:2000] [1a03:2000] 52"/>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="12">10 21 21 10 </u64values>
  </distances2>
  <distances2 type="OSDev" nbobjs="2" kind="25" name="NVLinkBandwidth" indexing="gp">
    <indexes length="6">70 80 </indexes>
    <u64values length="20">1000000 100000 </u64values>
    <u64values length="20">100000 1000000 </u64values>
  </distances2>
</topology>
`

const hwloc3Sample = `<topology version="3.0">
  <object type="Machine" cpuset="0x3" nodeset="0x1">
    <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1"/>
    <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[00-03]">
      <object type="PCIDev" gp_index="1" pci_busid="0000:01:00.0" pci_type="0302 [10de:1db8] [10de:131d] a1 00" pci_link_speed="15.753846">
        <object type="OSDev" gp_index="10" name="nvml0" osdev_type="12"/>
      </object>
      <object type="PCIDev" gp_index="2" pci_busid="0000:02:00.0" pci_type="0207 [15b3:1021] [15b3:0038] 00 00">
        <object type="OSDev" gp_index="20" name="mlx5_0" osdev_type="32"/>
        <object type="OSDev" gp_index="21" name="ib0" osdev_type="16"/>
      </object>
      <object type="PCIDev" gp_index="3" subtype="NVSwitch" pci_busid="0000:03:00.0" pci_type="0000 [0000:0000] [0000:0000] 00 00" pci_link_speed="1.000000"/>
    </object>
  </object>
  <distances2hetero nbobjs="2" kind="25" name="NVLinkBandwidth">
    <indexes length="20">OSDev:10 PCIDev:3 </indexes>
    <u64values length="20">0 150000 150000 0 </u64values>
  </distances2hetero>
</topology>
`

func TestHwlocVersion1(t *testing.T) {
	s := parseAs(t, FormatHwloc, hwloc1Sample)
	assert.Equal(t, CPUInfo{Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 63}, s.Host.CPU)
	assert.Equal(t, "0-7", s.Host.OnlineCPUs.String())
	require.Len(t, s.Nodes, 2)
	assert.Equal(t, "4-7", s.Nodes[1].CPUs.String())
	assert.Equal(t, uint64(16<<30), *s.Nodes[0].Memory)
	port := device(t, s, "0000:00:03.0")
	assert.Equal(t, RootPort, port.Bridge)
	assert.Equal(t, "pci0000:00", port.Root)
	d := device(t, s, "0000:04:00.0")
	assert.Equal(t, port.Address, d.Parent)
	assert.Equal(t, Link{Speed: 8, Width: 8}, Link{Speed: d.Link.Speed, Width: d.Link.Width}, "7.88 GB/s are Gen3 x8")
	require.Len(t, s.HCAs, 1)
	h := s.HCAs[0]
	node, known := h.NUMA.Known()
	assert.True(t, known)
	assert.Zero(t, node)
	assert.Equal(t, "7cfe:9003:0000:0001", h.NodeGUID)
	assert.Equal(t, []Port{{Number: 1, State: PortActive, GIDs: []GID{{GID: "fe80:0000:0000:0000:7cfe:9003:0000:0001"}}}}, h.Ports)
	require.Len(t, s.Netdevs, 1)
	assert.Equal(t, Address("0000:04:00.0"), s.Netdevs[0].PCI)
}

func TestHwlocVersion2(t *testing.T) {
	s := parseAs(t, FormatHwloc, hwloc2Sample)
	assert.Equal(t, "0-3,64-67", s.Host.OnlineCPUs.String(), "an empty word is 0")
	assert.Equal(t, "64-67", s.Nodes[1].CPUs.String())
	assert.Equal(t, map[int]int{0: 10, 1: 21}, s.Nodes[0].Distances)
	require.Len(t, s.GPUs, 2, "the console's graphics are no GPU")
	assert.Equal(t, Address("0000:82:00.0"), s.GPUs[0].PCI, "NVML numbers the GPUs")
	assert.Equal(t, "A100", s.GPUs[0].Name)
	assert.Equal(t, Link{Speed: 16, Width: 16}, device(t, s, "0000:81:00.0").Link)
	assert.Equal(t, Link{}, device(t, s, "0000:82:00.0").Link, "no link has the rate")
	assert.Equal(t, 4, s.NVLinks(s.GPUs[0], s.GPUs[1]))
	assert.Nil(t, device(t, s, "0000:c1:00.0").StatedNode, "below the whole machine: no node, and not 0")
}

func TestHwlocVersion3(t *testing.T) {
	s := parseAs(t, FormatHwloc, hwloc3Sample)
	require.Len(t, s.GPUs, 1)
	assert.Equal(t, []NVLink{{Peer: PeerSwitch, Address: "0000:03:00.0", Count: 6}}, s.GPUs[0].NVLinks)
	require.Len(t, s.HCAs, 1)
	require.Len(t, s.Netdevs, 1)
}

func TestHwlocSaysWhereItIsWrong(t *testing.T) {
	for name, change := range map[string][2]string{
		"cpuset":     {`os_index="1" cpuset="0x0000000f,,0x0" nodeset="0x00000002"/>`, `os_index="1" cpuset="0xf...f"/>`},
		"nodeset":    {`nodeset="0x00000002"`, `nodeset="two"`},
		"busid":      {`pci_busid="0000:c1:00.0"`, `pci_busid="c1"`},
		"no busid":   {`pci_busid="0000:c1:00.0"`, ``},
		"type":       {`pci_type="0300 [1a03:2000] [1a03:2000] 52"`, `pci_type="0300"`},
		"ids":        {`[1a03:2000] 52`, `1a03:2000 52`},
		"speed":      {`31.507692`, `NaN`},
		"values":     {`10 21 21 10`, `10 21 21`},
		"number":     {`10 21 21 10`, `10 21 x 10`},
		"node":       {`0 1 </indexes>`, `0 one </indexes>`},
		"os_index":   {`type="NUMANode" os_index="1"`, `type="NUMANode"`},
		"nothing":    {hwloc2Sample[strings.Index(hwloc2Sample, "<object"):], `</topology>`},
		"not closed": {`</topology>`, ``},
	} {
		text := strings.Replace(hwloc2Sample, change[0], change[1], 1)
		require.NotEqual(t, hwloc2Sample, text, name)
		s, format, err := Parse([]byte(text))
		assert.Nil(t, s, name)
		assert.Equal(t, FormatHwloc, format, name)
		assert.ErrorContains(t, err, "line ", name)
	}
}

func TestHwlocRefusesTwins(t *testing.T) {
	for old, twin := range map[string]string{
		`pci_busid="0000:82:00.0"`:     `pci_busid="0000:81:00.0"`,
		`type="NUMANode" os_index="1"`: `type="NUMANode" os_index="0"`,
	} {
		_, _, err := Parse([]byte(strings.Replace(hwloc2Sample, old, twin, 1)))
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid, twin)
	}
}

func FuzzParseHwloc(f *testing.F) { fuzzFormat(f, FormatHwloc) }
