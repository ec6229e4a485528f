package nvml_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmltest"
)

// four are four GPUs in NVML's order, the last of another model, the second in
// parts. Two UUIDs begin alike.
func four() []nvml.GPU {
	host := nvmltest.H100()
	host.Partition(1, 2)
	gpus := host.Data.Inventory[:4]
	for i, id := range []string{"GPU-aaaa1111-x", "GPU-aaaa2222-x", "GPU-bbbb3333-x", "GPU-cccc4444-x"} {
		gpus[i].UUID = id
	}
	gpus[1].MIG.Devices[0].UUID = "MIG-0a"
	gpus[1].MIG.Devices[1].UUID = "MIG-0b"
	gpus[3].Name = "NVIDIA A2"
	return gpus
}

func indexes(v nvml.Visibility) []int {
	all := []int{}
	for _, d := range v.Devices {
		all = append(all, d.GPU.Index)
	}
	return all
}

func TestVisible(t *testing.T) {
	for _, c := range []struct {
		value   string
		want    []int
		ignored string
	}{
		{"", []int{}, ""},
		{"  ", []int{}, ""},
		{"0", []int{0}, ""},
		{"2,0", []int{2, 0}, ""},
		{" 1 , 3 ", []int{1, 3}, ""},
		{"0,1,2,3", []int{0, 1, 2, 3}, ""},
		{"-1", []int{}, "-1"},
		{"0,-1,2", []int{0}, "-1"},
		{"0,4,1", []int{0}, "4"},
		{"0,99999999999999999999,1", []int{0}, "99999999999999999999"},
		{"NoDevFiles", []int{}, "NoDevFiles"},
		{"0,two,3", []int{0}, "two"},
		{"0,,1", []int{0}, ""},
		{"1gpu2,2", []int{1, 2}, ""}, // as strtol reads it
		{"+1", []int{1}, ""},
		{"0,1,0", []int{}, "0"},
		{"GPU-bbbb3333-x", []int{2}, ""},
		{"GPU-b,GPU-aaaa1", []int{2, 0}, ""},
		{"GPU-aaaa,GPU-b", []int{}, "GPU-aaaa"}, // two begin so
		{"GPU-b,GPU-dead,GPU-aaaa1", []int{2}, "GPU-dead"},
		{"GPU-b,GPU-bbbb", []int{}, "GPU-bbbb"},
		{"GPU-b,0", []int{2}, "0"},
		{"0,GPU-b", []int{0}, "GPU-b"},
		{"MIG-0b", []int{1}, ""},
		{"MIG-GPU-aaaa2222-x/7/0", []int{1}, ""},
		{"MIG-0b,MIG-0a", []int{1, 1}, ""},
		{"MIG-0b,MIG-0b", []int{}, "MIG-0b"},
		{"MIG-GPU-aaaa2222-x/7/1", []int{}, "MIG-GPU-aaaa2222-x/7/1"},
		{"MIG-", []int{}, "MIG-"},
	} {
		v := nvml.Visible(four(), &c.value, "PCI_BUS_ID")
		assert.Equal(t, c.want, indexes(v), "%q", c.value)
		assert.Equal(t, c.ignored, v.Ignored, "%q", c.value)
		assert.Equal(t, c.value == "0,,1" || c.ignored != "", v.Reason != "", "%q: %s", c.value, v.Reason)
		assert.True(t, v.Certain)
	}
	v := nvml.Visible(four(), ptr("MIG-0b"), "")
	require.NotNil(t, v.Devices[0].MIG)
	assert.Equal(t, "MIG-0b", v.Devices[0].MIG.UUID)
}

func TestVisibleOrder(t *testing.T) {
	gpus := four()
	v := nvml.Visible(gpus, nil, "")
	assert.Equal(t, []int{0, 1, 2, 3}, indexes(v))
	assert.False(t, v.Certain, "CUDA puts the fastest first, and one is another model")
	assert.False(t, nvml.Visible(gpus, ptr("3"), "FASTEST_FIRST").Certain)
	assert.True(t, nvml.Visible(gpus, ptr("GPU-c"), "").Certain, "a UUID does not depend on the order")
	assert.True(t, nvml.Visible(gpus, ptr("-1"), "").Certain)
	assert.True(t, nvml.Visible(gpus[:3], nil, "").Certain, "all of one model")
	assert.True(t, nvml.Visible(nil, nil, "").Certain)

	// A domain of five digits comes after those of four.
	gpus[0].PCIAddress, gpus[1].PCIAddress = "10000:01:00.0", "ffff:01:00.0"
	assert.Equal(t, []int{2, 3, 1, 0}, indexes(nvml.Visible(gpus, nil, "PCI_BUS_ID")))
}

func TestVisibleFromEnvironment(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "2,0")
	t.Setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
	v := nvml.VisibleFromEnvironment(four())
	assert.Equal(t, []int{2, 0}, indexes(v))
	assert.True(t, v.Certain)
}

func FuzzVisible(f *testing.F) {
	for _, value := range []string{"", "0,1", "-1", "GPU-a,GPU-b", "MIG-0a", "MIG-GPU-aaaa2222-x/7/0", "0,,1", "1gpu", "+", "-", "GPU-", ",", "\x00"} {
		f.Add(value, "PCI_BUS_ID")
	}
	gpus := four()
	f.Fuzz(func(t *testing.T, value, order string) {
		v := nvml.Visible(gpus, &value, order)
		require.LessOrEqual(t, len(v.Devices), len(gpus)+1)
		if v.Reason == "" {
			require.True(t, strings.TrimSpace(value) == "" || len(v.Devices) == strings.Count(value, ",")+1)
		}
		seen := map[string]bool{}
		for _, d := range v.Devices {
			name := d.GPU.UUID
			if d.MIG != nil {
				name = d.MIG.UUID
			}
			require.False(t, seen[name])
			seen[name] = true
		}
	})
}
