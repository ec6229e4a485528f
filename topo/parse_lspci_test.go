package topo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lspciTreeSample = `-+-[10000:e0]-+-00.0  Intel Corporation Device 09a2
 |            \-01.0-[e1]--
 +-[0000:60]-+-00.0  Advanced Micro Devices, Inc. [AMD] Device 14a4
 |           +-01.1-[61-66]----00.0-[62-66]--+-00.0-[63]--+-00.0  NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330]
 |           |                               |            \-00.1  NVIDIA Corporation High Definition Audio Controller
 |           |                               +-04.0-[64]--+-00.0  Mellanox Technologies MT2910 Family [ConnectX-7]
 |           |                               |            \-00.1  Mellanox Technologies MT2910 Family [ConnectX-7]
 |           |                               \-08.0-[65]--
 |           +-05.2-[74-75]----00.0-[75]----00.0  ASPEED Technology, Inc. ASPEED Graphics Family
 |           \-07.1-[76]----00.0  NVIDIA Corporation GH100 [H100 NVSwitch]
 \-[0000:00]---02.0  NVIDIA Corporation GH100 [H100 SXM5 80GB]
`

const lspciVerboseSample = `00:00.0 Host bridge: Advanced Micro Devices, Inc. [AMD] Device 14a4
	NUMA node: 1

00:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Device 14ab (rev 01) (prog-if 00 [Normal decode])
	NUMA node: 1
	Bus: primary=00, secondary=01, subordinate=05, sec-latency=0
	Capabilities: [58] Express (v2) Root Port (Slot+), MSI 00
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <64us
		LnkSta:	Speed 32GT/s (ok), Width x16 (ok)
	Kernel driver in use: pcieport

01:00.0 PCI bridge [0604]: Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (rev b0)
	Bus: primary=01, secondary=02, subordinate=05, sec-latency=0
	Capabilities: [68] Express (v2) Upstream Port, MSI 00

02:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)
	Bus: primary=02, secondary=03, subordinate=03, sec-latency=0
	Capabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00

03:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
	NUMA node: -1
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 2.5GT/s (downgraded), Width x16
	Kernel driver in use: nvidia
	Kernel modules: nvidiafb, nouveau, nvidia

5e:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	NUMA node: 0
		LnkCap:	Port #0, Speed unknown, Width x16
		LnkSta:	Speed 16GT/s (downgraded), Width x8 (downgraded)
		IOVCap:	Migration- 10BitTagReq+ Interrupt Message Number: 000
		Initial VFs: 16, Total VFs: 16, Number of VFs: 4, Function Dependency Link: 00
`

func TestLspciTree(t *testing.T) {
	s := parseAs(t, FormatLspciTree, lspciTreeSample)
	assert.Equal(t, "pci10000:e0", device(t, s, "10000:e0:01.0").Root, "a domain of five digits")
	gpu := device(t, s, "0000:63:00.0")
	assert.Equal(t, Address("0000:62:00.0"), gpu.Parent)
	assert.Equal(t, "NVIDIA Corporation GH100 [H100 SXM5 80GB]", gpu.Name)
	assert.Equal(t, []ID{0x10de, 0x2330}, []ID{gpu.Vendor, gpu.Device})
	assert.Equal(t, Address("0000:61:00.0"), device(t, s, "0000:62:08.0").Parent, "an empty port of the switch")
	for address, kind := range map[Address]BridgeKind{
		"0000:60:01.1": RootPort, "0000:61:00.0": SwitchUpstream, "0000:62:04.0": SwitchDownstream,
		"0000:74:00.0": PlainBridge, "0000:63:00.0": NotBridge,
	} {
		assert.Equal(t, kind, device(t, s, address).Bridge, address)
	}
	require.Len(t, s.GPUs, 2, "an audio function and an NVSwitch are no GPU")
	assert.Equal(t, Address("0000:00:02.0"), s.GPUs[0].PCI)
	require.Len(t, s.HCAs, 2)
	path, _ := s.Path(s.GPUs[1], s.HCAs[0])
	assert.Equal(t, PIX, path)
	path, _ = s.Path(s.GPUs[0], s.HCAs[0])
	assert.Equal(t, PathUnknown, path, "the text has no NUMA nodes")
}

func TestLspciTreeSaysWhereItIsWrong(t *testing.T) {
	for _, text := range []string{
		"-[0000:00]-+-00.0  Host\n  +-01.0  moved\n",
		"-[0000:00]-+-00.0  Host\n           +-zz.0  what\n",
		"-[0000:00]-+-00.0  Host\n           +-00.0  twin\n",
		"-[0000:00]-+-3f.0  no such device\n",
		"-[0000:00]-" + strings.Repeat("--00.0-[01]-", 300),
	} {
		_, format, err := Parse([]byte(text))
		assert.Equal(t, FormatLspciTree, format)
		assert.ErrorContains(t, err, "line", text)
	}
}

func TestLspciVerbose(t *testing.T) {
	s := parseAs(t, FormatLspciVerbose, lspciVerboseSample)
	for address, kind := range map[Address]BridgeKind{
		"0000:00:01.1": RootPort, "0000:01:00.0": SwitchUpstream, "0000:02:00.0": SwitchDownstream, "0000:03:00.0": NotBridge,
	} {
		assert.Equal(t, kind, device(t, s, address).Bridge, address)
	}
	gpu := device(t, s, "0000:03:00.0")
	assert.Equal(t, Address("0000:02:00.0"), gpu.Parent)
	assert.Equal(t, "pci0000:00", gpu.Root)
	assert.Equal(t, Class(0x030200), gpu.Class)
	assert.Equal(t, []ID{0x10de, 0x2330}, []ID{gpu.Vendor, gpu.Device})
	assert.Equal(t, "nvidia", gpu.Driver)
	assert.Equal(t, Link{Speed: 2.5, Width: 16, MaxSpeed: 32, MaxWidth: 16}, gpu.Link)
	assert.Nil(t, gpu.StatedNode, "-1 is unknown")
	node, known := gpu.NUMA.Known()
	assert.True(t, known, "the bridges above tell it")
	assert.Equal(t, 1, node)

	nic := device(t, s, "0000:5e:00.0")
	assert.False(t, nic.Placed, "no bridge of the text leads to its bus")
	assert.Equal(t, Link{Speed: 16, Width: 8, MaxWidth: 16}, nic.Link)
	assert.Equal(t, 4, nic.VFs)
	node, known = nic.NUMA.Known()
	assert.True(t, known)
	assert.Zero(t, node)

	require.Len(t, s.GPUs, 1)
	require.Len(t, s.HCAs, 1)
	assert.Equal(t, "0000:5e:00.0", s.HCAs[0].Name)
	var degraded []string
	for _, w := range s.Warnings {
		if w.Code == WarnDegradedLink {
			degraded = append(degraded, w.Device)
		}
	}
	assert.Equal(t, []string{"0000:5e:00.0"}, degraded, "an idle GPU's link is no fault")
}

func TestLspciVerboseSaysWhereItIsWrong(t *testing.T) {
	for name, change := range map[string][2]string{
		"node":      {"NUMA node: 0", "NUMA node: none"},
		"speed":     {"Speed 16GT/s", "Speed fast"},
		"width":     {"Width x8", "Width wide"},
		"twin":      {"5e:00.0", "03:00.0"},
		"two lead":  {"secondary=03", "secondary=02"},
		"ring":      {"secondary=01", "secondary=00"},
		"selfish":   {"primary=01, secondary=02", "primary=01, secondary=01"},
		"no device": {"5e:00.0", "5e:3f.0"},
	} {
		text := strings.Replace(lspciVerboseSample, change[0], change[1], 1)
		require.NotEqual(t, lspciVerboseSample, text, name)
		s, format, err := Parse([]byte(text))
		assert.Equal(t, FormatLspciVerbose, format, name)
		if name == "ring" {
			require.NoError(t, err, "a bus 0 behind a bridge is one that is not set up")
			assert.False(t, device(t, s, "0000:01:00.0").Placed)
			continue
		}
		assert.Error(t, err, name)
	}
}

func TestLspciVerboseRefusesARing(t *testing.T) {
	_, _, err := Parse([]byte("01:00.0 PCI bridge: A\n\tBus: primary=01, secondary=02, subordinate=02\n" +
		"02:00.0 PCI bridge: B\n\tBus: primary=02, secondary=01, subordinate=01\n"))
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
}

func FuzzParseLspciTree(f *testing.F) { fuzzFormat(f, FormatLspciTree) }

func FuzzParseLspciVerbose(f *testing.F) { fuzzFormat(f, FormatLspciVerbose) }
