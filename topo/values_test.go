package topo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"0000:3b:00.0": "0000:3b:00.0", "3b:00.0": "0000:3b:00.0", "00000000:3B:00.0": "0000:3b:00.0",
		"10000:00:04.0": "10000:00:04.0", "0101:00:00.0": "0101:00:00.0", "abcdef01:00:1f.7": "abcdef01:00:1f.7",
		"ffff:ff:01.0": "ffff:ff:01.0", "00010000:00:04.0": "10000:00:04.0", " 1:2:3.4\n": "0001:02:03.4",
	} {
		got, err := ParseAddress(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, bad := range []string{"", "3b", "0000:3b:00", "0000:3b:20.0", "0000:3b:00.8", "000000000:3b:00.0", "0000:3b:00.0.1",
		"0000:100:00.0", "+000:3b:00.0", "0000:3b:-1.0", "x000:3b:00.0", "0000:0000:3b:00.0"} {
		_, err := ParseAddress(bad)
		assert.Error(t, err, bad)
	}
	assert.Equal(t, "0000:3b:00", Address("0000:3b:00.1").Slot())
	assert.Equal(t, "0000:3b", Address("0000:3b:00.1").Bus())
	assert.Negative(t, Address("ffff:ff:1f.7").Compare("10000:00:00.0"), "a longer domain is a larger one")
}

func TestParseCPUList(t *testing.T) {
	for text, want := range map[string]CPUSet{
		"": {}, "\n": {}, "3": {3}, "0-3": {0, 1, 2, 3}, "0-1,4-5": {0, 1, 4, 5},
		"0,4,8,12": {0, 4, 8, 12}, "4-6:1/2": {4, 6}, "0-5:2/3": {0, 1, 3, 4}, "2,0-1,2": {0, 1, 2},
	} {
		got, err := ParseCPUList(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, bad := range []string{"a", "1-", "-1", "3-1", "0-8192", "0-99999999", "1,,2", "0-3:2", "0-3:2/1", "0-3:0/2", "3:1/2", "+1", "0-8191,0-8191,0-8191,0-8191,0-8191"} {
		_, err := ParseCPUList(bad)
		assert.Error(t, err, bad)
	}
	for _, text := range []string{"", "0-31,64-95", "0,4,8,12,16", "5"} {
		s, err := ParseCPUList(text)
		require.NoError(t, err)
		assert.Equal(t, text, s.String())
	}
}

func TestParseCPUMask(t *testing.T) {
	for text, want := range map[string]string{
		"0000ffff": "0-15", "00000001,00000000": "32", "0000,00000088,88888888": "3,7,11,15,19,23,27,31,35,39",
		"f": "0-3", "0xf": "0-3", "00000000": "", "0x1ffffffff": "0-32",
	} {
		got, short, err := ParseCPUMask(text)
		require.NoError(t, err, text)
		assert.False(t, short, text)
		assert.Equal(t, want, got.String(), text)
		again, _, err := ParseCPUMask(got.Mask())
		require.NoError(t, err)
		assert.Equal(t, got, again)
	}
	for _, bad := range []string{"", "g", "1,,2", "00000000,123456789", "-1", "0x", ","} {
		_, _, err := ParseCPUMask(bad)
		assert.Error(t, err, bad)
	}
}

func TestCPUSetOperations(t *testing.T) {
	a, b := NewCPUSet(3, 1, 2, 2), NewCPUSet(2, 3, 4)
	assert.Equal(t, CPUSet{2, 3}, a.Intersect(b))
	assert.Equal(t, CPUSet{1, 2, 3, 4}, a.Union(b))
	assert.Equal(t, CPUSet{1, 2, 3, 4, 7}, b.Union(NewCPUSet(1, 7)))
	assert.Equal(t, a, a.Union(nil))
	assert.Equal(t, a, CPUSet(nil).Union(a))
	assert.Nil(t, CPUSet(nil).Union(CPUSet{}))
	assert.True(t, a.Contains(3))
	assert.False(t, a.Contains(4))
}

func deepTree(levels int) []*PCIDevice {
	list := []*PCIDevice{{Address: "0000:00:00.0"}}
	for i := 1; i < levels; i++ {
		list = append(list, &PCIDevice{Address: Address(fmt.Sprintf("%04x:00:00.0", i)), Parent: list[i-1].Address})
	}
	return list
}

func TestInterfacesStackedWithoutEnd(t *testing.T) {
	s := &System{}
	var all []string
	for i := range 200 {
		all = append(all, fmt.Sprint("eth", i))
	}
	for _, name := range all {
		s.Netdevs = append(s.Netdevs, &Netdev{Name: name, Lower: all})
	}
	require.NoError(t, s.Finish())
}

func TestInvalidMachinesAreRefused(t *testing.T) {
	pci := func(a ...Address) []*PCIDevice {
		var list []*PCIDevice
		for _, x := range a {
			list = append(list, &PCIDevice{Address: x})
		}
		return list
	}
	for name, s := range map[string]*System{
		"address twice":        {PCI: pci("0000:01:00.0", "0000:01:00.0")},
		"bad address":          {PCI: pci("01:00.0")},
		"bridge missing":       {PCI: []*PCIDevice{{Address: "0000:01:00.0", Parent: "0000:00:01.0"}}},
		"circle":               {PCI: []*PCIDevice{{Address: "0000:01:00.0", Parent: "0000:02:00.0"}, {Address: "0000:02:00.0", Parent: "0000:01:00.0"}}},
		"endless tree":         {PCI: deepTree(300)},
		"endless list":         {GPUs: make([]*GPU, mostDevices+1)},
		"own parent":           {PCI: []*PCIDevice{{Address: "0000:01:00.0", Parent: "0000:01:00.0"}}},
		"node twice":           {Nodes: []*NUMANode{{ID: 1}, {ID: 1}}},
		"negative node":        {Nodes: []*NUMANode{{ID: -1}}},
		"GPU twice":            {GPUs: []*GPU{{Index: 1}, {Index: 1}}},
		"negative GPU":         {GPUs: []*GPU{{Index: -1}}},
		"GPU without function": {GPUs: []*GPU{{PCI: "0000:01:00.0"}}},
		"two GPUs, one place":  {PCI: pci("0000:01:00.0"), GPUs: []*GPU{{PCI: "0000:01:00.0"}, {Index: 1, PCI: "0000:01:00.0"}}},
		"GPU and HCA":          {PCI: pci("0000:01:00.0"), GPUs: []*GPU{{PCI: "0000:01:00.0"}}, HCAs: []*HCA{{Name: "a", PCI: []Address{"0000:01:00.0"}}}},
		"HCA twice":            {HCAs: []*HCA{{Name: "a"}, {Name: "a"}}},
		"HCA without name":     {HCAs: []*HCA{{}}},
		"HCA without function": {HCAs: []*HCA{{Name: "a", PCI: []Address{"0000:01:00.0"}}}},
		"HCA called GPU0":      {GPUs: []*GPU{{}}, HCAs: []*HCA{{Name: "GPU0"}}},
		"netdev twice":         {Netdevs: []*Netdev{{Name: "a"}, {Name: "a"}}},
		"netdev's function":    {Netdevs: []*Netdev{{Name: "a", PCI: "0000:01:00.0"}}},
		"empty entry":          {GPUs: []*GPU{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Finish()
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.NotEmpty(t, invalid.Device)
			assert.NotEmpty(t, invalid.Reason)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}
