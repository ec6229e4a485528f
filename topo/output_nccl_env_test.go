package topo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// setting returns a variable of NCCLEnv, which must have a reason.
func setting(t *testing.T, s *System, name string) Setting {
	t.Helper()
	for _, v := range s.NCCLEnv() {
		assert.NotEmpty(t, v.Reason, v.Name)
		if v.Name == name {
			return v
		}
	}
	return Setting{}
}

// rail is a machine of one node: two GPUs below a switch with two HCAs, and a
// third HCA elsewhere.
func rail(t *testing.T) *builder {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	ports := m.switchPort("pci0000:00", "0000:00:01.0", gen4, ref(0), "0000:01:00.0")
	up := m.switchPort(ports[0], "0000:02:00.0", gen4, ref(0), "0000:03:00.0", "0000:03:01.0", "0000:03:02.0", "0000:03:03.0")
	m.gpu(up[0], "0000:04:00.0", gen4, ref(0))
	m.gpu(up[1], "0000:05:00.0", gen4, ref(0))
	m.hca(up[2], "0000:06:00.0", "mlx5_1", gen4, ref(0))
	m.hca(up[3], "0000:07:00.0", "mlx5_10", gen4, ref(0))
	m.hca("pci0000:40", "0000:41:00.0", "mlx5_2", gen4, ref(0))
	return m
}

func TestNCCLIBHCAIsExact(t *testing.T) {
	v := setting(t, rail(t).finish(), "NCCL_IB_HCA")
	assert.True(t, v.Set)
	assert.Equal(t, "=mlx5_1,mlx5_10", v.Value, "without the = mlx5_1 takes mlx5_10 too")
	assert.Equal(t, "NCCL_IB_HCA==mlx5_1,mlx5_10", v.String())
	assert.Contains(t, v.Reason, "mlx5_2", "what is left out is named")
}

func TestNCCLIBHCALeavesOut(t *testing.T) {
	for name, change := range map[string]func(h *HCA){
		"a port that is down":          func(h *HCA) { h.Ports[0].State = PortDown },
		"a fabric manager's function":  func(h *HCA) { h.Management = true },
		"a device without device file": func(h *HCA) { h.Uverbs, h.UverbsPresent = "uverbs1", ref(false) },
		"a front-end port":             func(h *HCA) { h.Ports[0].RateGbps = 25 },
	} {
		m := rail(t)
		change(m.s.HCAs[1])
		assert.Equal(t, "=mlx5_1", setting(t, m.finish(), "NCCL_IB_HCA").Value, name)
	}
}

func TestNCCLIBHCANamesPortsWhereThereAreSeveral(t *testing.T) {
	m := rail(t)
	m.s.HCAs[0].Ports = append(m.s.HCAs[0].Ports, Port{Number: 2, State: PortActive, LinkLayer: InfiniBand, RateGbps: 200},
		Port{Number: 3, State: PortDown, LinkLayer: InfiniBand, RateGbps: 200})
	m.s.HCAs[1].Ports[0].RateGbps = 400
	assert.Equal(t, "=mlx5_1:1,mlx5_1:2,mlx5_10", setting(t, m.finish(), "NCCL_IB_HCA").Value)
}

func TestNCCLIBHCAUsesOneLinkLayer(t *testing.T) {
	m := rail(t)
	m.s.HCAs[1].Ports[0].LinkLayer = Ethernet
	v := setting(t, m.finish(), "NCCL_IB_HCA")
	assert.Equal(t, "=mlx5_1", v.Value)
	assert.Contains(t, v.Reason, "one kind at a time")
}

func TestNCCLIBHCAWithoutGPUs(t *testing.T) {
	m := rail(t)
	m.s.GPUs = nil
	assert.Equal(t, "=mlx5_1,mlx5_2,mlx5_10", setting(t, m.finish(), "NCCL_IB_HCA").Value)
}

func TestNCCLEnvSaysWhyItSetsNothing(t *testing.T) {
	none := newBuilder(t, "sysfs").finish()
	down := rail(t)
	for _, h := range down.s.HCAs {
		h.Ports[0].State = PortDown
	}
	unnamed := parseAs(t, FormatMatrix, "\tGPU0\tNIC0\tCPU Affinity\nGPU0\t X \tPIX\t0-3\nNIC0\tPIX\t X \t\n")
	address := parseAs(t, FormatLspciVerbose, lspciVerboseSample)
	for _, s := range []*System{none, down.finish(), unnamed, address} {
		for _, v := range s.NCCLEnv() {
			assert.False(t, v.Set, v.Name)
			assert.Empty(t, v.String())
			assert.NotEmpty(t, v.Reason)
		}
	}
}

func TestNCCLIBHCAKnowsNCCLsLimit(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	for i := 0; i < 33; i++ {
		m.hca("pci0000:00", fmt.Sprintf("0000:%02x:00.0", i+1), fmt.Sprintf("mlx5_%d", i), gen4, ref(0))
	}
	assert.False(t, setting(t, m.finish(), "NCCL_IB_HCA").Set)
}

func roce(gids ...GID) Port {
	return Port{Number: 1, State: PortActive, LinkLayer: Ethernet, RateGbps: 200, GIDs: gids}
}

const (
	linkLocal = "fe80:0000:0000:0000:0000:00ff:fe00:0001"
	ipv4GID   = "0000:0000:0000:0000:0000:ffff:c000:0201"
	ipv6GID   = "2001:0db8:0000:0000:0000:0000:0000:0001"
)

func TestNCCLGIDIndex(t *testing.T) {
	for name, c := range map[string]struct {
		first, second Port
		want          string
	}{
		"index 1 is RoCE v2 too, and link-local": {
			roce(GID{1, linkLocal, "RoCE v2", ""}, GID{2, ipv4GID, "IB/RoCE v1", ""}, GID{3, ipv4GID, "RoCE v2", ""}),
			roce(GID{3, ipv4GID, "RoCE v2", ""}), "3"},
		"3 is a habit and not a rule":    {roce(GID{5, ipv4GID, "RoCE v2", ""}), roce(GID{4, ipv4GID, "RoCE v2", ""}, GID{5, ipv4GID, "RoCE v2", ""}), "5"},
		"IPv6 where there is no IPv4":    {roce(GID{1, linkLocal, "RoCE v2", ""}, GID{7, ipv6GID, "RoCE v2", ""}), roce(GID{7, ipv6GID, "RoCE v2", ""}), "7"},
		"no index in common":             {roce(GID{3, ipv4GID, "RoCE v2", ""}), roce(GID{5, ipv4GID, "RoCE v2", ""}), ""},
		"a table that is not known":      {roce(GID{3, ipv4GID, "RoCE v2", ""}), roce(), ""},
		"link-local addresses only":      {roce(GID{1, linkLocal, "RoCE v2", ""}), roce(GID{1, linkLocal, "RoCE v2", ""}), ""},
		"InfiniBand, where it is unread": {Port{Number: 1, State: PortActive, LinkLayer: InfiniBand, GIDs: []GID{{0, linkLocal, "", ""}}}, Port{Number: 1, State: PortActive, LinkLayer: InfiniBand}, ""},
	} {
		m := rail(t)
		m.s.HCAs[0].Ports[0], m.s.HCAs[1].Ports[0] = c.first, c.second
		v := setting(t, m.finish(), "NCCL_IB_GID_INDEX")
		assert.Equal(t, c.want, v.Value, name)
		assert.Equal(t, c.want != "", v.Set, name)
	}
}

func TestNCCLGDRLevel(t *testing.T) {
	assert.False(t, setting(t, rail(t).finish(), "NCCL_NET_GDR_LEVEL").Set, "PIX is near enough by default")

	far := newBuilder(t, "sysfs")
	far.node(0, "0-3")
	far.gpu("pci0000:00", "0000:01:00.0", gen4, ref(0))
	h := far.hca("pci0000:40", "0000:41:00.0", "mlx5_0", gen4, ref(0))
	v := setting(t, far.finish(), "NCCL_NET_GDR_LEVEL")
	assert.Equal(t, "PHB", v.Value, "NCCL would ignore the word NODE")
	assert.Contains(t, v.Reason, "NODE")

	h.GPUDirect = ref(false)
	assert.False(t, setting(t, far.s, "NCCL_NET_GDR_LEVEL").Set)

	other := newBuilder(t, "sysfs")
	other.node(0, "0-3")
	other.node(1, "4-7")
	other.gpu("pci0000:00", "0000:01:00.0", gen4, ref(0))
	other.hca("pci0000:40", "0000:41:00.0", "mlx5_0", gen4, ref(1))
	assert.False(t, setting(t, other.finish(), "NCCL_NET_GDR_LEVEL").Set, "SYS is no advice")
}

func TestNCCLSocketInterface(t *testing.T) {
	up, down := ref(true), ref(false)
	for name, c := range map[string]struct {
		netdevs []*Netdev
		want    string
		says    string
	}{
		"the management network":     {[]*Netdev{{Name: "lo", Up: up}, {Name: "docker0", Up: up}, {Name: "ens1", Up: up}, {Name: "ib0", Up: up, RDMA: []string{"mlx5_1"}}}, "=ens1", "only"},
		"a bond and not its members": {[]*Netdev{{Name: "bond0", Up: up, Lower: []string{"ens1", "ens2"}}, {Name: "ens1", Up: up}, {Name: "ens2", Up: up}}, "=bond0", "only"},
		"two to choose from":         {[]*Netdev{{Name: "ens1", Up: up}, {Name: "ens2", Up: up}}, "=ens1", "ens2"},
		"nothing but RDMA":           {[]*Netdev{{Name: "ib0", Up: up, RDMA: []string{"mlx5_1"}}}, "=ib0", "first"},
		"nothing that is up":         {[]*Netdev{{Name: "ens1", Up: down}, {Name: "ens2"}}, "", "No interface"},
	} {
		m := rail(t)
		m.s.Netdevs = c.netdevs
		v := setting(t, m.finish(), "NCCL_SOCKET_IFNAME")
		assert.Equal(t, c.want, v.Value, name)
		assert.Contains(t, v.Reason, c.says, name)
	}
}

func TestNCCLEnvOfVirtualMachines(t *testing.T) {
	s := flatVM(t)
	file := setting(t, s, "NCCL_TOPO_FILE")
	assert.False(t, file.Set)
	assert.Equal(t, "0", setting(t, s, "NCCL_IB_MERGE_VFS").Value, "slot 0 of the bus has no NIC")
	s.Host.TopologyFile = "etc/topo.xml"
	assert.Equal(t, "/etc/topo.xml", setting(t, s, "NCCL_TOPO_FILE").Value)
	s.Host.TopologyFile = virtualTopology
	file = setting(t, s, "NCCL_TOPO_FILE")
	assert.False(t, file.Set, "NCCL finds this one itself")
	assert.True(t, strings.HasSuffix(file.Reason, "."))
	require.Empty(t, setting(t, gb300(t), "NCCL_IB_MERGE_VFS").Name, "the functions are at slot 0")
	assert.Empty(t, setting(t, dgxA100(t), "NCCL_TOPO_FILE").Name, "a machine of metal needs none")
}
