package doctor

import (
	"path"
	"strings"
)

var gpuDirectChecks = []Check{
	{16, "gpudirect", "RDMA devices can reach GPU memory, by nvidia_peermem or dma-buf", "/sys/module/nvidia_peermem, /sys/kernel/mm/memory_peers, /proc/driver/nvidia/version", Critical, examineGPUDirect},
	{17, "dmabuf", "GPUs export dma-bufs and the RDMA devices take them", "CUDA attribute 124, ibv_reg_dmabuf_mr; --probe", Warning, examineDMABuf},
}

const driverVersion = "proc/driver/nvidia/version"

func examineGPUDirect(x *exam) {
	switch {
	case len(x.gpus()) == 0:
		x.notApplicable(noGPU)
		return
	case len(x.cards()) == 0:
		x.notApplicable(noCard)
		return
	}
	if version, ok := x.text("sys/module/nvidia_peermem/version"); ok {
		x.pass("", "nvidia_peermem is loaded", Evidence{"sys/module/nvidia_peermem/version", version})
		return
	}
	if x.read.IsDir("sys/module/nvidia_peermem") {
		x.pass("", "nvidia_peermem is loaded", Evidence{"sys/module/nvidia_peermem", "there"})
		return
	}
	peers, _, _ := x.read.Names("sys/kernel/mm/memory_peers")
	for _, name := range peers {
		if strings.HasPrefix(name, "nv_mem") && x.read.IsDir(path.Join("sys/kernel/mm/memory_peers", name)) {
			x.pass("", "a peer memory client of NVIDIA is loaded", Evidence{path.Join("sys/kernel/mm/memory_peers", name), "there"})
			return
		}
	}
	driver, ok := x.text(driverVersion)
	open := strings.Contains(driver, "Open Kernel Module")
	first, _, _ := strings.Cut(driver, "\n")
	evidence := Evidence{driverVersion, strings.Join(strings.Fields(first), " ")}
	switch {
	case x.Facts.DMABuf != nil && *x.Facts.DMABuf:
		x.pass("", "the GPUs export dma-bufs", Evidence{"CUDA attribute 124", "1"})
	case ok && open:
		x.pass("", "the open kernel modules export dma-bufs", evidence)
	case !ok && x.Facts.DMABuf == nil:
		x.unknown("", "the driver's version is not to be seen from here")
	case !x.mellanox():
		x.unknown("", "nvidia_peermem is not loaded; other vendors' drivers than NVIDIA's can have a way of their own", evidence)
	default:
		x.fail(Critical, "", fault{
			"neither nvidia_peermem nor dma-buf is there: GPU memory goes through the CPU's", "the module is not loaded, and the proprietary kernel modules export no dma-bufs",
			"modprobe nvidia-peermem, or install the open kernel modules",
		}, evidence, Evidence{"sys/module/nvidia_peermem", "not there"})
	}
}

// mellanox reports whether a card needs nvidia_peermem where there is no dma-buf.
func (x *exam) mellanox() bool {
	for _, h := range x.cards() {
		for _, a := range h.PCI {
			if d, ok := x.System.Device(a); ok && d.Vendor == vendorMellanox {
				return true
			}
		}
	}
	return false
}

const vendorMellanox = 0x15b3

func examineDMABuf(x *exam) {
	switch {
	case len(x.gpus()) == 0:
		x.notApplicable(noGPU)
		return
	case len(x.cards()) == 0:
		x.notApplicable(noCard)
		return
	case x.Facts.DMABuf == nil:
		x.unknown("", "CUDA has to be asked: run with --probe")
		return
	case !*x.Facts.DMABuf:
		x.fail(Warning, "", fault{"the GPUs export no dma-bufs", "the proprietary kernel modules, or a kernel before 5.12", "install the open kernel modules, or use nvidia_peermem"},
			Evidence{"CUDA attribute 124", "0"})
		return
	}
	for _, h := range x.cards() {
		takes, ok := x.Facts.DMABufHCA[h.Name]
		switch {
		case !ok:
			x.unknown(h.Name, "the device has to be opened: run with --probe")
		case !takes:
			x.fail(Warning, h.Name, fault{"the device takes no dma-bufs", "an rdma-core before 34, or a driver without dma-bufs", "a newer rdma-core and kernel, or nvidia_peermem"},
				Evidence{"ibv_reg_dmabuf_mr", "EOPNOTSUPP"})
		default:
			x.pass(h.Name, "the device takes dma-bufs", Evidence{"ibv_reg_dmabuf_mr", "supported"})
		}
	}
}
