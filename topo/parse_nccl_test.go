package topo

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ncclSample = `<system version="1" name="two switches">
  <cpu host_hash="0x1234" numaid="0" affinity="00000000,0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:08:00.0" class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x0072" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:0c:00.0" class="0x020000" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000" port="1" latency="0.000000" guid="0xefcdab0003a1420c" maxconn="131072" gdr="1" coll="1" keep="1"/>
          <net name="mlx5_1" dev="1" speed="200000" port="2" guid="0xefcdab0003a1420c" gdr="1"/>
        </nic>
      </pci>
      <pci busid="0000:0f:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="0" gdr="1">
          <nvlink target="0000:1c:00.0" count="2" tclass="0x068000"/>
          <nvlink target="0000:2d:00.0" count="3" tclass="0x030200"/>
          <nvlink target="fffffff:ffff:ff" count="1" tclass="0x068000"/>
          <c2c bw="44712" count="10"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="0000ffff,00000000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:2D:00.0" class="0x030200" vendor="0x10de" link_speed="16 GT/s" link_width="8">
      <gpu dev="0" sm="90" gdr="0"/>
    </pci>
    <nic>
      <net name="eth0" port="0" speed="10000"/>
    </nic>
  </cpu>
</system>
`

// ncclFlatSample has neither classes nor links, as a cloud's file.
const ncclFlatSample = `<!-- a comment -->
<system version="1">
  <cpu numaid="0"><pci busid="0000:00:16.0"/></cpu>
  <cpu numaid="-1"><pci busid="0000:45:00.0"><pci busid="0000:4f:00.0" link_speed="32 GT/s PCIe/s" link_width="16"/></pci></cpu>
</system>
`

const ncclOddSample = `<?xml version="1.0" encoding="ISO-8859-1"?>
<system version='1'>
  <cpu numaid='3' affinity='fff0000,00000000' arch='arm64'>
    <pci busid='ffff:ff:01.0' class='0x060400' link_speed='' link_width=''>
      <pci busid='0003:00:00.0' class='0x030200' link_speed='Unknown' link_width='0'/>
      <pci busid='10000:01:00.1' class='0x0207'/>
    </pci>
  </cpu>
</system>
`

func TestNCCLXMLAttributes(t *testing.T) {
	s := parseAs(t, FormatNCCL, ncclSample)
	assert.Equal(t, CPUInfo{Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 143}, s.Host.CPU)
	require.Len(t, s.Nodes, 2)
	assert.Equal(t, "0-15", s.Nodes[0].CPUs.String())
	assert.Equal(t, "32-47", s.Nodes[1].CPUs.String())

	sw := device(t, s, "0000:08:00.0")
	assert.Equal(t, WholeSwitch, sw.Bridge)
	assert.Equal(t, []ID{0x1000, 0xc030, 0x1000, 0x0072}, []ID{sw.Vendor, sw.Device, sw.SubsystemVendor, sw.SubsystemDevice})
	assert.Equal(t, Link{MaxSpeed: 32, MaxWidth: 16}, sw.Link, "NCCL tells what a link could do")
	assert.Equal(t, Address("0000:08:00.0"), device(t, s, "0000:0c:00.0").Parent)
	assert.Equal(t, Link{MaxSpeed: 16, MaxWidth: 8}, device(t, s, "0000:2d:00.0").Link)

	require.Len(t, s.GPUs, 2)
	assert.Equal(t, Address("0000:2d:00.0"), s.GPUs[0].PCI, "dev numbers the GPUs")
	assert.Equal(t, ref(false), s.GPUs[0].GPUDirect)
	g := s.GPUs[1]
	assert.Equal(t, 90, g.ComputeCapability)
	assert.Equal(t, 10, g.C2CLinks)
	assert.Equal(t, []NVLink{
		{Peer: PeerSwitch, Address: "0000:1c:00.0", Count: 2},
		{Peer: PeerGPU, Address: "0000:2d:00.0", Count: 3},
		{Peer: PeerSwitch, Count: 1},
	}, g.NVLinks)

	require.Len(t, s.HCAs, 2)
	h := s.HCAs[1]
	assert.Equal(t, "mlx5_1", h.Name)
	assert.Equal(t, []Address{"0000:0c:00.0"}, h.PCI)
	assert.Equal(t, []Port{{Number: 2, RateGbps: 200}}, h.Ports)
	assert.Equal(t, "0c42:a103:00ab:cdef", h.SysImageGUID)
	assert.Equal(t, ref(true), h.GPUDirect)

	require.Len(t, s.Netdevs, 1)
	assert.Equal(t, "eth0", s.Netdevs[0].Name)
	assert.Equal(t, 10000, *s.Netdevs[0].SpeedMbps)
	_, known := s.Netdevs[0].NUMA.Known()
	assert.False(t, known, "NCCL hangs below the first CPU what has no PCI place")
}

func TestNCCLXMLOfACloudWithoutClasses(t *testing.T) {
	s := parseAs(t, FormatNCCL, ncclFlatSample)
	assert.Equal(t, 32.0, device(t, s, "0000:4f:00.0").Link.MaxSpeed, "\"32 GT/s PCIe/s\" is 32")
	assert.Equal(t, WholeSwitch, device(t, s, "0000:45:00.0").Bridge, "a function with another below it is a switch")
	node, known := device(t, s, "0000:00:16.0").NUMA.Known()
	assert.True(t, known)
	assert.Equal(t, 0, node)
	assert.Nil(t, device(t, s, "0000:45:00.0").StatedNode, "-1 is unknown")
	assert.Empty(t, s.GPUs)
}

func TestNCCLXMLOddities(t *testing.T) {
	s := parseAs(t, FormatNCCL, ncclOddSample)
	assert.Equal(t, Link{}, device(t, s, "ffff:ff:01.0").Link, "a virtual switch without a link")
	require.Len(t, s.GPUs, 1)
	require.Len(t, s.HCAs, 1)
	assert.Equal(t, "10000:01:00.1", s.HCAs[0].Name, "a NIC that only NCCL can name is called by its address")
	assert.Equal(t, Class(0x020700), device(t, s, "10000:01:00.1").Class)
}

func TestNCCLXMLRefusesADuplicateBusid(t *testing.T) {
	text := strings.Replace(ncclSample, `busid="0000:2D:00.0"`, `busid="0000:0f:00.0"`, 1)
	_, format, err := Parse([]byte(text))
	assert.Equal(t, FormatNCCL, format)
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, "0000:0f:00.0", invalid.Device)
	assert.Contains(t, invalid.Reason, "lines 10 and 21")
}

func TestNCCLXMLSaysWhereItIsWrong(t *testing.T) {
	for name, change := range map[string][2]string{
		"version":       {`version="1"`, `version="2"`},
		"numaid":        {`numaid="1"`, `numaid="one"`},
		"no numaid":     {`numaid="1"`, ``},
		"affinity":      {`affinity="0000ffff,00000000"`, `affinity="all"`},
		"busid":         {`0000:2D:00.0`, `0000:2D`},
		"no busid":      {`busid="0000:2D:00.0"`, ``},
		"class":         {`class="0x020000"`, `class="nic"`},
		"long class":    {`class="0x020000"`, `class="0x00020000"`},
		"link_speed":    {`link_speed="16 GT/s"`, `link_speed="fast"`},
		"link_width":    {`link_width="8"`, `link_width="wide"`},
		"count":         {`count="3"`, ``},
		"target":        {`target="0000:1c:00.0"`, `target="there"`},
		"port":          {`port="2"`, `port="-2"`},
		"guid":          {`guid="0xefcdab0003a1420c"`, `guid="mine"`},
		"net name":      {`name="mlx5_1"`, ``},
		"two hosts":     {`<cpu numaid="1"`, `<cpu host_hash="0x5678" numaid="1"`},
		"not closed":    {`</system>`, ``},
		"same port":     {`name="mlx5_1" dev="1" speed="200000" port="2"`, `name="mlx5_0" port="1"`},
		"two documents": {`</system>`, `</system><system/>`},
	} {
		text := strings.Replace(ncclSample, change[0], change[1], 1)
		require.NotEqual(t, ncclSample, text, name)
		s, format, err := Parse([]byte(text))
		assert.Nil(t, s, name)
		assert.Equal(t, FormatNCCL, format, name)
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), "line ", name)
	}
}

func TestNCCLXMLWithoutAnyDevice(t *testing.T) {
	_, _, err := Parse([]byte(`<system version="1"></system>`))
	assert.Error(t, err)
}

func TestXMLDoesNotNestForEver(t *testing.T) {
	text := `<system version="1"><cpu numaid="0">` + strings.Repeat(`<pci busid="0000:00:00.0">`, 100_000)
	_, _, err := Parse([]byte(text))
	assert.ErrorContains(t, err, "levels deep")
}

func TestGUIDOfNCCL(t *testing.T) {
	n, ok := guidToNCCL("0c42:a103:00ab:cdef")
	assert.True(t, ok)
	assert.Equal(t, uint64(0xefcdab0003a1420c), n)
	assert.Equal(t, "0c42:a103:00ab:cdef", guidFromNCCL(n))
	for _, bad := range []string{"", "0000:0000:0000:0000", "0c42", "zz42:a103:00ab:cdef"} {
		_, ok := guidToNCCL(bad)
		assert.False(t, ok, bad)
	}
}

// roundTrip writes a System for NCCL and reads it back.
func roundTrip(t *testing.T, s *System) (*System, string) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.NCCLXML(&b))
	again, _, err := Parse(b.Bytes())
	require.NoError(t, err, b.String())
	return again, b.String()
}

func TestNCCLXMLReadsBackEqual(t *testing.T) {
	s := parseAs(t, FormatNCCL, ncclSample)
	s.GPUs[1].C2CLinks = 0 // NVML's affair, and not written
	s.Netdevs = nil        // without a place it is not written either
	again, text := roundTrip(t, s)
	same(t, s, again)
	assert.Equal(t, s.Document().Paths, again.Document().Paths, text)
}

func TestNCCLXMLOfEveryMachineIsStable(t *testing.T) {
	for _, name := range machineNames(t) {
		s, _, err := Parse(machine(t, name).format())
		if err != nil {
			continue // refused ones have a test of their own
		}
		exercise(t, s)
	}
}

func TestNCCLXMLOfACard(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	up := m.switchPort("pci0000:00", "0000:00:01.0", Link{MaxSpeed: 16, MaxWidth: 8}, ref(0), "0000:01:00.0")
	for i, name := range []string{"mlx5_0", "mlx5_1", "mlx5_2"} {
		d := m.hca("0000:00:01.0", "0000:02:00."+string(rune('0'+i)), name, gen5, ref(0))
		d.SysImageGUID = "0c42:a103:00ab:cdef"
	}
	m.s.HCAs[2].Ports[0].State = PortDown
	_ = up
	_, text := roundTrip(t, m.finish())
	assert.Contains(t, text, `busid="0000:02:00.0"`)
	assert.NotContains(t, text, "0000:02:00.1", "functions of one card are one element")
	assert.Contains(t, text, `<net name="mlx5_0" speed="200000" port="1"`)
	assert.Contains(t, text, `<net name="mlx5_1" speed="200000" port="2"`, "NCCL counts the ports of the card")
	assert.NotContains(t, text, "mlx5_2", "NCCL skips a port that is down")
	assert.Contains(t, text, `guid="0xefcdab0003a1420c"`)
	assert.Contains(t, text, `link_speed="16.0 GT/s PCIe" link_width="8"`, "the slower end of a link counts")
	assert.NotContains(t, text, "<?xml", "NCCL's reader does not know declarations")
}

func TestNCCLXMLOfAVirtualFunction(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	m.hca("pci0000:00", "0000:02:00.0", "mlx5_0", gen4, ref(0))
	m.hca("pci0000:00", "0000:02:01.2", "mlx5_7", Link{}, ref(0)).Kind = KindVF
	m.s.PCI[1].PhysFn = "0000:02:00.0"
	_, text := roundTrip(t, m.finish())
	assert.NotContains(t, text, "0000:02:01.2", "NCCL merges virtual functions into the card")
	assert.Contains(t, text, "mlx5_7")
}

func TestNCCLXMLKeepsUnknownApart(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-1200")
	m.node(1, "1201-1203")
	m.gpu("pci0000:00", "0000:01:00.0", Link{}, nil)
	m.pci("pci0000:00", "0000:03:00.0", 0x010802, Link{}, ref(0))
	_, text := roundTrip(t, m.finish())
	assert.Contains(t, text, `<cpu numaid="-1">`, "no made-up 0")
	assert.NotContains(t, text, "affinity", "a mask that NCCL's reader would refuse is left to NCCL")
	assert.NotContains(t, text, "<gpu", "NCCL finds out about a GPU of which nothing is known")
	assert.NotContains(t, text, "0000:03:00.0", "a disk is no business of NCCL's")
}

func TestNCCLXMLKeepsTheNumbersOfGPUs(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	m.gpu("pci0000:00", "0000:02:00.0", Link{}, ref(0))
	g := m.gpu("pci0000:00", "0000:01:00.0", Link{}, ref(0))
	again, text := roundTrip(t, m.finish())
	assert.Equal(t, g.PCI, again.GPUs[1].PCI, text)
}

func TestNCCLXMLDoesNotMakeANodeTheOnlyOne(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	m.node(1, "")
	m.gpu("pci0000:00", "0000:01:00.0", Link{}, nil)
	again, text := roundTrip(t, m.finish())
	_, known := again.GPUs[0].NUMA.Known()
	assert.False(t, known, text)
}

func FuzzParseNCCL(f *testing.F) { fuzzFormat(f, FormatNCCL) }
