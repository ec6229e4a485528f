package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/topo"
)

var numaChecks = []Check{
	{27, "near-hca", "every GPU may use the RDMA device that is nearest to it", "NCCL_IB_HCA, the topology", Warning, examineNearHCA},
	{28, "numa-known", "the NUMA node of every GPU and RDMA device is known", "/sys/bus/pci/devices/*/numa_node", Warning, examineNUMAKnown},
	{29, "cpuset", "the process may run on CPUs near to its GPUs, or to its RDMA devices where there is no GPU", "/proc/PID/status", Warning, examineCPUSet},
	{33, "numa-balancing", "the kernel does not move pages between nodes by itself", "/proc/sys/kernel/numa_balancing", Info, examineBalancing},
}

func examineNearHCA(x *exam) {
	gpus := x.visible()
	switch {
	case len(gpus) == 0:
		x.notApplicable(noGPU)
		return
	case len(x.cards()) == 0:
		x.notApplicable(noCard)
		return
	}
	v, set := x.conf.get("NCCL_IB_HCA")
	if !set && !x.conf.known {
		x.unknown("", noEnvironment)
		return
	}
	evidence := Evidence{"environment", "no NCCL_IB_HCA"}
	if set {
		evidence = v.evidence()
	}
	var s selector
	if set {
		s = parseSelector(v.value)
	}
	for _, g := range gpus {
		x.nearFor(g, s, evidence)
	}
}

func (x *exam) nearFor(g *topo.GPU, s selector, evidence Evidence) {
	own, known := g.NUMA.Known()
	var best, allowed *topo.HCA
	for _, c := range x.System.HCAsFor(g) {
		h := c.Device.(*topo.HCA)
		if !c.Usable {
			continue
		}
		if best == nil {
			best = h
		}
		if len(s.words) == 0 || slices.ContainsFunc(h.Ports, func(p topo.Port) bool { return s.matches(h.Name, p.Number) }) || len(h.Ports) == 0 && s.matches(h.Name, 0) {
			allowed = h
			break
		}
	}
	switch {
	case best == nil:
		x.unknown(g.Label(), "no RDMA device can be used now")
	case !known:
		x.unknown(g.Label(), "its NUMA node is not known: "+g.NUMA.From)
	case allowed == nil:
		x.fail(Warning, g.Label(), fault{"the selection leaves it no usable RDMA device", "NCCL_IB_HCA names absent or inactive devices", "see hca-selection"}, evidence)
	default:
		there, ok := allowed.NUMA.Known()
		near, nearOK := best.NUMA.Known()
		switch {
		case !ok:
			x.unknown(g.Label(), fmt.Sprintf("the NUMA node of %s is not known", allowed.Name))
		case there == own:
			x.pass(g.Label(), fmt.Sprintf("%s is on its node, %d", allowed.Name, own), evidence)
		case nearOK && near == own:
			x.fail(Warning, g.Label(), fault{
				fmt.Sprintf("it is on node %d and may use %s, on node %d, at best; %s is nearer", own, allowed.Name, there, best.Name),
				"the selection leaves out the near devices", "let NCCL_IB_HCA name " + best.Name + " too; topo --nccl-env writes it",
			}, evidence, Evidence{"the topology", g.Label() + ": " + g.NUMA.From})
		default:
			x.pass(g.Label(), fmt.Sprintf("no usable RDMA device is on its node, %d; %s is the nearest", own, allowed.Name), evidence)
		}
	}
}

func examineNUMAKnown(x *exam) {
	if len(x.hcas()) == 0 && len(x.System.GPUs) == 0 {
		x.notApplicable("there is neither an RDMA device nor a GPU")
		return
	}
	switch nodes := x.System.ComputeNodes(); {
	case len(x.System.Nodes) == 0:
		x.unknown("", "the NUMA nodes are not told")
		return
	case nodes == 1:
		x.notApplicable("the machine has one NUMA node")
		return
	}
	check := func(name string, n topo.NUMA, functions []topo.Address) {
		node, ok := n.Known()
		if ok {
			x.pass(name, fmt.Sprintf("node %d", node), Evidence{"the topology", n.From})
			return
		}
		if len(functions) == 0 {
			return // a software device without a place
		}
		if !x.files {
			x.unknown(name, "the description does not tell")
			return
		}
		if x.virtual() && x.System.Host.Flat {
			x.unknown(name, "the virtual machine does not tell: "+n.From)
			return
		}
		x.fail(Warning, name, fault{
			"its NUMA node is not known, on a machine with several", "the firmware does not tell (numa_node is -1)",
			"update the firmware; until then bind by hand, or give NCCL a topology file (NCCL_TOPO_FILE)",
		}, x.from(path.Join(functionDir(functions[0]), "numa_node"), "-1"))
	}
	for _, g := range x.System.GPUs {
		check(g.Label(), g.NUMA, []topo.Address{g.PCI})
	}
	for _, h := range x.hcas() {
		check(h.Name, h.NUMA, h.PCI)
	}
	x.otherwise("no device has a place on PCI")
}

func examineCPUSet(x *exam) {
	var devices []topo.Endpoint
	for _, g := range x.visible() {
		devices = append(devices, g)
	}
	if len(devices) == 0 {
		for _, h := range x.hcas() {
			if slices.ContainsFunc(x.selected(), func(p port) bool { return p.HCA == h }) {
				devices = append(devices, h)
			}
		}
	}
	switch {
	case len(devices) == 0:
		x.notApplicable("there is neither a GPU nor an active RDMA port")
		return
	case len(x.System.Nodes) > 0 && x.System.ComputeNodes() == 1:
		x.notApplicable("the machine has one NUMA node")
		return
	}
	file := x.process("status")
	status, _ := x.text(file)
	list, ok := keyed(status, "Cpus_allowed_list")
	allowed, err := topo.ParseCPUList(list)
	if !ok || err != nil {
		x.unknown("", "the CPUs of the process are not to be seen")
		return
	}
	evidence := Evidence{file, "Cpus_allowed_list " + list}
	var far, near []string
	for _, e := range devices {
		a := x.System.CPUsFor(e)
		switch {
		case len(a.CPUs) == 0:
			x.unknown(e.Label(), "its CPUs are not known")
		case len(a.CPUs.Intersect(allowed)) > 0:
			near = append(near, e.Label())
		default:
			far = append(far, fmt.Sprintf("%s (%s)", e.Label(), a.CPUs))
		}
	}
	switch {
	case len(near) == 0 && len(far) > 0:
		x.fail(Warning, "", fault{
			"the process may run on none of the CPUs near to " + strings.Join(far, ", "), "a binding of the launcher, or a cpuset, that does not follow the devices",
			"bind by device: topo exec -- program; or start the container with CPUs of that node",
		}, evidence)
	case len(far) > 0:
		// One process of several: each has its own GPU.
		x.pass("", fmt.Sprintf("near to %s, and not to %s: give each process its own devices (CUDA_VISIBLE_DEVICES, NCCL_IB_HCA) to judge them one by one", strings.Join(near, ", "), strings.Join(far, ", ")), evidence)
	case len(near) > 0:
		x.pass("", "the process may run near to "+strings.Join(near, ", "), evidence)
	}
}

func examineBalancing(x *exam) {
	const file = "proc/sys/kernel/numa_balancing"
	if len(x.hcas()) == 0 && len(x.gpus()) == 0 {
		x.notApplicable("there is neither an RDMA device nor a GPU")
		return
	}
	if len(x.System.Nodes) > 0 && x.System.ComputeNodes() == 1 {
		x.notApplicable("the machine has one NUMA node")
		return
	}
	switch v, ok := x.number(file); {
	case !ok && x.read.IsDir("proc/sys/kernel"):
		x.notApplicable("this kernel does not balance")
	case !ok:
		x.unknown("", "the kernel's setting is not to be seen")
	case v&1 == 1:
		x.fail(Info, "", fault{"the kernel moves pages between nodes, and unmaps them to see who uses them", "the default of many distributions", "sysctl kernel.numa_balancing=0"}, Evidence{file, fmt.Sprint(v)})
	default:
		x.pass("", "off", Evidence{file, fmt.Sprint(v)})
	}
}
