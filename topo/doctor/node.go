package doctor

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/internal/printable"
	"github.com/gofabric/gofabric/topo"
)

// Node is what a machine tells its peers: enough to compare, and nothing that is
// anybody's secret.
type Node struct {
	Hostname string            `json:"hostname"`
	NCCL     string            `json:"nccl,omitempty"`
	Driver   string            `json:"driver,omitempty"` // of the GPUs
	Settings map[string]string `json:"settings,omitempty"`
	HCAs     []NodeHCA         `json:"hcas,omitempty"`
	GPUs     map[string]int    `json:"gpus,omitempty"` // count by model
}

// NodeHCA is an RDMA device of a Node.
type NodeHCA struct {
	Name     string     `json:"name"`
	Model    string     `json:"model,omitempty"`
	BoardID  string     `json:"boardID,omitempty"`
	Firmware string     `json:"firmware,omitempty"`
	Ports    []NodePort `json:"ports,omitempty"`
}

// NodePort is a port of a NodeHCA.
type NodePort struct {
	Number    int      `json:"number"`
	State     string   `json:"state,omitempty"`
	LinkLayer string   `json:"linkLayer,omitempty"`
	RateGbps  float64  `json:"rateGbps,omitempty"`
	MTU       *int     `json:"mtu,omitempty"`
	GIDKinds  []string `json:"gidKinds,omitempty"` // sorted; RoCE only
}

func (n Node) port(device string, number int) (NodePort, bool) {
	for _, h := range n.HCAs {
		for _, p := range h.Ports {
			if h.Name == device && p.Number == number {
				return p, true
			}
		}
	}
	return NodePort{}, false
}

// ofOneMachine are settings that name what each machine has for itself.
var ofOneMachine = map[string]bool{"CUDA_VISIBLE_DEVICES": true, "NCCL_TOPO_FILE": true, "NCCL_CONF_FILE": true, "NCCL_DEBUG": true}

// Summarize takes out of a machine what its peers compare.
func Summarize(m *Machine) Node {
	x := newExam(m)
	n := Node{Hostname: m.Facts.Hostname, NCCL: m.Facts.NCCL, Settings: map[string]string{}, GPUs: map[string]int{}}
	for name, s := range x.conf.values {
		if !ofOneMachine[name] && slices.Contains(EnvNames(), name) {
			n.Settings[name] = s.value
		}
	}
	if m.NVML != nil {
		n.Driver = m.NVML.Versions.Driver
	}
	for _, g := range x.System.GPUs {
		n.GPUs[g.Name]++
	}
	for _, h := range x.hcas() {
		out := NodeHCA{Name: h.Name, Model: h.Model, BoardID: h.BoardID, Firmware: h.Firmware}
		for _, p := range h.Ports {
			q := NodePort{Number: p.Number, State: string(p.State), LinkLayer: string(p.LinkLayer), RateGbps: p.RateGbps}
			if bytes, _, _, ok := x.mtu(port{h, p}); ok && p.LinkLayer == topo.Ethernet {
				q.MTU = &bytes
			}
			if p.LinkLayer == topo.Ethernet {
				for _, kind := range slices.Sorted(maps.Keys(kinds(p))) {
					q.GIDKinds = append(q.GIDKinds, string(kind))
				}
			}
			out.Ports = append(out.Ports, q)
		}
		n.HCAs = append(n.HCAs, out)
	}
	return n
}

// Difference is what two machines do not have in common.
type Difference struct {
	What        string // "NCCL", "NCCL_IB_TC", "GIDs of mlx5_0 port 1"
	Here, There string
	Severity    Severity
	Fix         string
}

// Compare lists how two machines differ in what should be alike. Rates, MTUs and
// firmware are compared by checks of their own.
func Compare(here, there Node) []Difference {
	var list []Difference
	differ := func(s Severity, what, a, b, fix string) {
		if a != b {
			list = append(list, Difference{what, a, b, s, fix})
		}
	}
	if here.NCCL != "" && there.NCCL != "" {
		differ(Warning, "NCCL", here.NCCL, there.NCCL, "the same NCCL everywhere")
	}
	if here.Driver != "" && there.Driver != "" {
		differ(Info, "the GPUs' driver", here.Driver, there.Driver, "the same driver everywhere")
	}
	set := maps.Clone(here.Settings)
	if set == nil {
		set = map[string]string{}
	}
	maps.Copy(set, there.Settings)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		differ(Warning, name, here.Settings[name], there.Settings[name], "the same settings for all ranks of a job")
	}
	differ(Warning, "the set of RDMA devices", shape(here), shape(there), "if the machines should be alike, look for a missing card or driver")
	for _, h := range here.HCAs {
		for _, p := range h.Ports {
			q, ok := there.port(h.Name, p.Number)
			if !ok {
				continue
			}
			name := fmt.Sprintf("%s port %d", h.Name, p.Number)
			differ(Warning, "the link layer of "+name, p.LinkLayer, q.LinkLayer, "one fabric for one rail")
			if p.LinkLayer == q.LinkLayer {
				differ(Warning, "the set of kinds of GIDs of "+name, strings.Join(p.GIDKinds, "; "), strings.Join(q.GIDKinds, "; "), "the same kinds of addresses on both interfaces")
			}
		}
	}
	return list
}

func shape(n Node) string {
	var words []string
	for _, h := range n.HCAs {
		words = append(words, path.Join(h.Name, h.Model))
	}
	return strings.Join(words, " ")
}

// Check tells what is wrong with a Node that came from outside: more devices than
// a machine has, or texts that are none.
func (n *Node) Check() error {
	const most = 1024
	ports := 0
	for _, h := range n.HCAs {
		ports += len(h.Ports)
	}
	if len(n.HCAs) > most || ports > most || len(n.Settings) > most || len(n.GPUs) > most {
		return fmt.Errorf("doctor: a node has more than %d devices, ports or settings", most)
	}
	shorten := func(texts ...*string) {
		for _, text := range texts {
			*text = printable.Text(clip(*text))
		}
	}
	shorten(&n.Hostname, &n.NCCL, &n.Driver)
	for i := range n.HCAs {
		h := &n.HCAs[i]
		shorten(&h.Name, &h.Model, &h.BoardID, &h.Firmware)
		for j := range h.Ports {
			p := &h.Ports[j]
			if len(p.GIDKinds) > mostKinds {
				return fmt.Errorf("doctor: a port of a node has more than %d kinds of GIDs", mostKinds)
			}
			shorten(&p.State, &p.LinkLayer)
			for k := range p.GIDKinds {
				shorten(&p.GIDKinds[k])
			}
		}
	}
	settings := make(map[string]string, len(n.Settings))
	for name, value := range n.Settings {
		shorten(&name)
		settings[name] = printable.Text(value) // whole, as it is compared with this machine's
	}
	n.Settings = settings
	gpus := make(map[string]int, len(n.GPUs))
	for name, count := range n.GPUs {
		shorten(&name)
		gpus[name] = count
	}
	n.GPUs = gpus
	return nil
}

// mostKinds bounds the kinds of GIDs that a port of a Node may have.
const mostKinds = 16
