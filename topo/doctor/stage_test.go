package doctor

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmltest"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/fromnvml"
)

// Where the devices of the healthy machine lie.
const (
	low     = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/"
	high    = "sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/"
	gpu0    = low + "0000:02:00.0/0000:03:00.0/"
	gpu1    = high + "0000:82:00.0/0000:83:00.0/"
	nic0    = low + "0000:02:01.0/0000:04:00.0/"
	nic1    = high + "0000:82:01.0/0000:84:00.0/"
	mlx0    = nic0 + "infiniband/mlx5_0/"
	mlx1    = nic1 + "infiniband/mlx5_1/"
	port0   = mlx0 + "ports/1/"
	port1   = mlx1 + "ports/1/"
	noCards = "-sys/class/infiniband\n-sys/class/infiniband_verbs\n-" + mlx0 + "\n-" + mlx1 + "\n"
	noGPUs  = "-" + gpu0 + "\n-" + gpu1 + "\n-sys/bus/pci/devices/0000:03:00.0\n-sys/bus/pci/devices/0000:83:00.0\n"
	oneNode = "-sys/devices/system/node/node1\nsys/devices/system/node/online = 0\n"
	guest   = "proc/cpuinfo =\n| vendor_id : GenuineIntel\n| flags : fpu hypervisor\n"
)

// roce makes both ports RoCE.
var roce = func() string {
	text := ""
	for i, p := range []string{port0, port1} {
		n := string(rune('0' + i))
		text += p + "link_layer = Ethernet\n" + p + "rate = 400 Gb/sec (4X NDR)\n" +
			p + "gids/0 = fe80:0000:0000:0000:0000:00ff:fe00:000" + n + "\n" + p + "gid_attrs/types/0 = RoCE v2\n" + p + "gid_attrs/ndevs/0 = rail" + n + "\n" +
			p + "gids/3 = 0000:0000:0000:0000:0000:ffff:0a00:000" + n + "\n" + p + "gid_attrs/types/3 = RoCE v2\n" + p + "gid_attrs/ndevs/3 = rail" + n + "\n" +
			"sys/class/net/rail" + n + "/mtu = 9000\nsys/class/net/rail" + n + "/device -> ../../../" + strings.TrimPrefix([]string{nic0, nic1}[i], "sys/") + "\n"
	}
	return text
}()

// entry is a path with the lines that describe it.
type entry struct {
	path  string
	lines []string // the first behind the path, the others with their "|"
}

// flat takes a tree's text apart.
func flat(text string) []entry {
	var list []entry
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case line[0] == '|':
			last := &list[len(list)-1]
			last.lines = append(last.lines, line)
		default:
			name, rest, _ := strings.Cut(line, " ")
			full := path.Join(section, name)
			if strings.HasSuffix(name, "/") {
				full += "/"
			}
			list = append(list, entry{full, []string{strings.TrimSpace(rest)}})
		}
	}
	return list
}

// patched lays lines over a tree: "path = text" replaces, "-path" takes away what
// lies there and below.
func patched(text, patch string) string {
	list := flat(text)
	for _, p := range flat(patch) {
		name, away := strings.CutPrefix(p.path, "-")
		name = strings.TrimSuffix(name, "/")
		list = slices.DeleteFunc(list, func(e entry) bool {
			own := strings.TrimSuffix(e.path, "/")
			return own == name || away && strings.HasPrefix(own, name+"/")
		})
		if !away {
			list = append(list, p)
		}
	}
	var b strings.Builder
	for _, e := range list {
		b.WriteString(strings.TrimSpace(e.path+" "+e.lines[0]) + "\n")
		for _, l := range e.lines[1:] {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

func metal(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/metal.tree")
	require.NoError(t, err)
	return string(data)
}

func ptr[T any](v T) *T { return &v }

// twoGPUs is what NVML says of the healthy machine.
func twoGPUs() *nvml.Snapshot {
	s := nvmltest.H200Pair().Data
	for i, a := range []string{"0000:03:00.0", "0000:83:00.0"} {
		s.Inventory[i].PCIAddress, s.Inventory[i].Nodes = a, []int{i}
		st := s.Statuses[s.Inventory[i].UUID]
		st.PCIe = nvml.PCIe{Generation: ptr(5), Width: ptr(16)}
		s.Statuses[s.Inventory[i].UUID] = st
	}
	return s
}

// staged is the healthy machine with a patch: everything known, as root.
func staged(t testing.TB, patch string, change func(*Machine)) *Machine {
	t.Helper()
	tree, err := sysfs.ParseTree(patched(metal(t), patch))
	require.NoError(t, err)
	m := &Machine{Files: tree, NVML: twoGPUs(), Env: map[string]string{}}
	m.Facts = Facts{
		Hostname: "lab-host-7", UverbsDenied: []string{}, DMABuf: ptr(true), DMABufHCA: map[string]bool{"mlx5_0": true, "mlx5_1": true}, NCCL: "2.28.3",
		Config: map[topo.Address]PCIConfig{"0000:04:00.0": {MaxReadRequest: 4096}, "0000:84:00.0": {MaxReadRequest: 4096}},
	}
	for _, a := range []topo.Address{"0000:02:00.0", "0000:02:01.0", "0000:82:00.0", "0000:82:01.0"} {
		m.Facts.Config[a] = PCIConfig{ACS: ptr(uint16(1))}
	}
	if change != nil {
		change(m)
	}
	if m.System == nil {
		opts := topo.ReadOptions{}
		if m.NVML != nil {
			opts.GPUs = fromnvml.Source(m.NVML)
		}
		m.System, err = topo.Read(tree, opts)
		require.NoError(t, err)
	}
	return m
}
