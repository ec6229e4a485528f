package nvmltest

import (
	"fmt"

	"github.com/gofabric/gofabric/nvml"
)

// board is what a machine's GPUs have in common.
type board struct {
	name       string
	pciDevice  uint16
	memoryMiB  uint64
	compute    [2]int
	generation int
	width      int
	power      float64 // limit, watts
	driver     string
	nvml       string
	cuda       int
}

// place is where one GPU sits. A negative node is unknown.
type place struct {
	address string
	node    int
	cpus    string
}

func ptr[T any](value T) *T { return &value }

func uuid(model uint16, index int) string {
	return fmt.Sprintf("GPU-%08x-%04x-4000-8000-%012x", 0xf0000000+index, model, index)
}

// machine puts the GPUs of one board at their places, without links, idle.
// ancestor is the nearest common ancestor of two.
func machine(b board, places []place, p2p nvml.P2PStatus, ancestor func(a, b int) nvml.Ancestor) *Host {
	s := &nvml.Snapshot{
		Versions: nvml.System{Driver: b.driver, NVML: b.nvml, CUDA: ptr(b.cuda)},
		NVLinks:  map[string][]nvml.Link{}, Statuses: map[string]nvml.Status{}, Users: map[string][]nvml.Process{},
	}
	for i, at := range places {
		g := nvml.GPU{
			Index: i, UUID: uuid(b.pciDevice, i), Name: b.name, Serial: fmt.Sprintf("16500000%05d", i),
			PCIAddress: at.address, PCIVendor: ptr(uint16(0x10de)), PCIDevice: ptr(b.pciDevice), Minor: ptr(i),
			ComputeCapability: ptr(b.compute), Memory: ptr(b.memoryMiB << 20),
			PCIeMax: nvml.PCIe{Generation: ptr(b.generation), Width: ptr(b.width)},
			PCIeOwn: nvml.PCIe{Generation: ptr(b.generation)},
		}
		if at.node >= 0 {
			g.Nodes = []int{at.node}
		}
		if at.cpus != "" {
			set, err := nvml.ParseCPUSet(at.cpus)
			if err != nil {
				panic(err) // a literal of this file
			}
			g.CPUs = set
		}
		s.Inventory = append(s.Inventory, g)
		s.Statuses[g.UUID] = nvml.Status{
			MemoryUsed: ptr(uint64(0)), MemoryFree: ptr(b.memoryMiB << 20), GPUBusy: ptr(0), MemoryBusy: ptr(0),
			Temperature: ptr(31), Power: ptr(b.power / 10), PowerLimit: ptr(b.power), PerformanceState: ptr(0),
			ClockEvents: ptr(nvml.ClockIdle), PCIe: nvml.PCIe{Generation: ptr(1), Width: ptr(b.width)},
			ECC: nvml.ECC{Enabled: ptr(true), Corrected: ptr(uint64(0)), Uncorrected: ptr(uint64(0)),
				CorrectedEver: ptr(uint64(0)), UncorrectedEver: ptr(uint64(0)), Remapped: &nvml.Remap{}},
		}
	}
	for i, a := range s.Inventory {
		for j, other := range s.Inventory {
			if i == j {
				continue
			}
			s.Pairs = append(s.Pairs, nvml.SnapshotPair{From: a.UUID, To: other.UUID, Pair: nvml.Pair{
				Ancestor: ptr(ancestor(min(i, j), max(i, j))),
				Read:     ptr(p2p), Write: ptr(p2p), Atomics: ptr(p2p), PCI: ptr(p2p), NVLink: ptr(nvml.P2PNotSupported),
			}})
		}
	}
	return &Host{Data: s}
}

// link is a number of NVLinks that end at one address.
type link struct {
	peer  string
	count int
}

// addLinks gives GPU index its NVLinks, all active, to switches or to a GPU.
func (h *Host) addLinks(index int, version nvml.LinkVersion, raw float64, kind nvml.PeerType, links ...link) {
	gpu := h.Data.Inventory[index].UUID
	for _, l := range links {
		for range l.count {
			h.Data.NVLinks[gpu] = append(h.Data.NVLinks[gpu], nvml.Link{
				Number: len(h.Data.NVLinks[gpu]), Active: ptr(true), Version: ptr(version),
				Peer: l.peer, PeerType: kind, Raw: ptr(raw),
			})
		}
	}
	for i := range h.Data.Pairs {
		if h.Data.Pairs[i].From == gpu {
			h.Data.Pairs[i].NVLink = ptr(nvml.P2POK)
		}
	}
}

// byNode is SYS between nodes, and near within one.
func byNode(places []place, near nvml.Ancestor) func(a, b int) nvml.Ancestor {
	return func(a, b int) nvml.Ancestor {
		if places[a].node == places[b].node {
			return near
		}
		return nvml.AncestorSystem
	}
}

// A100 is a DGX A100: eight GPUs in pairs on PCI switches, twelve NVLinks each to
// six NVSwitches, four NUMA nodes in an order of their own.
func A100() *Host {
	places := []place{
		{"0000:07:00.0", 3, "48-63,176-191"}, {"0000:0f:00.0", 3, "48-63,176-191"},
		{"0000:47:00.0", 1, "16-31,144-159"}, {"0000:4e:00.0", 1, "16-31,144-159"},
		{"0000:87:00.0", 7, "112-127,240-255"}, {"0000:90:00.0", 7, "112-127,240-255"},
		{"0000:b7:00.0", 5, "80-95,208-223"}, {"0000:bd:00.0", 5, "80-95,208-223"},
	}
	h := machine(board{"NVIDIA A100-SXM4-80GB", 0x20b2, 81920, [2]int{8, 0}, 4, 16, 400, "535.161.08", "12.535.161.08", 12020},
		places, nvml.P2POK, byNode(places, nvml.AncestorMultiple))
	for i := range places {
		h.Data.Inventory[i].MIG = &nvml.MIG{}
		h.addLinks(i, nvml.NVLink3, 25, nvml.PeerSwitch, link{"0000:c4:00.0", 2}, link{"0000:c5:00.0", 2}, link{"0000:c6:00.0", 2},
			link{"0000:c7:00.0", 2}, link{"0000:c8:00.0", 2}, link{"0000:c9:00.0", 2})
	}
	return h
}

// hopper gives each GPU eighteen NVLinks to the four NVSwitches at the addresses.
func (h *Host) hopper(switches ...string) {
	for i := range h.Data.Inventory {
		g := &h.Data.Inventory[i]
		g.MIG = &nvml.MIG{}
		g.Fabric = &nvml.Fabric{State: "completed"}
		h.addLinks(i, nvml.NVLink4, 26.562, nvml.PeerSwitch, link{switches[0], 4}, link{switches[1], 5}, link{switches[2], 5}, link{switches[3], 4})
	}
}

// H100 is a machine of eight GPUs with an NVSwitch board, each GPU behind a PCI
// root port of its own, in two NUMA nodes.
func H100() *Host {
	const low, high = "0-55,112-167", "56-111,168-223"
	places := []place{
		{"0000:0f:00.0", 0, low}, {"0000:2d:00.0", 0, low}, {"0000:44:00.0", 0, low}, {"0000:5b:00.0", 0, low},
		{"0000:89:00.0", 1, high}, {"0000:a8:00.0", 1, high}, {"0000:c0:00.0", 1, high}, {"0000:d8:00.0", 1, high},
	}
	h := machine(board{"NVIDIA H100 80GB HBM3", 0x2330, 81559, [2]int{9, 0}, 5, 16, 700, "550.90.07", "12.550.90.07", 12040},
		places, nvml.P2POK, byNode(places, nvml.AncestorNode))
	h.hopper("0000:1a:00.0", "0000:1b:00.0", "0000:1c:00.0", "0000:1d:00.0")
	return h
}

// h200 is the board with the versions that two of them were seen with.
var h200 = board{"NVIDIA H200", 0x2335, 143771, [2]int{9, 0}, 5, 16, 700, "580.159.04", "13.580.159.04", 13000}

// H200 is a machine of eight GPUs with an NVSwitch board in two NUMA nodes.
func H200() *Host {
	const low, high = "0-55,112-167", "56-111,168-223"
	places := []place{
		{"0000:1b:00.0", 0, low}, {"0000:43:00.0", 0, low}, {"0000:52:00.0", 0, low}, {"0000:61:00.0", 0, low},
		{"0000:9d:00.0", 1, high}, {"0000:c3:00.0", 1, high}, {"0000:d1:00.0", 1, high}, {"0000:df:00.0", 1, high},
	}
	h := machine(h200, places, nvml.P2POK, byNode(places, nvml.AncestorNode))
	h.hopper("0000:07:00.0", "0000:08:00.0", "0000:09:00.0", "0000:0a:00.0")
	return h
}

// H200Pair is a virtual machine with two of such a machine's GPUs, as one was
// seen: NVLinks that end at switches which the guest does not have, one flat bus,
// one NUMA node, and no peer access by PCI, only by NVLink.
func H200Pair() *Host {
	places := []place{{"0000:00:06.0", 0, "0-31"}, {"0000:00:07.0", 0, "0-31"}}
	h := machine(h200, places, nvml.P2POK, func(int, int) nvml.Ancestor { return nvml.AncestorHostBridge })
	h.hopper("", "", "", "")
	for i := range h.Data.Pairs {
		h.Data.Pairs[i].PCI = ptr(nvml.P2PNotSupported)
	}
	return h
}

// GB300 is one tray of a GB300 rack: four GPUs whose memory is a NUMA node of its
// own, each on a PCI domain of its own, in an NVLink fabric of many machines.
func GB300() *Host {
	places := []place{
		{"0008:06:00.0", 0, "0-71"}, {"0009:06:00.0", 0, "0-71"},
		{"0018:06:00.0", 1, "72-143"}, {"0019:06:00.0", 1, "72-143"},
	}
	h := machine(board{"NVIDIA GB300", 0x31c2, 284208, [2]int{10, 3}, 6, 16, 1400, "580.95.05", "13.580.95.05", 13000},
		places, nvml.P2POK, byNode(places, nvml.AncestorNode))
	for i := range places {
		g := &h.Data.Inventory[i]
		g.MIG = &nvml.MIG{}
		g.MemoryNode = ptr(2 + 8*i)
		g.Fabric = &nvml.Fabric{Cluster: "7f2f6d5e-0000-4000-8000-000000000300", Clique: 32766, State: "completed"}
		h.addLinks(i, nvml.NVLink5, 53.125, nvml.PeerSwitch, link{"", 18})
	}
	return h
}

// FlatVM is a virtual machine with two GPUs on one flat PCI bus: no NVLink, no
// NUMA node, no peer access, and a driver that says little of their health.
func FlatVM() *Host {
	places := []place{{"0000:00:07.0", -1, "0-7"}, {"0000:00:08.0", -1, "0-7"}}
	h := machine(board{"Tesla P4", 0x1bb3, 7680, [2]int{6, 1}, 3, 16, 75, "470.161.03", "11.470.161.03", 11040},
		places, nvml.P2PChipsetNotSupported, func(int, int) nvml.Ancestor { return nvml.AncestorHostBridge })
	for i := range h.Data.Inventory {
		g := &h.Data.Inventory[i]
		g.Serial = ""
		g.PCIeOwn = nvml.PCIe{}
		s := h.Data.Statuses[g.UUID]
		s.Power, s.PowerLimit, s.ClockEvents, s.ECC = nil, nil, nil, nvml.ECC{}
		h.Data.Statuses[g.UUID] = s
	}
	return h
}

// All returns one host of each kind by name, for tests that hold for every
// machine.
func All() map[string]*Host {
	return map[string]*Host{
		"A100": A100(), "H100": H100(), "H200": H200(), "H200 pair": H200Pair(), "GB300": GB300(), "flat VM": FlatVM(),
	}
}
