package nvml_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmltest"
)

func ptr[T any](value T) *T { return &value }

var addresses = map[string]string{
	"00000000:1B:00.0":  "0000:1b:00.0", // as NVML prints it
	"0000:1b:00.0":      "0000:1b:00.0", // as sysfs and CUDA do
	"00010000:00:02.0":  "10000:00:02.0",
	"10000:00:02.0":     "10000:00:02.0",
	"fffff:ff:1f.7":     "fffff:ff:1f.7",
	"ABCD1234:0a:0B.1":  "abcd1234:0a:0b.1",
	"1b:00.0":           "0000:1b:00.0",
	"1b:00":             "0000:1b:00.0",
	"ffff:ff:01.0":      "ffff:ff:01.0", // a virtual switch of a cloud
	"0008:06:00.0":      "0008:06:00.0",
	"":                  "",
	"1b":                "",
	"0000:1b:20.0":      "", // a bus has 32 devices
	"0000:1b:00.8":      "", // and a device eight functions
	"0000:100:00.0":     "",
	"0000:1b:00.":       "",
	"000000000:1b:00.0": "",
	"0000:+b:00.0":      "",
	"0000:1b:0_0.0":     "",
	"0:0000:1b:00.0":    "",
}

func TestParsePCIAddress(t *testing.T) {
	for text, want := range addresses {
		got, err := nvml.ParsePCIAddress(text)
		if want == "" {
			require.Error(t, err, "%q", text)
			continue
		}
		require.NoError(t, err, "%q", text)
		assert.Equal(t, want, got)
	}
}

func FuzzParsePCIAddress(f *testing.F) {
	for text := range addresses {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		address, err := nvml.ParsePCIAddress(text)
		if err != nil {
			require.Less(t, len(err.Error()), 400)
			return
		}
		again, err := nvml.ParsePCIAddress(address)
		require.NoError(t, err)
		require.Equal(t, address, again)
	})
}

var lists = map[string]nvml.CPUSet{
	"0-3":       {0, 1, 2, 3},
	"0-1,4-5,9": {0, 1, 4, 5, 9},
	"0,4,8":     {0, 4, 8},
	"":          {},
	" 7\n":      {7},
}

func TestCPUSet(t *testing.T) {
	for text, want := range lists {
		set, err := nvml.ParseCPUSet(text)
		require.NoError(t, err, "%q", text)
		assert.Equal(t, want, set)
		again, err := nvml.ParseCPUSet(set.String())
		require.NoError(t, err)
		assert.Equal(t, want, again)
	}
	for _, text := range []string{"3-1", "-1", "0-", "a", "1,1", "2,1", "0-99999999", "0,,1", "+1"} {
		_, err := nvml.ParseCPUSet(text)
		require.Error(t, err, "%q", text)
	}
	assert.Equal(t, nvml.CPUSet{0, 63, 64, 127}, nvml.CPUSetFromMask([]uint{1 | 1<<63, 1 | 1<<63, 0, 0, 0}))
	assert.Nil(t, nvml.CPUSetFromMask(make([]uint, 128)), "no bit: unknown")
}

func FuzzParseCPUSet(f *testing.F) {
	for text := range lists {
		f.Add(text)
	}
	f.Add("0-99999999")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := nvml.ParseCPUSet(text)
		if err != nil {
			return
		}
		again, err := nvml.ParseCPUSet(set.String())
		require.NoError(t, err)
		require.Equal(t, set, again)
	})
}

func TestRates(t *testing.T) {
	for _, c := range []struct {
		version nvml.LinkVersion
		raw     float64
		want    float64
	}{
		{nvml.NVLink1, 20, 20}, {nvml.NVLink2, 25.781, 25}, {nvml.NVLink3, 25, 25},
		{nvml.NVLink4, 26.562, 25}, {nvml.NVLink5, 53.125, 50},
	} {
		rate, ok := nvml.Link{Raw: &c.raw, Version: &c.version}.Rate()
		require.True(t, ok)
		assert.InDelta(t, c.want, rate, 1e-9, "NVLink %v", c.version)
	}
	_, ok := nvml.Link{Raw: ptr(100.0), Version: ptr(nvml.NVLink6)}.Rate()
	assert.False(t, ok, "an encoding that nobody has seen")
	_, ok = nvml.Link{Raw: ptr(25.0)}.Rate()
	assert.False(t, ok)
	for generation, want := range map[int]float64{3: 15.75, 4: 31.5, 5: 63} {
		rate, ok := nvml.PCIe{Generation: &generation, Width: ptr(16)}.Rate()
		require.True(t, ok)
		assert.InDelta(t, want, rate, 0.01)
	}
	_, ok = nvml.PCIe{Generation: ptr(9), Width: ptr(16)}.Rate()
	assert.False(t, ok)
	_, ok = nvml.PCIe{Generation: ptr(5)}.Rate()
	assert.False(t, ok)
}

func TestSumLinks(t *testing.T) {
	for name, want := range map[string]struct {
		active int
		rate   float64
	}{"A100": {12, 300}, "H100": {18, 450}, "H200 pair": {18, 450}, "GB300": {18, 900}, "flat VM": {0, 0}} {
		host := nvmltest.All()[name]
		links, err := host.Links(host.Data.Inventory[0].UUID)
		require.NoError(t, err)
		sum := nvml.SumLinks(links)
		assert.Equal(t, want.active, sum.Active, name)
		require.NotNil(t, sum.Rate, name)
		assert.InDelta(t, want.rate, *sum.Rate, 1e-6, name)
	}
	sum := nvml.SumLinks([]nvml.Link{{Active: ptr(true)}, {Active: ptr(false)}, {}})
	assert.Equal(t, 3, sum.Links)
	assert.Equal(t, 1, sum.Active, "a link of unknown state is not active")
	assert.Nil(t, sum.Rate, "the rate of an active link is unknown, so that of all is")
}

func TestLinksBetween(t *testing.T) {
	host := nvmltest.H100()
	gpus := host.Data.Inventory
	between := func(h *nvmltest.Host, a, b int) (int, bool) {
		x, y := h.Data.Inventory[a], h.Data.Inventory[b]
		return nvml.LinksBetween(x, y, h.Data.NVLinks[x.UUID], h.Data.NVLinks[y.UUID])
	}
	count, ok := between(host, 0, 7)
	assert.True(t, ok)
	assert.Equal(t, 18, count)
	host.Data.NVLinks[gpus[7].UUID][3].Active = ptr(false)
	count, _ = between(host, 0, 7)
	assert.Equal(t, 17, count, "the smaller number holds")

	// Direct links, as on machines without switches: two to one peer.
	a, b := nvml.GPU{PCIAddress: "0000:07:00.0"}, nvml.GPU{PCIAddress: "0000:0a:00.0"}
	to := func(address string) nvml.Link {
		return nvml.Link{Active: ptr(true), Peer: address, PeerType: nvml.PeerGPU}
	}
	count, ok = nvml.LinksBetween(a, b,
		[]nvml.Link{to(b.PCIAddress), to(b.PCIAddress), to("0000:0b:00.0")}, []nvml.Link{to(a.PCIAddress), to(a.PCIAddress)})
	assert.True(t, ok)
	assert.Equal(t, 2, count)
	_, ok = nvml.LinksBetween(a, b, []nvml.Link{{Active: ptr(true)}}, nil)
	assert.False(t, ok, "a link to nobody knows where")
	count, ok = between(nvmltest.FlatVM(), 0, 1)
	assert.True(t, ok)
	assert.Zero(t, count)
}

func TestNUMANode(t *testing.T) {
	_, ok := nvml.GPU{}.NUMANode()
	assert.False(t, ok, "unknown is not node 0")
	_, ok = nvml.GPU{Nodes: []int{0, 1}}.NUMANode()
	assert.False(t, ok)
	node, ok := nvml.GPU{Nodes: []int{0}}.NUMANode()
	assert.True(t, ok)
	assert.Zero(t, node)
	// Node 0 and unknown stay apart on paper too.
	text, err := json.Marshal([]nvml.GPU{{Nodes: []int{0}}, {}})
	require.NoError(t, err)
	var back []nvml.GPU
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, []int{0}, back[0].Nodes)
	assert.Nil(t, back[1].Nodes)
}

func TestStrings(t *testing.T) {
	assert.Equal(t, "none", nvml.ClockEvents(0).String())
	assert.Equal(t, "power cap, hardware thermal slowdown", (nvml.ClockPowerCap | nvml.ClockHardwareThermal).String())
	assert.Equal(t, "idle, 0x10000", (nvml.ClockIdle | 1<<16).String())
	assert.Equal(t, "XID", nvml.EventXID.String())
	assert.Equal(t, "SYS", nvml.AncestorSystem.String())
	assert.Equal(t, "PIX", nvml.AncestorInternal.String())
	assert.Equal(t, "ancestor 60", nvml.Ancestor(60).String())
	assert.Equal(t, "4.0", nvml.NVLink4.String())
	assert.Equal(t, "NVML's 12", nvml.LinkVersion(12).String())
	assert.Equal(t, "P2P status 9", nvml.P2PStatus(9).String())
	assert.Equal(t, "NVML error 77", nvml.Code(77).Error())
	assert.True(t, errors.Is(nvml.CodeNotSupported, nvml.ErrNotSupported))
	assert.False(t, errors.Is(nvml.CodeGPUIsLost, nvml.ErrNotSupported))
}

func TestFind(t *testing.T) {
	host := nvmltest.A100()
	host.Partition(2, 3)
	gpus, err := host.GPUs()
	require.NoError(t, err)
	part := gpus[2].MIG.Devices[1]
	g, device, ok := nvml.Find(gpus, part.UUID)
	require.True(t, ok)
	assert.Equal(t, part, *device)
	node, _ := g.NUMANode()
	assert.Equal(t, 1, node, "a part is where its GPU is")
	_, _, ok = nvml.Find(gpus, "GPU-nobody")
	assert.False(t, ok)

	g, ok = nvml.ByPCIAddress(gpus, "00000000:4E:00.0")
	require.True(t, ok)
	assert.Equal(t, 3, g.Index)
	_, ok = nvml.ByPCIAddress(gpus, "0000:4f:00.0")
	assert.False(t, ok)
	_, ok = nvml.ByPCIAddress(append(gpus, nvml.GPU{}), "")
	assert.False(t, ok, "no address is not an address")

	_, err = host.Links(part.UUID)
	require.ErrorIs(t, err, nvml.ErrNoGPU)
	var op *nvml.OpError
	require.ErrorAs(t, err, &op)
	assert.Contains(t, op.Hint, gpus[2].UUID)
}

func TestSnapshot(t *testing.T) {
	for name, host := range nvmltest.All() {
		snapshot, err := nvml.Take(host)
		require.NoError(t, err, name)
		require.NoError(t, snapshot.Check(), name)
		text, err := json.Marshal(snapshot)
		require.NoError(t, err)
		var back nvml.Snapshot
		require.NoError(t, json.Unmarshal(text, &back))
		require.NoError(t, back.Check(), name)
		again, err := json.Marshal(&back)
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(again), name)
		gpus, err := back.GPUs()
		require.NoError(t, err)
		require.Equal(t, host.Data.Inventory, gpus, name)
		if len(gpus) > 1 {
			want, _ := host.Pair(gpus[0].UUID, gpus[1].UUID)
			got, err := back.Pair(gpus[0].UUID, gpus[1].UUID)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
		_, err = back.Watch(nvml.EventXID)
		require.ErrorIs(t, err, nvml.ErrNotSupported)
	}
}

func TestSnapshotOfAMachineWithALostGPU(t *testing.T) {
	host := nvmltest.H100()
	gone := host.Data.Inventory[4].UUID
	host.Lose(gone)
	snapshot, err := nvml.Take(host)
	require.ErrorIs(t, err, nvml.CodeGPUIsLost)
	assert.Len(t, snapshot.Inventory, 7)
	require.NoError(t, snapshot.Check())
}

func TestSnapshotCheck(t *testing.T) {
	spoil := map[string]func(*nvml.Snapshot){
		"no UUID":              func(s *nvml.Snapshot) { s.Inventory[0].UUID = "" },
		"one UUID twice":       func(s *nvml.Snapshot) { s.Inventory[0].UUID = s.Inventory[1].UUID },
		"one address twice":    func(s *nvml.Snapshot) { s.Inventory[0].PCIAddress = s.Inventory[1].PCIAddress },
		"address of NVML":      func(s *nvml.Snapshot) { s.Inventory[0].PCIAddress = "00000000:0F:00.0" },
		"no address":           func(s *nvml.Snapshot) { s.Inventory[0].PCIAddress = "somewhere" },
		"links of nobody":      func(s *nvml.Snapshot) { s.NVLinks["GPU-x"] = nil },
		"pair with nobody":     func(s *nvml.Snapshot) { s.Pairs[0].To = "GPU-x" },
		"processes of nobody":  func(s *nvml.Snapshot) { s.Users["GPU-x"] = nil },
		"the status of nobody": func(s *nvml.Snapshot) { s.Statuses["GPU-x"] = nvml.Status{} },
	}
	for name, change := range spoil {
		s := nvmltest.H100().Data
		require.NoError(t, s.Check())
		change(s)
		require.Error(t, s.Check(), name)
	}
}
