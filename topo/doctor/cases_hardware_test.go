package doctor

import (
	"time"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
)

func allCases() []testCase {
	var all []testCase
	for _, list := range [][]testCase{portCases, pcieCases, configCases, gpuDirectCases, gpuCases, counterCases, fleetCases, processCases, roceCases, ncclCases, numaCases} {
		all = append(all, list...)
	}
	return all
}

var portCases = []testCase{
	{"port-state", Pass, None, "", nil},
	{"port-state", Fail, Critical, down0, env("NCCL_IB_HCA", "=mlx5_0")},
	{"port-state", Fail, Critical, roce + down0, nil}, // an address is evidence
	{"port-state", Fail, Critical, port0 + "state = 1: DOWN\n" + nic0 + "physfn -> ../0000:84:00.0\n", env("NCCL_IB_HCA", "=mlx5_0")},
	{"port-state", Unknown, None, "", described(nil)},
	{"port-state", NotApplicable, None, noCards, nil},
	{"port-state", Pass, None, down0, nil}, // nothing says that it is used: only the other one counts

	{"subnet-manager", Pass, None, "", nil},
	{"subnet-manager", Fail, Critical, port0 + "state = 2: INIT\n", nil},
	{"subnet-manager", Unknown, None, "", described(nil)},
	{"subnet-manager", NotApplicable, None, roce, nil},

	{"physical-state", Pass, None, "", nil},
	{"physical-state", Fail, Critical, down0, env("NCCL_IB_HCA", "mlx5_0,mlx5_1")},
	{"physical-state", Fail, Critical, roce + port0 + "state = 1: DOWN\n" + port0 + "phys_state = 3: Disabled\n", nil},
	{"physical-state", Unknown, None, port0 + "phys_state !EINVAL\n", nil},
	{"physical-state", NotApplicable, None, noCards, nil},

	{"port-rate", Pass, None, "", nil},
	{"port-rate", Fail, Warning, slow0, nil},
	{"port-rate", Fail, Warning, "-" + port1 + "\n", linkGbps(800)},
	{"port-rate", Fail, Info, "", linkGbps(800)}, // its twin has the same
	{"port-rate", Pass, None, "-" + port1 + "\n", linkGbps(400)},
	{"port-rate", Unknown, None, "-" + port1 + "\n", nil},
	{"port-rate", NotApplicable, None, soft, nil},

	{"port-width", Pass, None, "", nil},
	{"port-width", Pass, None, port0 + "rate = 100 Gb/sec (2X HDR)\n" + port1 + "rate = 100 Gb/sec (2X HDR)\n", nil},
	{"port-width", Fail, Warning, port0 + "rate = 100 Gb/sec (1X NDR)\n", nil},
	{"port-width", Fail, Warning, port0 + "rate = 200 Gb/sec (2X NDR)\n", nil}, // its twin has four lanes
	{"port-width", Unknown, None, "", activePort(topo.InfiniBand)},
	{"port-width", Unknown, None, port0 + "rate = 100 Gb/sec (0X HDR)\n", nil},
	{"port-width", NotApplicable, None, roce, nil},

	{"rail-rates", Pass, None, "", nil},
	{"rail-rates", Fail, Warning, slow0, nil},
	{"rail-rates", Fail, Warning, "", peer(func(n *Node) { n.HCAs[1].Ports[0].RateGbps = 200 })},
	{"rail-rates", Unknown, None, port0 + "rate !EINVAL\n", nil},
	{"rail-rates", NotApplicable, None, noCards, nil},
	{"rail-rates", NotApplicable, None, slow0, env("NCCL_IB_HCA", "=mlx5_1")},
}

var pcieCases = []testCase{
	{"pcie-width", Pass, None, "", nil},
	{"pcie-width", Fail, Critical, nic0 + "current_link_width = 8\n", nil},
	{"pcie-width", Fail, Critical, low + "current_link_width = 4\n", nil}, // switch to root port
	{"pcie-width", Pass, None, nic0 + "current_link_width = 8\n" + low + "0000:02:01.0/max_link_width = 8\n", nil},
	{"pcie-width", Unknown, None, nic0 + "current_link_width !EINVAL\n", nil},
	{"pcie-width", NotApplicable, None, noCards + noGPUs, noNVML},

	{"pcie-speed", Pass, None, "", nil},
	{"pcie-speed", Fail, Critical, nic0 + "current_link_speed = 16.0 GT/s PCIe\n", nil},
	{"pcie-speed", Pass, None, nic0 + "current_link_speed = 16.0 GT/s PCIe\n" + low + "0000:02:01.0/max_link_speed = 16.0 GT/s PCIe\n", nil},
	{"pcie-speed", Unknown, None, nic0 + "current_link_speed = Unknown\n", nil},
	{"pcie-speed", NotApplicable, None, noCards, nil},

	{"gpu-link", Pass, None, "", nil},
	{"gpu-link", Fail, Warning, gpu0 + "current_link_speed = 2.5 GT/s PCIe\n", gpuStatus(func(s *nvml.Status) { s.PCIe.Generation, s.GPUBusy = ptr(1), ptr(99) })},
	{"gpu-link", Unknown, None, gpu0 + "current_link_speed = 2.5 GT/s PCIe\n", gpuStatus(func(s *nvml.Status) { s.PCIe.Generation, s.GPUBusy = ptr(1), ptr(0) })},
	{"gpu-link", Unknown, None, gpu0 + "current_link_speed = 2.5 GT/s PCIe\n", noNVML},
	{"gpu-link", NotApplicable, None, noGPUs, noNVML},

	{"slot", Pass, None, "", nil},
	{"slot", Fail, Warning, nic0 + "current_link_width = 8\n", nil},
	{"slot", Unknown, None, nic0 + "current_link_width !EINVAL\n", nil},
	{"slot", NotApplicable, None, noCards, nil},

	{"iommu", Pass, None, "", nil},
	{"iommu", Pass, None, "-sys/kernel/iommu_groups\nsys/kernel/iommu_groups/\n", nil},
	{"iommu", Fail, Warning, nic0 + "iommu_group/type = DMA-FQ\n", nil},
	{"iommu", Unknown, None, "-" + nic0 + "iommu_group\n", nil},
	{"iommu", NotApplicable, None, noCards + noGPUs, noNVML},
}

var configCases = []testCase{
	{"max-read-request", Pass, None, "", nil},
	{"max-read-request", Fail, Info, "", func(m *Machine) { m.Facts.Config["0000:04:00.0"] = PCIConfig{MaxReadRequest: 512} }},
	{"max-read-request", Unknown, None, "", func(m *Machine) { m.Facts.Config = nil }},
	{"max-read-request", NotApplicable, None, noCards, nil},

	{"acs", Pass, None, "", nil},
	{"acs", Fail, Critical, "", func(m *Machine) { m.Facts.Config["0000:02:00.0"] = PCIConfig{ACS: ptr(uint16(0x1d))} }},
	{"acs", Unknown, None, "", func(m *Machine) { m.Facts.Config = nil }},
	{"acs", NotApplicable, None, guest, nil},
	{"acs", NotApplicable, None, noGPUs, noNVML},

	{"acs-virtual", Pass, None, guest, nil},
	{"acs-virtual", Fail, Info, guest, func(m *Machine) { m.Facts.Config["0000:02:00.0"] = PCIConfig{ACS: ptr(uint16(0x1d))} }},
	{"acs-virtual", Unknown, None, guest, func(m *Machine) { m.Facts.Config = nil }},
	{"acs-virtual", NotApplicable, None, "", nil},
}

var gpuDirectCases = []testCase{
	{"gpudirect", Pass, None, "", nil},
	{"gpudirect", Pass, None, "-sys/module/nvidia_peermem\n", nil}, // dma-buf
	{"gpudirect", Pass, None, "-sys/module/nvidia_peermem\nsys/kernel/mm/memory_peers/nv_mem/version = 1\n", func(m *Machine) { m.Facts.DMABuf = nil }},
	{"gpudirect", Fail, Critical, "-sys/module/nvidia_peermem\nproc/driver/nvidia/version = NVRM version: NVIDIA UNIX x86_64 Kernel Module 580\n", func(m *Machine) { m.Facts.DMABuf = nil }},
	{"gpudirect", Unknown, None, "-sys/module/nvidia_peermem\n-proc/driver/nvidia/version\n", func(m *Machine) { m.Facts.DMABuf = nil }},
	{"gpudirect", Unknown, None, "-sys/module/nvidia_peermem\nproc/driver/nvidia/version = NVIDIA UNIX x86_64 Kernel Module 580\n" + nic0 + "vendor = 0x1d0f\n" + nic1 + "vendor = 0x1d0f\n", func(m *Machine) { m.Facts.DMABuf = nil }},
	{"gpudirect", NotApplicable, None, noCards, nil},
	{"gpudirect", NotApplicable, None, noGPUs, noNVML},

	{"dmabuf", Pass, None, "", nil},
	{"dmabuf", Fail, Warning, "", func(m *Machine) { m.Facts.DMABuf = ptr(false) }},
	{"dmabuf", Fail, Warning, "", func(m *Machine) { m.Facts.DMABufHCA["mlx5_1"] = false }},
	{"dmabuf", Unknown, None, "", func(m *Machine) { m.Facts.DMABuf = nil }},
	{"dmabuf", Unknown, None, "", func(m *Machine) { m.Facts.DMABufHCA = nil }},
	{"dmabuf", NotApplicable, None, noCards, nil},
}

var gpuCases = []testCase{
	{"nvlink", Pass, None, "", nil},
	{"nvlink", Fail, Critical, "", func(m *Machine) {
		uuid := m.NVML.Inventory[1].UUID
		m.NVML.NVLinks[uuid] = m.NVML.NVLinks[uuid][:15]
	}},
	{"nvlink", Fail, Critical, "", func(m *Machine) { m.NVML.Inventory[0].Fabric.State = "in progress" }},
	{"nvlink", Fail, Critical, "", func(m *Machine) { m.NVML.Pairs[0].NVLink = ptr(nvml.P2PDisabled) }},
	{"nvlink", Unknown, None, "", noNVML},
	{"nvlink", NotApplicable, None, "", func(m *Machine) { m.NVML.NVLinks = nil }},
	{"nvlink", NotApplicable, None, noGPUs, noNVML},

	{"gpu-lost", Pass, None, "", nil},
	{"gpu-lost", Fail, Critical, "-proc/driver/nvidia/gpus/0000:83:00.0\n", nil},
	{"gpu-lost", Unknown, None, "-proc/driver/nvidia/gpus/0000:83:00.0\n.dockerenv =\n", nil},
	{"gpu-lost", Unknown, None, "-proc/driver/nvidia/gpus/0000:83:00.0\nproc/self/mounts = tmpfs /proc/driver/nvidia tmpfs rw 0 0\n", nil},
	{"gpu-lost", NotApplicable, None, "-proc/driver/nvidia\n-sys/module/nvidia\n", nil},
	{"gpu-lost", Pass, None, "-proc/driver/nvidia/gpus/0000:83:00.0\n" + gpu1 + "driver -> /sys/bus/pci/drivers/vfio-pci\nsys/bus/pci/drivers/vfio-pci/\n", nil},
}

var counterCases = []testCase{
	{"pcie-errors", Pass, None, "", nil},
	{"pcie-errors", Pass, None, "", watched("0000:04:00.0", 0, time.Second, 0, counters.AER, "correctable/RxErr", 0)},
	{"pcie-errors", Fail, Warning, "", watched("0000:04:00.0", 0, time.Second, 0, counters.AER, "correctable/RxErr", 3)},
	{"pcie-errors", Fail, Critical, "", watched("0000:04:00.0", 0, time.Second, 0, counters.AER, "fatal/DLP", 1)},
	{"pcie-errors", Unknown, None, nic0 + "aer_dev_correctable =\n| RxErr 2\n", nil},
	{"pcie-errors", NotApplicable, None, noCards + noGPUs, noNVML},

	{"temperature", Pass, None, "", nil},
	{"temperature", Fail, Warning, nic0 + "hwmon/hwmon0/temp1_input = 103000\n", nil},
	{"temperature", Fail, Warning, "", gpuStatus(func(s *nvml.Status) { s.ClockEvents = ptr(nvml.ClockHardwareThermal) })},
	{"temperature", Unknown, None, "-" + nic0 + "hwmon\n", nil},
	{"temperature", NotApplicable, None, noCards + noGPUs, noNVML},

	{"port-errors", Pass, None, "", nil},
	{"port-errors", Pass, None, "", watched("mlx5_0", 1, time.Second, 0, counters.Port, "symbol_error", 0)},
	{"port-errors", Fail, Warning, "", watched("mlx5_0", 1, time.Second, 0, counters.Port, "symbol_error", 9)},
	{"port-errors", Fail, Critical, "", watched("mlx5_0", 1, time.Second, 0, counters.Port, "link_downed", 1)},
	{"port-errors", Fail, Critical, roce, watched("mlx5_0", 1, time.Second, 0, counters.Ethtool, "link_down_events_phy", 1)},
	{"port-errors", Fail, Warning, port0 + "counters/symbol_error = 65535\n", nil}, // saturated
	{"port-errors", Unknown, None, port0 + "counters/symbol_error = 7\n", nil},
	{"port-errors", Unknown, None, "-" + port0 + "counters\n", nil},
	{"port-errors", NotApplicable, None, noCards, nil},

	{"transport-errors", Pass, None, "", nil},
	{"transport-errors", Fail, Warning, "", watched("mlx5_0", 1, time.Second, 0, counters.Vendor, "out_of_sequence", 9)},
	{"transport-errors", Fail, Critical, "", watched("mlx5_0", 1, time.Second, 0, counters.Vendor, "resp_remote_access_errors", 1)},
	{"transport-errors", Unknown, None, "", watched("mlx5_0", 1, time.Millisecond, 10*time.Millisecond, counters.Vendor, "out_of_sequence", 9)},
	{"transport-errors", Unknown, None, "-" + port0 + "hw_counters\n", nil},
	{"transport-errors", NotApplicable, None, noCards, nil},
}

var fleetCases = []testCase{
	{"firmware", Pass, None, "", nil},
	{"firmware", Fail, Info, mlx0 + "fw_ver = 28.39.1002\n", nil},
	{"firmware", Fail, Info, "", peer(func(n *Node) { n.HCAs[0].Firmware = "28.39.1002" })},
	{"firmware", Unknown, None, mlx0 + "fw_ver !EINVAL\n" + mlx1 + "fw_ver !EINVAL\n", nil},
	{"firmware", NotApplicable, None, noCards, nil},

	{"peers-alike", Pass, None, "", peer(func(*Node) {})},
	{"peers-alike", Fail, Warning, "", peer(func(n *Node) { n.NCCL = "2.27.5" })},
	{"peers-alike", Fail, Warning, "", both(env("NCCL_IB_TC", "106"), peer(func(*Node) {}))},
	{"peers-alike", Fail, Warning, "", peer(func(n *Node) { n.HCAs = n.HCAs[:1] })},
	{"peers-alike", Unknown, None, noCards, both(func(m *Machine) { m.Facts.NCCL, m.NVML = "", nil }, peer(func(n *Node) { *n = Node{Hostname: "node2"} }))},
	{"peers-alike", NotApplicable, None, "", nil},

	{"bandwidth", Pass, None, "", func(m *Machine) { m.Measured = []Measurement{{"mlx5_0", 45}, {"nvlink", 346}} }},
	{"bandwidth", Fail, Warning, "", func(m *Machine) { m.Measured = []Measurement{{"mlx5_0", 30}} }},
	{"bandwidth", Fail, Warning, "", func(m *Machine) { m.Measured = []Measurement{{"nvlink", 200}} }},
	{"bandwidth", Unknown, None, "", nil},
	{"bandwidth", Unknown, None, "", func(m *Machine) { m.Measured = []Measurement{{"mlx5_9", 30}} }},
	{"bandwidth", NotApplicable, None, noCards + noGPUs, noNVML},
}
