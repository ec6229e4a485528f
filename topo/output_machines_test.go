package topo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func ref[T any](v T) *T { return &v }

// builder builds a System function by function.
type builder struct {
	t *testing.T
	s *System
}

func newBuilder(t *testing.T, source string) *builder {
	return &builder{t: t, s: &System{Source: source}}
}

func (m *builder) finish() *System {
	m.t.Helper()
	require.NoError(m.t, m.s.Finish())
	return m.s
}

func (m *builder) node(id int, cpus string) {
	set, err := ParseCPUList(cpus)
	require.NoError(m.t, err)
	m.s.Nodes = append(m.s.Nodes, &NUMANode{ID: id, Online: true, CPUs: set, CPUsKnown: true})
}

// pci adds a function below a bridge, or below a host bridge ("pci0000:00").
func (m *builder) pci(above, address string, class Class, link Link, node *int) *PCIDevice {
	d := &PCIDevice{Address: Address(address), Class: class, Placed: true, Link: link, StatedNode: node}
	if len(above) > 3 && above[:3] == "pci" {
		d.Root = above
	} else {
		d.Parent = Address(above)
	}
	m.s.PCI = append(m.s.PCI, d)
	return d
}

func (m *builder) gpu(above, address string, link Link, node *int) *GPU {
	d := m.pci(above, address, 0x030200, link, node)
	d.Vendor = vendorNVIDIA
	g := &GPU{Index: len(m.s.GPUs), PCI: d.Address}
	m.s.GPUs = append(m.s.GPUs, g)
	return g
}

func (m *builder) hca(above, address, name string, link Link, node *int) *HCA {
	d := m.pci(above, address, 0x020700, link, node)
	d.Vendor, d.Device = vendorMellanox, 0x101b
	h := &HCA{Name: name, Kind: KindPF, PCI: []Address{d.Address}, Ports: []Port{{
		Number: 1, State: PortActive, PhysState: "LinkUp", LinkLayer: InfiniBand, RateGbps: 200,
	}}}
	m.s.HCAs = append(m.s.HCAs, h)
	return h
}

// switchPort adds an upstream port with a downstream port for each address, and
// returns those.
func (m *builder) switchPort(above, upstream string, link Link, node *int, downstream ...string) []string {
	m.pci(above, upstream, classBridge, link, node)
	for _, d := range downstream {
		m.pci(upstream, d, classBridge, link, node)
	}
	return downstream
}

var (
	gen4 = Link{Speed: 16, Width: 16, MaxSpeed: 16, MaxWidth: 16}
	gen5 = Link{Speed: 32, Width: 16, MaxSpeed: 32, MaxWidth: 16}
)

// dgxA100 is a DGX A100 as the public file for it has the addresses: four NUMA
// nodes with a switch each, two inner switches below it, a GPU and its own HCA
// below each of those. One HCA has lost half of its lanes.
func dgxA100(t *testing.T) *System {
	m := newBuilder(t, "sysfs")
	m.s.Host.CPU = CPUInfo{Arch: "x86_64", Vendor: "AuthenticAMD", Family: 143, Model: 49}
	for id := 0; id < 8; id++ {
		m.node(id, fmt.Sprintf("%d-%d,%d-%d", 16*id, 16*id+15, 128+16*id, 143+16*id))
	}
	for i, quad := range []struct {
		node  int
		root  string
		outer string
		inner [2][4]string // upstream port, GPU, HCA, its name
	}{
		{3, "00", "01", [2][4]string{{"03", "07", "12", "mlx5_1"}, {"0a", "0f", "0c", "mlx5_0"}}},
		{1, "40", "41", [2][4]string{{"43", "47", "54", "mlx5_3"}, {"49", "4e", "4b", "mlx5_2"}}},
		{7, "80", "81", [2][4]string{{"83", "87", "94", "mlx5_7"}, {"8b", "90", "8d", "mlx5_6"}}},
		{5, "b0", "b1", [2][4]string{{"b3", "b7", "cc", "mlx5_9"}, {"b8", "bd", "ba", "mlx5_8"}}},
	} {
		node := ref(quad.node)
		rootPort := "0000:" + quad.root + ":01.1"
		m.pci("pci0000:"+quad.root, rootPort, classBridge, gen4, node)
		downstream := m.switchPort(rootPort, "0000:"+quad.outer+":00.0", gen4, node,
			fmt.Sprintf("0000:%02x:00.0", 0xf0+2*i), fmt.Sprintf("0000:%02x:04.0", 0xf0+2*i))
		for j, in := range quad.inner {
			ports := m.switchPort(downstream[j], "0000:"+in[0]+":00.0", gen4, node,
				fmt.Sprintf("0000:%02x:0%d.0", 0xf1+2*i, 4*j), fmt.Sprintf("0000:%02x:0%d.0", 0xf1+2*i, 4*j+1))
			g := m.gpu(ports[0], "0000:"+in[1]+":00.0", gen4, node)
			g.Name, g.ComputeCapability = "NVIDIA A100-SXM4-40GB", 80
			g.NVLinks = []NVLink{{Peer: PeerSwitch, Count: 12, Version: 3}}
			link := gen4
			if in[3] == "mlx5_6" {
				link.Width = 8
			}
			m.hca(ports[1], "0000:"+in[2]+":00.0", in[3], link, node)
		}
	}
	return m.finish()
}

// flatVM is a virtual machine that shows every device on its root bus: two GPUs,
// a virtual function with RoCE, and an interface for everything else.
func flatVM(t *testing.T) *System {
	m := newBuilder(t, "sysfs")
	m.s.Host = Host{CPU: CPUInfo{Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 143}, Virtual: "KVM"}
	m.node(0, "0-15")
	m.gpu("pci0000:00", "0000:00:05.0", gen4, nil)
	m.gpu("pci0000:00", "0000:00:06.0", gen4, nil)
	h := m.hca("pci0000:00", "0000:00:07.0", "mlx5_0", Link{}, nil)
	h.Kind = KindVF
	h.Ports[0] = Port{Number: 1, State: PortActive, LinkLayer: Ethernet, RateGbps: 100, Netdevs: []string{"ens7"}, GIDs: []GID{
		{Index: 0, GID: "fe80:0000:0000:0000:0000:00ff:fe00:0001", Type: "IB/RoCE v1"},
		{Index: 1, GID: "fe80:0000:0000:0000:0000:00ff:fe00:0001", Type: "RoCE v2"},
		{Index: 2, GID: "0000:0000:0000:0000:0000:ffff:c000:0201", Type: "IB/RoCE v1"},
		{Index: 3, GID: "0000:0000:0000:0000:0000:ffff:c000:0201", Type: "RoCE v2"},
	}}
	m.pci("pci0000:00", "0000:00:03.0", 0x020000, Link{}, nil)
	m.s.Netdevs = []*Netdev{
		{Name: "lo", Up: ref(true)},
		{Name: "ens3", PCI: "0000:00:03.0", Up: ref(true), SpeedMbps: ref(10000)},
		{Name: "ens7", PCI: "0000:00:07.0", Up: ref(true), SpeedMbps: ref(100000), RDMA: []string{"mlx5_0"}},
		{Name: "docker0", Up: ref(true)},
	}
	return m.finish()
}

// gb300 is a virtual machine of two Grace processors and four GPUs: each device
// has a host bridge of its own, HCAs are virtual functions in domains of their
// own, and GPU memory forms NUMA nodes without CPUs.
func gb300(t *testing.T) *System {
	m := newBuilder(t, "sysfs")
	m.s.Host = Host{CPU: CPUInfo{Arch: "arm64"}, Virtual: "Microsoft Hyper-V"}
	m.node(0, "0-71")
	m.node(1, "72-143")
	m.node(2, "")
	m.node(10, "")
	for i, domain := range []string{"0008", "0009", "0018", "0019"} {
		rootPort := domain + ":00:00.0"
		m.pci("pci"+domain+":00", rootPort, classBridge, gen5, ref(i/2))
		g := m.gpu(rootPort, domain+":06:00.0", gen5, ref(i/2))
		g.Name, g.ComputeCapability, g.C2CLinks = "NVIDIA GB300", 103, 10
		g.NVLinks = []NVLink{{Peer: PeerSwitch, Count: 18, Version: 5}}
		g.MemoryNode = ref(2 + 8*(i/2))
	}
	for i := 0; i < 4; i++ {
		root := fmt.Sprintf("pci010%d:00", i+1)
		h := m.hca(root, fmt.Sprintf("010%d:00:00.0", i+1), fmt.Sprintf("mlx5_%d", i), Link{}, ref(i/2))
		h.Kind = KindVF
		h.Ports[0].RateGbps = 800
	}
	return m.finish()
}

// drawnMachines are those of the golden files.
var drawnMachines = map[string]func(*testing.T) *System{"dgx-a100": dgxA100, "flat-vm": flatVM, "gb300": gb300}
