// Package limit knows how fast the links between the GPUs of a run can carry
// data, and what was measured over them.
//
// Each process collects Facts, one of them puts those of all together with Find,
// and Expected says what a result should reach. What is not known stays unknown:
// no limit is guessed, and without a measurement nothing is judged.
package limit

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
)

// Facts are what one process knows of its GPUs' links. They marshal to JSON.
type Facts struct {
	// Machine tells machines apart: the kernel's boot id, or the host's name.
	Machine string
	Host    string
	GPUs    []GPU
	// Ports are those that NCCL may use for other machines, if asked for.
	Ports []Port `json:",omitempty"`
	// Problem is why the links are not known, or empty.
	Problem string `json:",omitempty"`
	// HostID is NCCL_HOSTID. Off says which variable keeps NCCL from NVLink,
	// and NetOff from the RDMA devices; they are empty where none does.
	HostID, Off, NetOff string `json:",omitempty"`
}

// GPU is a GPU that takes part.
type GPU struct {
	Address string // as NVML writes it
	Name    string
	MIG     bool     `json:",omitempty"`
	Bundles []Bundle `json:",omitempty"`
	// Fabric is the NVLink fabric of several machines that the GPU is in.
	Fabric string `json:",omitempty"`
	// Refused are GPUs that it may not reach by NVLink, by address, with why.
	Refused map[string]string `json:",omitempty"`
}

// Bundle is NVLinks of a GPU that are active and alike.
type Bundle struct {
	Count   int
	Version nvml.LinkVersion
	// Rate is the payload of a link and direction in GB/s; nil is unknown.
	Rate   *float64 `json:",omitempty"`
	Switch bool     `json:",omitempty"`
	Peer   string   `json:",omitempty"` // of a GPU, empty where it is not known
}

// Port is a port of an RDMA device that is up.
type Port struct {
	Name string // "mlx5_0 port 1"
	// Rate is in Gb/s.
	Rate float64
	Bond bool `json:",omitempty"`
}

// Source is the driver's library, open.
type Source interface {
	nvml.Source
	Close() error
}

// Machine is what a process asks.
type Machine struct {
	// NVML opens the driver's library. Nil is a program without it.
	NVML func() (Source, error)
	// Files is the root of the file system.
	Files fs.FS
	// Lookup finds variables of the environment.
	Lookup func(string) (string, bool)
}

// bootID is the kernel's name for this run of it.
const bootID = "proc/sys/kernel/random/boot_id"

// Collect asks about the GPUs at the PCI addresses, and about the RDMA devices
// where the run has more machines. It does not fail: what could not be found out
// says so.
func (m Machine) Collect(host string, addresses []string, network bool) *Facts {
	f := &Facts{Host: host, Machine: host}
	if id, err := fs.ReadFile(m.Files, bootID); err == nil && len(id) > 0 {
		f.Machine = strings.TrimSpace(string(id))
	}
	m.environment(f)
	if network {
		f.Ports = m.ports()
	}
	if err := m.gpus(f, addresses); err != nil {
		f.Problem = err.Error()
	}
	return f
}

func (m Machine) environment(f *Facts) {
	f.HostID, _ = m.Lookup("NCCL_HOSTID")
	for _, v := range []struct {
		into        *string
		name, value string
	}{
		{&f.Off, "NCCL_P2P_DISABLE", "1"}, {&f.Off, "NCCL_P2P_LEVEL", "LOC"}, {&f.Off, "NCCL_P2P_LEVEL", "0"},
		{&f.NetOff, "NCCL_IB_DISABLE", "1"}, {&f.NetOff, "NCCL_NET", "Socket"},
	} {
		if got, ok := m.Lookup(v.name); ok && strings.EqualFold(strings.TrimSpace(got), v.value) {
			*v.into = v.name + "=" + v.value
		}
	}
}

func (m Machine) gpus(f *Facts, addresses []string) (err error) {
	if m.NVML == nil {
		return errors.New("this program has no NVML")
	}
	source, err := m.NVML()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	// What could be read stands beside the error: a lost GPU is of no matter
	// unless it is one of ours.
	all, problem := source.GPUs()
	for _, address := range addresses {
		g, ok := nvml.ByPCIAddress(all, address)
		if !ok {
			return errors.Join(fmt.Errorf("NVML has no GPU at %s", address), problem)
		}
		links, err := source.Links(g.UUID)
		if err != nil {
			return err
		}
		made := GPU{Address: g.PCIAddress, Name: g.Name, MIG: g.MIG != nil && g.MIG.Enabled, Bundles: bundles(links), Refused: refused(source, g, all)}
		if g.Fabric != nil && g.Fabric.Cluster != "" {
			made.Fabric = fmt.Sprintf("%s clique %d", g.Fabric.Cluster, g.Fabric.Clique)
		}
		f.GPUs = append(f.GPUs, made)
	}
	return nil
}

// refused are the GPUs that one may not reach by NVLink. A driver that does not
// tell refuses none.
func refused(source nvml.Source, g nvml.GPU, all []nvml.GPU) map[string]string {
	list := map[string]string{}
	for _, other := range all {
		if other.UUID == g.UUID {
			continue
		}
		if pair, err := source.Pair(g.UUID, other.UUID); err == nil && pair.NVLink != nil && *pair.NVLink != nvml.P2POK {
			list[other.PCIAddress] = pair.NVLink.String()
		}
	}
	return list
}

func bundles(links []nvml.Link) (list []Bundle) {
next:
	for _, l := range links {
		if !l.Up() {
			continue
		}
		made := Bundle{Count: 1, Switch: l.PeerType == nvml.PeerSwitch}
		if !made.Switch {
			made.Peer = l.Peer
		}
		if l.Version != nil {
			made.Version = *l.Version
		}
		if rate, ok := l.Rate(); ok {
			made.Rate = &rate
		}
		for i := range list {
			if list[i].like(made) {
				list[i].Count++
				continue next
			}
		}
		list = append(list, made)
	}
	return list
}

func (b Bundle) like(other Bundle) bool {
	same := b.Rate == nil && other.Rate == nil || b.Rate != nil && other.Rate != nil && *b.Rate == *other.Rate
	return same && b.Version == other.Version && b.Switch == other.Switch && b.Peer == other.Peer
}

// ports lists the ports that are up, of what NCCL_IB_HCA leaves.
func (m Machine) ports() (list []Port) {
	system, err := topo.Read(m.Files, topo.ReadOptions{})
	if err != nil {
		return nil
	}
	choice, _ := m.Lookup("NCCL_IB_HCA")
	for _, h := range system.HCAs {
		if h.Management || h.Kind == topo.KindSoftware {
			continue
		}
		for _, p := range h.Ports {
			if up, known := p.Usable(); known && up && p.RateGbps > 0 && chosen(choice, h.Name, p.Number) {
				list = append(list, Port{Name: fmt.Sprintf("%s port %d", h.Name, p.Number), Rate: p.RateGbps, Bond: h.Kind == topo.KindBond})
			}
		}
	}
	return list
}

// chosen reports whether NCCL_IB_HCA, "[^][=]name[:port],...", leaves a port.
// Without = the names are beginnings.
func chosen(list, name string, port int) bool {
	list = strings.TrimSpace(list)
	if list == "" {
		return true
	}
	list, not := strings.CutPrefix(list, "^")
	list, exact := strings.CutPrefix(list, "=")
	for _, item := range strings.Split(list, ",") {
		want, number, one := strings.Cut(strings.TrimSpace(item), ":")
		if want != "" && (name == want || !exact && strings.HasPrefix(name, want)) && (!one || number == fmt.Sprint(port)) {
			return !not
		}
	}
	return not
}
