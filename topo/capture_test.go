package topo

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
)

func capture(t testing.TB, tree *sysfs.Tree, opts CaptureOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Capture(&b, tree, opts))
	return b.Bytes()
}

// same compares two machines but for where they came from.
func same(t *testing.T, want, got *System) {
	t.Helper()
	w, g := *want, *got
	w.Source, g.Source = "", ""
	wj, err := json.MarshalIndent(w, "", " ")
	require.NoError(t, err)
	gj, err := json.MarshalIndent(g, "", " ")
	require.NoError(t, err)
	assert.Equal(t, string(wj), string(gj))
}

func TestCaptureReadsBackAsTheSameMachine(t *testing.T) {
	for _, name := range machineNames(t) {
		text, ok := machine(t, name).file(captureTree)
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tree, err := sysfs.ParseTree(string(text))
			require.NoError(t, err)
			opts := ReadOptions{}
			if data, ok := machine(t, name).file(captureNVML); ok {
				var facts GPUFacts
				require.NoError(t, json.Unmarshal(data, &facts))
				opts.GPUs = facts
			}
			want, err := Read(tree, opts)
			require.NoError(t, err)
			text := capture(t, tree, CaptureOptions{ReadOptions: opts, Unredacted: true})
			got, format, err := Parse(text)
			require.NoError(t, err)
			assert.Equal(t, FormatCapture, format)
			same(t, want, got)
			// Captured machines can be captured again.
			tree, err = sysfs.ParseTree(string(mustFile(t, text, captureTree)))
			require.NoError(t, err)
			assert.Equal(t, string(text), string(capture(t, tree, CaptureOptions{ReadOptions: opts, Unredacted: true})))
		})
	}
}

func mustFile(t testing.TB, data []byte, name string) []byte {
	t.Helper()
	text, ok := parseArchive(data).file(name)
	require.True(t, ok, name)
	return text
}

// secrets is a machine with everything that must not leave it.
const secrets = `
[sys/class/infiniband]
mlx5_0 -> ../../devices/pci0000:00/0000:00:01.0/infiniband/mlx5_0
mlx5_1 -> ../../devices/pci0000:00/0000:00:02.0/infiniband/mlx5_1
[sys/class/net]
ib0 -> ../../devices/pci0000:00/0000:00:01.0/net/ib0
eth0 -> ../../devices/pci0000:00/0000:00:02.0/net/eth0
[sys/devices/pci0000:00/0000:00:01.0]
class = 0x020700
vendor = 0x15b3
vpd =
| V0 SN MT2233X00001 SMDL=SW_MNG
infiniband/mlx5_0/device -> ../../../0000:00:01.0
infiniband/mlx5_0/node_guid = 9c63:c003:0012:3450
infiniband/mlx5_0/sys_image_guid = 9c63:c003:0012:3450
infiniband/mlx5_0/fw_ver = 28.39.1002
infiniband/mlx5_0/ports/1/link_layer = InfiniBand
infiniband/mlx5_0/ports/1/state = 4: ACTIVE
infiniband/mlx5_0/ports/1/gids/0 = fe80:0000:0000:0000:9c63:c003:0012:3451
net/ib0/device -> ../../../0000:00:01.0
net/ib0/type = 32
net/ib0/address = 80:00:02:08:fe:80:00:00:00:00:00:00:9c:63:c0:03:00:12:34:51
[sys/devices/pci0000:00/0000:00:02.0]
class = 0x020000
vendor = 0x15b3
infiniband/mlx5_1/device -> ../../../0000:00:02.0
infiniband/mlx5_1/node_guid = 9c63:c003:0099:8870
infiniband/mlx5_1/ports/1/link_layer = Ethernet
infiniband/mlx5_1/ports/1/state = 4: ACTIVE
infiniband/mlx5_1/ports/1/gids/0 = fe80:0000:0000:0000:9e63:c0ff:fe99:8871
infiniband/mlx5_1/ports/1/gids/1 = 0000:0000:0000:0000:0000:ffff:c0a8:6407
infiniband/mlx5_1/ports/1/gids/2 = 2001:0db8:00aa:00bb:9e63:c0ff:fe99:8871
infiniband/mlx5_1/ports/1/gids/3 = 0000:0000:0000:0000:0000:0000:0000:0000
infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0 = eth0
net/eth0/device -> ../../../0000:00:02.0
net/eth0/type = 1
net/eth0/address = 9c:63:c0:99:88:71
[sys/devices/pci0000:00/0000:00:03.0]
class = 0x030200
vendor = 0x10de
[proc]
driver/nvidia/gpus/0000:00:03.0/information =
| Model: NVIDIA H100 80GB HBM3
| GPU UUID: GPU-1a2b3c4d-1111-2222-3333-123456abcdef
| Serial Number: 1650223004567
1/cgroup = 0::/kubepods.slice/kubepods-pod1a2b3c4d_1111_2222_3333_123456abcdef.slice/cri-containerd-0123456789abcdef0123456789abcdef.scope
cpuinfo =
| vendor_id : GenuineIntel
| model name : Intel(R) Xeon(R) Platinum 8480C
`

func TestCaptureHidesWhatIdentifies(t *testing.T) {
	tree, err := sysfs.ParseTree(secrets)
	require.NoError(t, err)
	facts := GPUFacts{GPUs: []GPUFact{{PCI: "0000:00:03.0", UUID: "GPU-1a2b3c4d-1111-2222-3333-123456abcdef", Name: "NVIDIA H100 80GB HBM3",
		MIG: []MIG{{UUID: "MIG-99999999-1111-2222-3333-123456abcdef"}}}}}
	text := string(capture(t, tree, CaptureOptions{ReadOptions: ReadOptions{GPUs: facts}, Comment: "slow since 10.11.12.13 moved\n-- files.tree --"}))
	for _, secret := range []string{"9c63", "9e63", "9c:63", "9988", "1234:", "3451", "12:34:51", "c0a8:6407", "2001", "0db8", "MT2233", "165022",
		"1a2b3c4d", "99999999", "0123456789abcdef", "10.11.12.13"} {
		assert.NotContains(t, text, secret)
	}
	for _, kept := range []string{"28.39.1002", "NVIDIA H100 80GB HBM3", "SMDL=SW_MNG", "kubepods", "0000:00:03.0", "GenuineIntel"} {
		assert.Contains(t, text, kept)
	}
	got, _, err := Parse([]byte(text))
	require.NoError(t, err)
	want, err := Read(tree, ReadOptions{GPUs: facts})
	require.NoError(t, err)
	// What belongs together still does.
	assert.Equal(t, []string{"ib0"}, mustHCA(t, got, "mlx5_0").Ports[0].Netdevs)
	assert.Equal(t, mustHCA(t, got, "mlx5_0").NodeGUID, mustHCA(t, got, "mlx5_0").SysImageGUID)
	assert.NotEqual(t, mustHCA(t, got, "mlx5_0").NodeGUID, mustHCA(t, got, "mlx5_1").NodeGUID)
	assert.True(t, mustHCA(t, got, "mlx5_0").Management)
	eth, _ := got.Netdev("eth0")
	assert.Equal(t, "02:00:00:00:00:01", eth.MAC)
	gids := mustHCA(t, got, "mlx5_1").Ports[0].GIDs
	assert.Equal(t, "fe80:0000:0000:0000:0000:00ff:fe00:0001", gids[0].GID, "still made of the MAC address")
	assert.Equal(t, "0000:0000:0000:0000:0000:ffff:0a00:0002", gids[1].GID, "still IPv4, the second of the capture")
	assert.Equal(t, got.GPUs[0].UUID[:4], "GPU-")
	assert.Equal(t, "kubernetes", got.Host.Container)
	assert.Equal(t, len(want.Warnings), len(got.Warnings))
}

func TestCaptureKeepsErrorsOfReads(t *testing.T) {
	tree, err := sysfs.ParseTree(function("pci0000:00/0000:00:01.0", nicAttrs, "numa_node !EIO\n") + hca("mlx5_0", "pci0000:00/0000:00:01.0", "fw_ver !EACCES\nhca_type !EINVAL\n"))
	require.NoError(t, err)
	want, err := Read(tree, ReadOptions{})
	require.NoError(t, err)
	got, _, err := Parse(capture(t, tree, CaptureOptions{}))
	require.NoError(t, err)
	same(t, want, got)
	assert.Len(t, warningsOf(got, WarnUnreadable), 2)
}

func TestCaptureKeepsWhatNamesAloneTell(t *testing.T) {
	for name, text := range map[string]string{
		"a node without files": "sys/devices/system/node/node3/",
		"a port without files": function("pci0000:00/0000:00:01.0", nicAttrs) + "[]\nsys/class/infiniband/mlx5_0/ports/1/",
		"a bond's interfaces": function("pci0000:00/0000:00:01.0", bridgeAttrs) + function("pci0000:00/0000:00:01.0/0000:01:00.0", nicAttrs) +
			function("pci0000:00/0000:00:01.0/0000:01:00.1", nicAttrs) +
			hca("mlx5_bond_0", "pci0000:00/0000:00:01.0/0000:01:00.0", "ports/1/gids/0 = 0000:0000:0000:0000:0000:ffff:0a00:0001\nports/1/gid_attrs/ndevs/0 = bond0\n") + bondFiles,
		"a function without a place": "sys/bus/pci/devices/0000:00:01.0/class = 0x030200",
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := sysfs.ParseTree(text)
			require.NoError(t, err)
			want, err := Read(tree, ReadOptions{})
			require.NoError(t, err)
			require.NotZero(t, len(want.Nodes)+len(want.HCAs)+len(want.PCI))
			got, _, err := Parse(capture(t, tree, CaptureOptions{Unredacted: true}))
			require.NoError(t, err)
			same(t, want, got)
		})
	}
}

func TestCaptureTakesTheTopologyFileAlong(t *testing.T) {
	tree, err := sysfs.ParseTree(strings.Join(flatFiles("[]\nroot/alice/topo.xml = "+cloudFile), "\n[]\n"))
	require.NoError(t, err)
	text := capture(t, tree, CaptureOptions{ReadOptions: ReadOptions{TopologyFile: "root/alice/topo.xml"}})
	assert.NotContains(t, string(text), "alice")
	got, _, err := Parse(text)
	require.NoError(t, err)
	assert.Equal(t, "PIX", pathText(t, got, "GPU0", "mlx5_0"))
}

func TestCaptureOfRefusedMachine(t *testing.T) {
	tree, err := sysfs.ParseTree(function("pci0000:00/0000:00:01.0", gpuAttrs) + hca("mlx5_0", "pci0000:00/0000:00:01.0"))
	require.NoError(t, err)
	_, _, err = Parse(capture(t, tree, CaptureOptions{}))
	var invalid *InvalidError
	assert.ErrorAs(t, err, &invalid, "the report shows why")
}

func TestCaptureOfADirectory(t *testing.T) {
	dir := t.TempDir()
	place := dir + "/sys/devices/pci0000:00/0000:00:01.0"
	require.NoError(t, os.MkdirAll(place, 0o755))
	require.NoError(t, os.WriteFile(place+"/class", []byte("0x030200\n"), 0o644))
	require.NoError(t, os.WriteFile(place+"/vendor", []byte("0x10de\n"), 0o644))
	require.NoError(t, os.MkdirAll(dir+"/sys/bus/pci/devices", 0o755))
	require.NoError(t, os.Symlink("../../../devices/pci0000:00/0000:00:01.0", dir+"/sys/bus/pci/devices/0000:00:01.0"))
	want, err := Read(sysfs.Dir(dir), ReadOptions{})
	require.NoError(t, err)
	require.Len(t, want.GPUs, 1)
	var b bytes.Buffer
	require.NoError(t, Capture(&b, sysfs.Dir(dir), CaptureOptions{}))
	got, _, err := Parse(b.Bytes())
	require.NoError(t, err)
	same(t, want, got)
}

// A capture that lost its end is refused: a port without its last line would be a
// fault, and the machine has none.
func TestCutCaptures(t *testing.T) {
	tree, err := sysfs.ParseTree(secrets)
	require.NoError(t, err)
	whole := capture(t, tree, CaptureOptions{Comment: "slow since Monday", Parts: map[string][]byte{"more.json": []byte("{}")}})
	_, _, err = Parse(whole)
	require.NoError(t, err)
	_, _, err = Parse(bytes.TrimSpace(whole))
	require.NoError(t, err, "pasting loses the last line end")
	_, parts, err := CaptureContents(whole)
	require.NoError(t, err)
	assert.NotContains(t, parts, captureEnd)
	head := bytes.IndexByte(whole, '\n')
	for at := head + 1; at < len(whole)-2; at += 97 {
		_, _, err := Parse(whole[:at])
		require.Error(t, err, at)
	}
	var invalid *InvalidError
	_, _, err = Parse(whole[:len(whole)/2])
	require.ErrorAs(t, err, &invalid)
	assert.Contains(t, invalid.Reason, "cut")
}

func TestBadCaptures(t *testing.T) {
	for name, text := range map[string]string{
		"nothing in it":   "",
		"bad tree":        "-- files.tree --\nwhat\n",
		"bad machine":     "-- machine.json --\n{\n",
		"misspelt fact":   "-- machine.json --\n{\"gpu\": []}\n",
		"bad NVML":        "-- nvml.json --\n{\"gpus\": 1}\n-- files.tree --\n",
		"null in a list":  "-- machine.json --\n{\"gpus\": [null]}\n",
		"a bad CPU list":  "-- machine.json --\n{\"nodes\": [{\"id\": 0, \"cpus\": \"x\"}]}\n",
		"path of no kind": "-- machine.json --\n{\"stated\": [{\"a\": \"a\", \"b\": \"b\", \"path\": \"NEAR\", \"by\": \"x\"}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, format, err := Parse([]byte(captureHead + "\n" + text))
			require.Error(t, err)
			assert.Equal(t, FormatCapture, format)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestArchive(t *testing.T) {
	a := archive{comment: []byte("c"), files: []archiveFile{{"x", []byte("1\n-- y --\n2")}, {"z", nil}}}
	b := parseArchive(a.format())
	require.Len(t, b.files, 2)
	assert.Equal(t, "1\n -- y --\n2\n", string(b.files[0].data))
	assert.Equal(t, string(b.format()), string(a.format()))
}
