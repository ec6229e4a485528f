package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
)

var gpuChecks = []Check{
	{32, "nvlink", "GPUs reach each other by all the NVLinks that their kind has", "NVML", Critical, examineNVLink},
	{39, "gpu-lost", "the driver lists every GPU that PCI shows", "/proc/driver/nvidia/gpus, /sys/bus/pci/devices", Critical, examineLostGPU},
}

// nvmlGPU is what NVML said about a GPU.
type nvmlGPU struct {
	gpu    nvml.GPU
	status nvml.Status
}

func (x *exam) nvmlStatus(g *topo.GPU) (nvmlGPU, bool) {
	if x.NVML == nil {
		return nvmlGPU{}, false
	}
	for _, n := range x.NVML.Inventory {
		if n.PCIAddress != "" && n.PCIAddress == string(g.PCI) {
			return nvmlGPU{n, x.NVML.Statuses[n.UUID]}, true
		}
	}
	return nvmlGPU{}, false
}

func label(g nvml.GPU) string { return fmt.Sprintf("GPU%d", g.Index) }

func examineNVLink(x *exam) {
	if len(x.gpus()) == 0 {
		x.notApplicable(noGPU)
		return
	}
	if x.NVML == nil || len(x.NVML.Inventory) == 0 {
		x.unknown("", "NVML was not asked: NVLinks stand in no file")
		return
	}
	gpus := x.NVML.Inventory
	most := map[string]int{}
	sums := map[string]nvml.LinkSum{}
	for _, g := range gpus {
		sums[g.UUID] = nvml.SumLinks(x.NVML.NVLinks[g.UUID])
		most[g.Name] = max(most[g.Name], sums[g.UUID].Active)
	}
	for _, g := range gpus {
		sum := sums[g.UUID]
		if most[g.Name] == 0 || g.MIG != nil && g.MIG.Enabled {
			continue // none by design, or switched off with MIG
		}
		evidence := Evidence{"NVML", fmt.Sprintf("%d of %d NVLinks active", sum.Active, sum.Links)}
		if f := g.Fabric; f != nil && (f.State == "not started" || f.State == "in progress") {
			x.fail(Critical, label(g), fault{"the GPU has not joined its NVLink fabric: CUDA waits for it", "the fabric manager does not run, or failed", "systemctl status nvidia-fabricmanager; its version must be the driver's"},
				evidence, Evidence{"NVML", "fabric " + f.State})
			continue
		}
		if sum.Active < most[g.Name] {
			x.fail(Critical, label(g), fault{
				fmt.Sprintf("%s active, and its peers of the same model have %d", plural(sum.Active, "NVLink"), most[g.Name]), "links failed to train or were switched off after errors",
				"nvidia-smi nvlink -e shows errors; reset the GPUs (nvidia-smi -r), then see the fabric manager's log",
			}, evidence)
			continue
		}
		x.pass(label(g), plural(sum.Active, "NVLink"), evidence)
	}
	for _, p := range x.NVML.Pairs {
		x.examinePair(p, gpus)
	}
	x.otherwise("the GPUs have no NVLinks")
}

func (x *exam) examinePair(p nvml.SnapshotPair, gpus []nvml.GPU) {
	at := func(uuid string) (nvml.GPU, bool) {
		i := slices.IndexFunc(gpus, func(g nvml.GPU) bool { return g.UUID == uuid })
		if i < 0 {
			return nvml.GPU{}, false
		}
		return gpus[i], true
	}
	a, ok1 := at(p.From)
	b, ok2 := at(p.To)
	if !ok1 || !ok2 || a.MIG != nil && a.MIG.Enabled || b.MIG != nil && b.MIG.Enabled {
		return
	}
	count, _ := nvml.LinksBetween(a, b, x.NVML.NVLinks[a.UUID], x.NVML.NVLinks[b.UUID])
	if count == 0 || p.NVLink == nil || *p.NVLink == nvml.P2POK || *p.NVLink == nvml.P2PUnknown {
		return
	}
	x.fail(Critical, label(a)+" to "+label(b), fault{
		fmt.Sprintf("peer access by NVLink is %q, and %s lie between them", *p.NVLink, plural(count, "NVLink")), "the fabric manager, a driver's setting, or the kernel's IOMMU",
		"see the fabric manager; nvidia-smi topo -p2p n shows all pairs; reset the GPUs",
	}, Evidence{"NVML", "P2P status by NVLink: " + p.NVLink.String()})
}

const driverGPUs = "proc/driver/nvidia/gpus"

func examineLostGPU(x *exam) {
	if len(x.gpus()) == 0 {
		x.notApplicable(noGPU)
		return
	}
	if !x.files {
		x.unknown("", "the description does not hold the driver's files")
		return
	}
	listed, there, err := x.read.Names(driverGPUs)
	if err != nil || !there {
		if x.read.IsDir("sys/module/nvidia") || x.read.Exists(driverVersion) {
			x.unknown("", "the driver is loaded, and its list of GPUs is not to be seen")
			return
		}
		x.notApplicable("no driver of NVIDIA is loaded")
		return
	}
	for _, name := range listed {
		x.read.IsDir(path.Join(driverGPUs, name)) // so that a capture keeps it
	}
	for _, g := range x.gpus() {
		evidence := Evidence{path.Join(driverGPUs, string(g.PCI)), "there"}
		if slices.Contains(listed, string(g.PCI)) {
			x.pass(g.Label(), "the driver has it", evidence)
			continue
		}
		evidence.Value = "not there"
		driver := ""
		if real, err := x.read.RealPath(path.Join(functionDir(g.PCI), "driver")); err == nil {
			driver = path.Base(real)
		}
		switch {
		case driver != "" && driver != "nvidia":
			x.add(NotApplicable, None, g.Label(), "another driver has it: "+driver, []Evidence{{path.Join(functionDir(g.PCI), "driver"), driver}})
		case x.System.Host.Container != "" || x.driverFilesHidden():
			x.unknown(g.Label(), "PCI shows it and the driver does not list it: a container sees the GPUs that it was given", evidence)
		default:
			x.fail(Critical, g.Label(), fault{
				"PCI shows the GPU and the driver does not list it", "it fell off the bus (Xid 79), or failed to start",
				"dmesg | grep -i xid; reset it, or power the machine off and on; reseat",
			}, evidence, Evidence{functionDir(g.PCI), "there"})
		}
	}
}

// driverFilesHidden reports whether something is mounted over the driver's files, as
// container runtimes do to show the GPUs that were given and no others.
func (x *exam) driverFilesHidden() bool {
	mounts, ok := x.text(x.process("mounts"))
	return !ok || strings.Contains(mounts, " /proc/driver/nvidia")
}
