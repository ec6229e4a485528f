package limit

import (
	"fmt"
	"math"

	"github.com/gofabric/gofabric/nvml"
)

// Path is the way that the data of a run takes, and what its links carry.
type Path struct {
	// Limit is the payload that the narrowest GPU of the run can send, and
	// receive, in GB/s. It is 0 where it is not known.
	Limit float64
	// Name says what makes the limit: "NVLink 4.0, 18 links x 25 GB/s".
	Name string
	// Source says who told.
	Source string
	// Unknown is why there is no limit, or empty.
	Unknown string

	// What Expected goes by: of NVLinks, all alike.
	gpu     string
	version nvml.LinkVersion
	links   int
	ranks   int
}

// Known reports whether there is a limit.
func (p Path) Known() bool { return p.Limit > 0 }

// String is one line: "NVLink 4.0, 18 links x 25 GB/s = 450 GB/s in each
// direction (NVML)", or why it is not known.
func (p Path) String() string {
	if !p.Known() {
		return "unknown: " + p.Unknown
	}
	return fmt.Sprintf("%s = %s GB/s in each direction (%s)", p.Name, rate(p.Limit), p.Source)
}

func rate(v float64) string { return fmt.Sprintf("%g", math.Round(v*1000)/1000) }

func unknown(format string, args ...any) Path { return Path{Unknown: fmt.Sprintf(format, args...)} }

// Find puts together what all processes found. A nil entry is a process that did
// not look.
func Find(parts []*Facts) Path {
	ranks := 0
	machines := map[string][]*Facts{}
	var order []string
	for i, f := range parts {
		if f == nil {
			return unknown("process %d did not look for its links; give all processes the same flags", i)
		}
		if f.Problem != "" {
			return unknown("%s: %s", f.Host, f.Problem)
		}
		ranks += len(f.GPUs)
		if machines[f.Machine] == nil {
			order = append(order, f.Machine)
		}
		machines[f.Machine] = append(machines[f.Machine], f)
	}
	for _, list := range machines {
		for _, f := range list {
			if f.HostID != list[0].HostID {
				return unknown("NCCL_HOSTID makes several hosts of one machine; what lies between them is simulated")
			}
		}
	}
	switch {
	case ranks < 2:
		return unknown("one GPU sends nothing over a link")
	case len(order) == 1:
		return nvlink(parts, ranks)
	}
	var path Path
	for _, name := range order {
		next := port(machines[name])
		if !next.Known() {
			return next
		}
		if path.Limit == 0 || next.Limit < path.Limit {
			path = next
		}
	}
	path.ranks = ranks
	return path
}

// nvlink is the path in one machine: the links of each GPU to switches, and to
// others that take part. No GPU can send or receive more than they carry.
func nvlink(parts []*Facts, ranks int) Path {
	part := map[string]bool{}
	for _, f := range parts {
		if f.Off != "" {
			return unknown("%s keeps NCCL from NVLink", f.Off)
		}
		for _, g := range f.GPUs {
			if part[g.Address] {
				return unknown("two ranks share the GPU at %s", g.Address)
			}
			part[g.Address] = true
		}
	}
	var path Path
	for _, f := range parts {
		for _, g := range f.GPUs {
			next := g.path(part)
			if !next.Known() {
				return next
			}
			switch {
			case path.Limit == 0 || next.Limit < path.Limit:
				if path.Limit > 0 {
					next.gpu = ""
				}
				path = next
			case next.gpu != path.gpu || next.Limit != path.Limit:
				path.gpu = "" // mixed: no measurement is of them
			}
		}
	}
	path.ranks = ranks
	return path
}

func (g GPU) path(part map[string]bool) Path {
	if g.MIG {
		return unknown("the GPU at %s is partitioned (MIG), and partitions have no NVLink", g.Address)
	}
	path := Path{gpu: g.Name, Source: "NVML"}
	alike, each := true, 0.0
	for _, b := range g.Bundles {
		switch {
		case !b.Switch && b.Peer == "":
			return unknown("the driver does not tell where NVLinks of the GPU at %s end", g.Address)
		case !b.Switch && !part[b.Peer]:
			continue
		case b.Rate == nil:
			return unknown("the rate of the NVLinks (%v) of the GPU at %s is not known", b.Version, g.Address)
		}
		if path.links > 0 && (b.Version != path.version || *b.Rate != each) {
			alike = false
		}
		path.version, each = b.Version, *b.Rate
		path.links += b.Count
		path.Limit += float64(b.Count) * *b.Rate
	}
	if path.links == 0 {
		return unknown("the GPU at %s has no active NVLink to the others, and whether NCCL goes by PCIe or through the host's memory is not known", g.Address)
	}
	for address := range part {
		if why, ok := g.Refused[address]; ok {
			return unknown("the GPUs at %s and %s do not reach each other by NVLink: %s", g.Address, address, why)
		}
	}
	path.Name = fmt.Sprintf("NVLink %v, %d links x %s GB/s", path.version, path.links, rate(each))
	if !alike {
		path.Name, path.gpu = fmt.Sprintf("%d NVLinks", path.links), ""
	}
	return path
}

// port is the limit of a machine with one GPU in the run and one port to use.
// With several GPUs, how much of their traffic leaves the machine depends on how
// NCCL orders them.
func port(list []*Facts) Path {
	f, gpus := list[0], 0
	for _, other := range list {
		gpus += len(other.GPUs)
	}
	const bitsOfByte = 8
	switch {
	case f.NetOff != "":
		return unknown("%s: %s keeps NCCL from the RDMA devices, and a socket's limit is not known", f.Host, f.NetOff)
	case gpus > 1:
		return unknown("%s has %d GPUs in the run: how much of their traffic leaves it is NCCL's choice", f.Host, gpus)
	case f.GPUs[0].Fabric != "":
		return unknown("%s is in an NVLink fabric of several machines: whether NCCL uses it or the network is not known", f.Host)
	case len(f.Ports) == 0:
		return unknown("%s has no RDMA port that is up, and a socket's limit is not known", f.Host)
	case len(f.Ports) > 1:
		return unknown("%s has %d RDMA ports that are up, among which NCCL chooses; NCCL_IB_HCA=\"=name:port\" leaves one", f.Host, len(f.Ports))
	case f.Ports[0].Bond:
		return unknown("%s: %s is a bond, whose rate may be one port's", f.Host, f.Ports[0].Name)
	}
	p := f.Ports[0]
	return Path{Limit: p.Rate / bitsOfByte, Source: "sysfs", Name: fmt.Sprintf("%s at %s, %s Gb/s", p.Name, f.Host, rate(p.Rate))}
}
