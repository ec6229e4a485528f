package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/topo"
)

var topologyFileChecks = []Check{
	{30, "topology-file", "the topology file that NCCL is given describes this machine", "NCCL_TOPO_FILE, /var/run/nvidia-topologyd/virtualTopology.xml", Critical, examineTopologyFile},
}

const virtualTopology = "/var/run/nvidia-topologyd/virtualTopology.xml"

var topologyFix = "generate it again on this machine: topo --nccl-xml, or NCCL_TOPO_DUMP_FILE without NCCL_TOPO_FILE"

func examineTopologyFile(x *exam) {
	name, from := virtualTopology, "NCCL's default"
	v, set := x.conf.get("NCCL_TOPO_FILE")
	if set {
		name, from = v.value, v.from
	}
	text, ok := x.text(strings.TrimPrefix(name, "/"))
	evidence := Evidence{from, "NCCL_TOPO_FILE=" + name}
	switch {
	case !ok && set && !x.files:
		x.unknown("", "the file is not in the description", evidence)
		return
	case !ok && set:
		x.fail(Critical, "", fault{"the file that NCCL_TOPO_FILE names cannot be read", "a path of another machine or container", "unset it, or mount the file"}, evidence)
		return
	case !ok && !x.conf.known:
		x.unknown("", noEnvironment)
		return
	case !ok:
		x.notApplicable("no topology file is given")
		return
	}
	evidence.Source = name
	evidence.Value = "from " + from
	told, _, err := topo.Parse([]byte(text))
	var invalid *topo.InvalidError
	switch {
	case errors.As(err, &invalid):
		x.fail(Critical, invalid.Device, fault{invalid.Reason, "the file was put together by hand", topologyFix}, evidence)
		return
	case err != nil:
		x.fail(Critical, "", fault{"the file cannot be read: " + err.Error(), "it is damaged or no topology", topologyFix}, evidence)
		return
	}
	for _, g := range told.GPUs {
		x.fromTopologyFile("a GPU", g.PCI, evidence)
		for _, l := range g.NVLinks {
			if l.Address == g.PCI && l.Peer == topo.PeerGPU {
				x.fail(Critical, string(g.PCI), fault{"the file gives a GPU an NVLink to itself", "the file was put together by hand", topologyFix}, evidence)
			}
		}
	}
	for _, h := range told.HCAs {
		if len(h.PCI) > 0 {
			x.fromTopologyFile("a network device", h.PCI[0], evidence)
		}
	}
	for _, w := range told.Warnings {
		switch w.Code {
		case topo.WarnNodeOverlap, topo.WarnTruncatedMask, topo.WarnConflictingMask:
			x.fail(Critical, w.Device, fault{w.Text, "wrong affinity masks", topologyFix}, evidence)
		}
	}
	if online := x.System.Host.OnlineCPUs; online != nil {
		for _, n := range told.Nodes {
			if own, listed := x.System.Node(n.ID); len(n.CPUs) > 0 && (len(n.CPUs.Intersect(online)) == 0 || listed && len(own.CPUs) > 0 && len(n.CPUs.Intersect(own.CPUs)) == 0) {
				x.fail(Critical, fmt.Sprintf("node%d", n.ID), fault{
					fmt.Sprintf("the file gives node %d the CPUs %s, which are not this machine's", n.ID, n.CPUs), "wrong affinity masks, or the file of another machine", topologyFix,
				}, evidence)
			}
		}
	}
	if len(x.findings) == 0 {
		x.pass("", fmt.Sprintf("it describes %s and %s, all of them here", plural(len(told.GPUs), "GPU"), plural(len(told.HCAs), "network device")), evidence)
	}
}

// fromTopologyFile looks for a function that the file names. The slot is enough:
// NCCL zeroes a NIC's function.
func (x *exam) fromTopologyFile(what string, a topo.Address, evidence Evidence) {
	if a == "" || len(x.System.PCI) == 0 {
		return
	}
	for _, d := range x.System.PCI {
		if d.Address.Slot() == a.Slot() {
			return
		}
	}
	x.fail(Critical, string(a), fault{"the file names " + what + " that is not here", "the file of another machine", topologyFix}, evidence)
}
