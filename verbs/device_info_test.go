package verbs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
)

func readTree(t testing.TB, name string) *sysfs.Tree {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".tree"))
	require.NoError(t, err)
	tree, err := sysfs.ParseTree(string(text))
	require.NoError(t, err)
	return tree
}

func readDevices(t testing.TB, name string) []DeviceInfo {
	t.Helper()
	devices, err := DevicesIn(readTree(t, name))
	require.NoError(t, err)
	require.NotEmpty(t, devices)
	return devices
}

func deviceNames(devices []DeviceInfo) []string {
	out := make([]string, len(devices))
	for i, d := range devices {
		out[i] = d.Name
	}
	return out
}

func onlyPort(t testing.TB, d DeviceInfo) PortInfo {
	t.Helper()
	require.Len(t, d.Ports, 1)
	return d.Ports[0]
}

func mustGUID(t testing.TB, s string) GUID {
	t.Helper()
	g, err := ParseGUID(s)
	require.NoError(t, err)
	return g
}

func TestDevicesOnePerVendor(t *testing.T) {
	devices := readDevices(t, "hfi1-mlx4-mlx5")
	require.Equal(t, []string{"hfi1_0", "mlx4_0", "mlx5_0"}, deviceNames(devices))
	for _, d := range devices {
		assert.Empty(t, d.Problems, d.Name)
		assert.Empty(t, d.PCIAddress)
		assert.Empty(t, d.Uverbs)
		_, ok := d.NUMANode()
		assert.False(t, ok)
		for _, p := range d.Ports {
			assert.Equal(t, d.Name, p.Device)
			assert.Equal(t, PortActive, p.State)
			assert.Equal(t, LinkLayerInfiniBand, p.LinkLayer)
			assert.Nil(t, p.CapMask)
			assert.Zero(t, p.GIDTableLen)
		}
	}

	hfi1, mlx4, mlx5 := devices[0], devices[1], devices[2]
	assert.Equal(t, "HPE 100Gb 1-port OP101 QSFP28 x16 PCIe Gen3 with Intel Omni-Path Adapter", hfi1.BoardID)
	assert.Empty(t, hfi1.HCAType)
	assert.Equal(t, "1.27.0", hfi1.Firmware)
	assert.Equal(t, Rate{Gbps: 100, Width: "4X", Speed: "EDR"}, onlyPort(t, hfi1).Rate)

	require.Len(t, mlx4.Ports, 2)
	p2, ok := mlx4.Port(2)
	require.True(t, ok)
	assert.Equal(t, 2, p2.Number)
	assert.Equal(t, Rate{Gbps: 40, Width: "4X", Speed: "QDR"}, p2.Rate)
	_, ok = mlx4.Port(3)
	assert.False(t, ok)

	assert.Equal(t, uint64(0x0a7fbc1245efd23b), mlx5.NodeGUID.Uint64())
	assert.Equal(t, PhysTraining, onlyPort(t, mlx5).PhysState, "the number counts, not the word")
	assert.Equal(t, Rate{Gbps: 25, Width: "1X", Speed: "EDR"}, onlyPort(t, mlx5).Rate)
}

func TestDevicesRoCEWithVLAN(t *testing.T) {
	d := readDevices(t, "roce-vlan")[0]
	assert.Equal(t, NodeCA, d.NodeType)
	assert.Equal(t, "0000:3b:00.0", d.PCIAddress)
	node, ok := d.NUMANode()
	assert.True(t, ok)
	assert.Equal(t, 1, node)
	assert.Equal(t, "uverbs0", d.Uverbs)
	assert.Equal(t, 1, d.ABIVersion)
	assert.Equal(t, "MT4125", d.HCAType)
	assert.Equal(t, "0", d.HardwareRev)
	assert.Empty(t, d.ParentNetdev)

	p := onlyPort(t, d)
	require.NotNil(t, p.CapMask)
	assert.Equal(t, uint32(0x00010000), *p.CapMask)
	assert.Equal(t, "ens1f0np0", p.Netdev, "the function's interface, not its VLAN")
	assert.Equal(t, mustGUID(t, "0000:00ff:fe00:0001"), p.GUID)
	assert.Equal(t, 12, p.GIDTableLen)
	indexes := []int{}
	for _, e := range p.GIDs {
		indexes = append(indexes, e.Index)
	}
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 11}, indexes)
	assert.Equal(t, GIDTypeRoCEv1, p.GIDs[2].Type)
	assert.Equal(t, GIDTypeRoCEv2, p.GIDs[3].Type)
	assert.Equal(t, "10.1.0.5", p.GIDs[3].GID.IP().String())
	assert.Equal(t, "ens1f0np0.100", p.GIDs[7].Netdev)

	require.Len(t, d.Problems, 1, "the entry that a driver fails to read, and only that one")
	assert.ErrorContains(t, d.Problems[0], "gids/10")
}

func TestDevicesVirtual(t *testing.T) {
	devices := readDevices(t, "rxe-6.1")
	require.Equal(t, []string{"rxe0", "rxe1"}, deviceNames(devices))
	for i, d := range devices {
		assert.Empty(t, d.Problems)
		assert.Empty(t, d.PCIAddress)
		assert.Nil(t, d.NUMA)
		assert.Equal(t, []string{"eth0", "eth1"}[i], d.ParentNetdev)
		assert.Equal(t, d.ParentNetdev, onlyPort(t, d).Netdev)
		assert.Equal(t, []string{"uverbs0", "uverbs1"}[i], d.Uverbs)
		assert.Equal(t, 2, d.ABIVersion)
	}
	assert.Equal(t, Rate{Gbps: 2.5, Width: "1X", Speed: "SDR"}, devices[0].Ports[0].Rate)
	assert.Equal(t, devices[0].NodeGUID, devices[0].Ports[0].GUID)
	assert.Equal(t, PortDown, devices[1].Ports[0].State)
	assert.Equal(t, PhysDisabled, devices[1].Ports[0].PhysState)
}

func TestDevicesDualPort(t *testing.T) {
	d := readDevices(t, "dual-port")[0]
	assert.Empty(t, d.Problems)
	require.Len(t, d.Ports, 2)
	ib, eth := d.Ports[0], d.Ports[1]

	assert.Equal(t, "ib0", ib.Netdev, "by the port's GUID; the child interface has the same")
	assert.Equal(t, mustGUID(t, "0x0002c90300a05a11"), ib.GUID)
	assert.NotEqual(t, d.NodeGUID, ib.GUID)
	assert.Equal(t, uint16(0x1a), ib.LID)
	assert.Equal(t, uint16(1), ib.SMLID)
	require.Len(t, ib.GIDs, 1)
	assert.Equal(t, GIDTypeIB, ib.GIDs[0].Type)
	assert.Equal(t, 2, ib.GIDTableLen)

	assert.Equal(t, "eth2", eth.Netdev, "by dev_port, for want of a GID")
	assert.True(t, eth.GUID.IsZero())
	assert.Empty(t, eth.GIDs)
	assert.Equal(t, 2, eth.GIDTableLen)
	assert.Equal(t, 0, *d.NUMA, "node 0 is a node")
}

func TestDevicesInAContainer(t *testing.T) {
	devices := readDevices(t, "container")
	require.Equal(t, []string{"mlx5_2", "mlx5_3", "mlx5_10"}, deviceNames(devices))

	d := devices[0]
	assert.Empty(t, d.Uverbs)
	assert.Equal(t, "10000:9a:00.0", d.PCIAddress, "a domain may have five digits")
	assert.Nil(t, d.NUMA, "-1 is unknown")
	assert.True(t, d.NodeGUID.IsZero())
	assert.Equal(t, "28.41.1000", d.Firmware)
	require.Len(t, d.Problems, 2)
	require.ErrorIs(t, d.Problems[0], fs.ErrPermission)
	require.ErrorIs(t, d.Problems[1], sysfs.ErrMalformed)
	p := onlyPort(t, d)
	assert.Equal(t, Rate{}, p.Rate)
	assert.Empty(t, p.Netdev)
	require.Len(t, p.GIDs, 1)
	assert.True(t, p.GUID.IsZero(), "an IPv4 address holds no GUID")

	assert.Equal(t, DeviceInfo{Name: "mlx5_3"}, devices[1])
	assert.Equal(t, "10000:9a:00.0", devices[2].PCIAddress, "a subfunction belongs to its function")
}

func TestDevicesOthers(t *testing.T) {
	bond := onlyPort(t, readDevices(t, "bond")[0])
	assert.Equal(t, "bond0", bond.Netdev)
	assert.Equal(t, Rate{Gbps: 100, Width: "2X", Speed: "HDR"}, bond.Rate)

	down := readDevices(t, "ib-down-and-vf")
	cable, vf := onlyPort(t, down[0]), onlyPort(t, down[1])
	assert.Equal(t, PhysPolling, cable.PhysState)
	assert.Equal(t, uint16(0xffff), cable.LID)
	assert.Equal(t, down[0].NodeGUID, cable.GUID)
	assert.True(t, vf.GUID.IsZero())
	assert.Empty(t, vf.Netdev, "two things without a GUID are not the same thing")
	assert.Equal(t, PhysLinkUp, vf.PhysState)

	efa := readDevices(t, "efa")[0]
	assert.Empty(t, efa.Problems)
	assert.Equal(t, NodeUnspecified, efa.NodeType)
	assert.Equal(t, LinkLayerUnspecified, onlyPort(t, efa).LinkLayer)

	asus := readDevices(t, "four-ports-down")
	assert.Equal(t, "ens1f0np0", onlyPort(t, asus[0]).Netdev)
	assert.Equal(t, "ens5f1np1", onlyPort(t, asus[1]).Netdev, "a representor is not the port's interface")
	assert.Equal(t, "0000:81:00.1", asus[1].PCIAddress)
}

func TestDevicesWithoutRDMA(t *testing.T) {
	for name, root := range map[string]fs.FS{
		"no sys":   fstest.MapFS{},
		"no class": fstest.MapFS{"sys/class/net/lo/type": {Data: []byte("772\n")}},
		"a file":   fstest.MapFS{"sys/class/infiniband/README": {}},
	} {
		devices, err := DevicesIn(root)
		require.NoError(t, err, name)
		assert.Empty(t, devices, name)
		assert.NotNil(t, devices, name)
	}
	_, err := Devices()
	require.NoError(t, err)
}

// noLinks hides everything but Open, as a file system of today's standard
// library without links does.
type noLinks struct{ fsys fs.FS }

func (n noLinks) Open(name string) (fs.File, error) { return n.fsys.Open(name) }

func TestDevicesWithoutLinks(t *testing.T) {
	devices, err := DevicesIn(noLinks{readTree(t, "roce-vlan")})
	require.NoError(t, err)
	require.Len(t, devices, 1)
	assert.Equal(t, "0000:3b:00.0", devices[0].PCIAddress, "from the uevent file")
	assert.Equal(t, 1, *devices[0].NUMA)
}

func TestDevicesUnreadableClass(t *testing.T) {
	_, err := DevicesIn(refuse{fstest.MapFS{}})
	require.ErrorIs(t, err, fs.ErrPermission)
}

type refuse struct{ fsys fs.FS }

func (r refuse) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, classInfiniband) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return r.fsys.Open(name)
}

// One file after the other is made unreadable; no other device, port or GID may
// suffer.
func TestDevicesLoseNothingElse(t *testing.T) {
	tree := readTree(t, "rxe-6.1")
	whole, err := DevicesIn(tree)
	require.NoError(t, err)
	count := 0
	require.NoError(t, fs.WalkDir(tree, "sys/devices/virtual/infiniband/rxe0", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		count++
		rel := strings.TrimPrefix(name, "sys/devices/virtual/infiniband/")
		devices, err := DevicesIn(breakOne{tree, path.Join(classInfiniband, rel)})
		require.NoError(t, err, name)
		require.Equal(t, deviceNames(whole), deviceNames(devices), name)
		assert.Equal(t, whole[1], devices[1], name)
		p := onlyPort(t, devices[0])
		assert.Equal(t, 3, p.GIDTableLen, name)
		assert.GreaterOrEqual(t, len(p.GIDs), 1, name)
		return nil
	}))
	assert.Greater(t, count, 15)
}

type breakOne struct {
	sysfs.FS
	name string
}

func (b breakOne) Open(name string) (fs.File, error) {
	if name == b.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return b.FS.Open(name)
}
