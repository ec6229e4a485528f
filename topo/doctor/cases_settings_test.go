package doctor

import (
	"time"

	"github.com/gofabric/gofabric/topo/counters"
)

const limited = "proc/self/limits = Max locked memory         8388608              8388608              bytes\n"

var processCases = []testCase{
	{"memlock", Pass, None, "", nil},
	{"memlock", Pass, None, limited + "proc/self/status = CapEff: 000001ffffffffff\n", nil},
	{"memlock", Fail, Critical, limited, nil},
	{"memlock", Unknown, None, "-proc/self\n", nil},
	{"memlock", NotApplicable, None, noCards, nil},

	{"device-files", Pass, None, "", nil},
	{"device-files", Fail, Critical, "-dev/infiniband/uverbs1\n", nil},
	{"device-files", Fail, Critical, "-sys/class/infiniband_verbs\n", nil},
	{"device-files", Fail, Critical, "", func(m *Machine) { m.Facts.UverbsDenied = []string{"uverbs1"} }},
	{"device-files", Unknown, None, "-dev\n", nil},
	{"device-files", NotApplicable, None, noCards, nil},

	{"shared-memory", Pass, None, "", nil},
	{"shared-memory", Pass, None, "proc/self/mounts = tmpfs /dev/shm tmpfs rw 0 0\n", nil},
	{"shared-memory", Fail, Warning, "proc/self/mounts = shm /dev/shm tmpfs rw,size=65536k 0 0\n", nil},
	{"shared-memory", Fail, Warning, "proc/self/mounts = proc /proc proc rw 0 0\n", nil},
	{"shared-memory", Unknown, None, "-proc/self\n", nil},
	{"shared-memory", NotApplicable, None, noGPUs, noNVML},
	{"shared-memory", NotApplicable, None, "", env("NCCL_SHM_DISABLE", "1")},
}

const otherMTU = "sys/class/net/rail0/mtu = 1500\n"

var roceCases = []testCase{
	{"roce-mtu", Pass, None, roce, nil},
	{"roce-mtu", Fail, Warning, roce + otherMTU, nil},
	{"roce-mtu", Fail, Warning, roce, func(m *Machine) { m.Facts.ActiveMTU = map[string]int{"mlx5_0/1": 1024} }},
	{"roce-mtu", Pass, None, roce + otherMTU, func(m *Machine) { m.Facts.ActiveMTU = map[string]int{"mlx5_0/1": 4096} }},
	{"roce-mtu", Unknown, None, roce + "-sys/class/net/rail0\n", nil},
	{"roce-mtu", NotApplicable, None, "", nil},

	{"mtu-alike", Pass, None, roce, nil},
	{"mtu-alike", Fail, Warning, roce + otherMTU, nil},
	{"mtu-alike", Fail, Warning, roce, peer(func(n *Node) { n.HCAs[0].Ports[0].MTU = ptr(1500) })},
	{"mtu-alike", Unknown, None, roce + "-sys/class/net/rail0\n-sys/class/net/rail1\n", nil},
	{"mtu-alike", NotApplicable, None, "", nil},

	{"roce-gid", Pass, None, roce, nil},
	{"roce-gid", Fail, Warning, roce + "-" + port0 + "gids/3\n", nil}, // link-local is left
	{"roce-gid", Fail, Warning, roce + "-" + port0 + "gids/3\n-" + port0 + "gids/0\n" + port0 + "gids/\n", nil},
	{"roce-gid", Unknown, None, roce + "-" + port0 + "gid_attrs/types\n", nil},
	{"roce-gid", NotApplicable, None, "", nil},

	{"roce-congestion", Pass, None, roce, nil},
	{"roce-congestion", Fail, Warning, roce, watched("mlx5_0", 1, time.Second, 0, counters.Vendor, "np_cnp_sent", 40)},
	{"roce-congestion", Fail, Warning, roce, watched("mlx5_0", 1, time.Second, 0, counters.Ethtool, "rx_prio3_pause", 40)},
	{"roce-congestion", Unknown, None, roce + port0 + "hw_counters/np_cnp_sent = 3\n", nil},
	{"roce-congestion", NotApplicable, None, "", nil},
	{"roce-congestion", NotApplicable, None, soft, nil},
}

var ncclCases = []testCase{
	{"gid-index", Pass, None, roce, env("NCCL_IB_GID_INDEX", "3")},
	{"gid-index", Fail, Critical, roce, env("NCCL_IB_GID_INDEX", "0")}, // link-local
	{"gid-index", Fail, Critical, roce, env("NCCL_IB_GID_INDEX", "7")}, // empty
	{"gid-index", Fail, Critical, roce + port0 + "gid_attrs/types/3 = IB/RoCE v1\n", env("NCCL_IB_GID_INDEX", "3")},
	{"gid-index", Fail, Critical, roce + "etc/nccl.conf = NCCL_IB_GID_INDEX=7\n", nil},
	{"gid-index", Unknown, None, roce, noEnv},
	{"gid-index", NotApplicable, None, roce, nil},

	{"gid-index-ignored", Pass, None, "", nil},
	{"gid-index-ignored", Fail, Info, "", env("NCCL_IB_GID_INDEX", "3")},
	{"gid-index-ignored", Unknown, None, "", noEnv},
	{"gid-index-ignored", NotApplicable, None, roce, nil},

	{"mixed-fabrics", Pass, None, "", nil},
	{"mixed-fabrics", Fail, Warning, port0 + "link_layer = Ethernet\n", nil},
	{"mixed-fabrics", Unknown, None, port0 + "link_layer = Ethernet\n", noEnv},
	{"mixed-fabrics", NotApplicable, None, port0 + "link_layer = Ethernet\n", env("NCCL_IB_HCA", "=mlx5_1")},

	{"hca-selection", Pass, None, "", env("NCCL_IB_HCA", "=mlx5_0,mlx5_1")},
	{"hca-selection", Pass, None, "", env("NCCL_IB_HCA", "mlx5")}, // a prefix that is meant
	{"hca-selection", Pass, None, "", env("NCCL_IB_HCA", "^=mlx5_9")},
	{"hca-selection", Fail, Warning, "", env("NCCL_IB_HCA", "=mlx5_9")},
	{"hca-selection", Fail, Warning, port0 + "state = 1: DOWN\n", env("NCCL_IB_HCA", "=mlx5_0:1")},
	{"hca-selection", Fail, Warning, "sys/class/infiniband/mlx5_10/ports/1/state = 4: ACTIVE\n", env("NCCL_IB_HCA", "mlx5_1")},
	{"hca-selection", Unknown, None, "", noEnv},
	{"hca-selection", NotApplicable, None, "", nil},

	{"gdr-level", Pass, None, "", env("NCCL_NET_GDR_LEVEL", "PXB")},
	{"gdr-level", Pass, None, "", env("NCCL_NET_GDR_LEVEL", "4")},
	{"gdr-level", Fail, Warning, "", env("NCCL_NET_GDR_LEVEL", "NODE")},
	{"gdr-level", Unknown, None, "", noEnv},
	{"gdr-level", NotApplicable, None, "", nil},

	{"fabric-used", Pass, None, "", nil},
	{"fabric-used", Pass, None, "", env("NCCL_SOCKET_IFNAME", "eth", "NCCL_IB_DISABLE", "0")},
	{"fabric-used", Pass, None, "", env("NCCL_SOCKET_IFNAME", "^docker0,lo")},
	{"fabric-used", Fail, Critical, "", env("NCCL_IB_DISABLE", "1")},
	{"fabric-used", Fail, Critical, "", env("NCCL_NET", "Socket")},
	{"fabric-used", Fail, Critical, "", env("NCCL_SOCKET_IFNAME", "bond0")},
	{"fabric-used", Fail, Warning, "", env("NCCL_SOCKET_IFNAME", "bond0,eth0")},
	{"fabric-used", Fail, Critical, "etc/nccl.conf = NCCL_IB_DISABLE=1\n", nil},
	{"fabric-used", Unknown, None, "", noEnv},
	{"fabric-used", NotApplicable, None, noCards, nil},

	{"nccl-conf", Pass, None, "etc/nccl.conf =\n| # settings\n| NCCL_DEBUG=WARN\n| \n| NCCL_IB_TC=106\n", nil},
	{"nccl-conf", Pass, None, "", env("NCCL_IB_TC", "106")},
	{"nccl-conf", Fail, Warning, "etc/nccl.conf = NCCL_IB_TC = 106\n", nil},
	{"nccl-conf", Fail, Warning, "etc/nccl.conf = export NCCL_IB_TC=106\n", nil},
	{"nccl-conf", Fail, Warning, "", func(m *Machine) { m.Facts.UserConf = ptr("NCCL_IB_DISABLE\n") }},
	{"nccl-conf", Fail, Warning, "", env("NCCL_NVLS_ENABLE", "true")},
	{"nccl-conf", Unknown, None, "", described(nil)},
	{"nccl-conf", NotApplicable, None, "", nil},

	{"topology-file", Pass, None, "t.xml =\n" + topoFile("0000:03:00.0", "0f"), env("NCCL_TOPO_FILE", "/t.xml")},
	{"topology-file", Fail, Critical, "t.xml =\n" + topoFile("0000:33:00.0", "0f"), env("NCCL_TOPO_FILE", "/t.xml")},         // absent
	{"topology-file", Fail, Critical, "t.xml =\n" + topoFile("0000:04:00.0", "0f"), env("NCCL_TOPO_FILE", "/t.xml")},         // twice
	{"topology-file", Fail, Critical, "t.xml =\n" + topoFile("0000:03:00.0", "f0"), env("NCCL_TOPO_FILE", "/t.xml")},         // another node's CPUs
	{"topology-file", Fail, Critical, "t.xml =\n" + topoFile("0000:03:00.0", "0f", "self"), env("NCCL_TOPO_FILE", "/t.xml")}, // an NVLink to itself
	{"topology-file", Fail, Critical, "", env("NCCL_TOPO_FILE", "/gone.xml")},
	{"topology-file", Fail, Critical, "var/run/nvidia-topologyd/virtualTopology.xml = <system\n", nil},
	{"topology-file", Unknown, None, "", noEnv},
	{"topology-file", NotApplicable, None, "", nil},
}

func topoFile(gpu, mask string, self ...string) string {
	link := ""
	if len(self) > 0 {
		link = `<nvlink target="` + gpu + `" count="4" tclass="0x030200"/>`
	}
	return `| <system version="1"><cpu numaid="0" affinity="` + mask + `" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">` + "\n" +
		`| <pci busid="` + gpu + `" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="90" rank="0" gdr="1">` + link + `</gpu></pci>` + "\n" +
		`| <pci busid="0000:04:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>` + "\n" +
		"| </cpu></system>\n"
}

var numaCases = []testCase{
	{"near-hca", Pass, None, "", nil},
	{"near-hca", Pass, None, "", both(env("NCCL_IB_HCA", "=mlx5_0", "CUDA_VISIBLE_DEVICES", "0"))},
	{"near-hca", Fail, Warning, "", env("NCCL_IB_HCA", "=mlx5_0")}, // GPU1 lies on the other node
	{"near-hca", Unknown, None, "", noEnv},
	{"near-hca", NotApplicable, None, noCards, nil},

	{"numa-known", Pass, None, "", nil},
	{"numa-known", Fail, Warning, allMinusOne, noNVML},
	{"numa-known", Unknown, None, "", described(nil)},
	{"numa-known", NotApplicable, None, oneNode, nil},

	{"cpuset", Pass, None, "", nil},
	{"cpuset", Fail, Warning, "proc/self/status = Cpus_allowed_list: 4-7\n", env("CUDA_VISIBLE_DEVICES", "0")},
	{"cpuset", Fail, Warning, noGPUs + "proc/self/status = Cpus_allowed_list: 4-7\n", both(noNVML, env("NCCL_IB_HCA", "=mlx5_0"))},
	{"cpuset", Unknown, None, "-proc/self/status\n", nil},
	{"cpuset", NotApplicable, None, oneNode, nil},

	{"numa-balancing", Pass, None, "", nil},
	{"numa-balancing", Fail, Info, "proc/sys/kernel/numa_balancing = 1\n", nil},
	{"numa-balancing", Unknown, None, "-proc/sys\n", nil},
	{"numa-balancing", NotApplicable, None, oneNode, nil},
	{"numa-balancing", NotApplicable, None, noCards + noGPUs, noNVML}, // nothing that it could slow
}

// allMinusOne is a firmware that tells no node of the first card and of what lies
// above it.
const allMinusOne = nic0 + "numa_node = -1\n" + low + "numa_node = -1\n" + low + "0000:02:01.0/numa_node = -1\n" +
	"sys/devices/pci0000:00/0000:00:01.0/numa_node = -1\n"
