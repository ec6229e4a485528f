//go:build linux && cgo

package nvmllib

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/gofabric/gofabric/nvml"
)

// System returns the versions of the driver, of NVML and of the newest CUDA that
// the driver runs.
//
// Implements: nvmlSystemGetDriverVersion, nvmlSystemGetNVMLVersion,
// nvmlSystemGetCudaDriverVersion_v2.
func (l *Library) System() (nvml.System, error) {
	if err := l.life.Use(); err != nil {
		return nvml.System{}, err
	}
	defer l.life.Done()
	r := &reading{Library: l}
	return nvml.System{
		Driver:  text(ask(r, "the driver's version", "nvmlSystemGetDriverVersion", l.api.SystemGetDriverVersion)),
		NVML:    text(ask(r, "NVML's version", "nvmlSystemGetNVMLVersion", l.api.SystemGetNVMLVersion)),
		CUDA:    askInt(r, "CUDA's version", "nvmlSystemGetCudaDriverVersion_v2", l.api.SystemGetCudaDriverVersion_v2),
		Library: l.file.Path(),
	}, r.err()
}

// GPUs lists the GPUs that this process may see, in NVML's order, with their MIG
// devices.
//
// Implements: nvmlDeviceGetCount_v2, nvmlDeviceGetHandleByIndex_v2,
// nvmlDeviceGetUUID, nvmlDeviceGetName, nvmlDeviceGetSerial,
// nvmlDeviceGetPciInfo_v3, nvmlDeviceGetMinorNumber,
// nvmlDeviceGetCudaComputeCapability, nvmlDeviceGetMemoryAffinity,
// nvmlDeviceGetCpuAffinityWithinScope, nvmlDeviceGetCpuAffinity,
// nvmlDeviceGetNumaNodeId, nvmlDeviceGetMaxPcieLinkGeneration,
// nvmlDeviceGetMaxPcieLinkWidth, nvmlDeviceGetGpuMaxPcieLinkGeneration,
// nvmlDeviceGetGpuFabricInfoV, nvmlDeviceGetMigMode,
// nvmlDeviceGetMaxMigDeviceCount, nvmlDeviceGetMigDeviceHandleByIndex,
// nvmlDeviceGetGpuInstanceId, nvmlDeviceGetComputeInstanceId.
func (l *Library) GPUs() ([]nvml.GPU, error) {
	if err := l.life.Use(); err != nil {
		return nil, err
	}
	defer l.life.Done()
	return l.gpus()
}

func (l *Library) gpus() ([]nvml.GPU, error) {
	count, ret := l.api.DeviceGetCount()
	if ret != success {
		return nil, &nvml.OpError{Op: "count the GPUs", Err: nvml.Code(ret)}
	}
	var gpus []nvml.GPU
	var problems []error
	known := map[string]device{}
	for index := range count {
		r := &reading{Library: l, gpu: fmt.Sprintf("index %d", index)}
		device, ret := l.api.DeviceGetHandleByIndex(index)
		uuid := ""
		if ret == success {
			uuid, ret = device.GetUUID()
		}
		if ret != success {
			r.fail("open the GPU", ret)
			problems = append(problems, r.problems...)
			continue
		}
		known[uuid], r.gpu = device, uuid
		gpus = append(gpus, r.describe(index, device))
		problems = append(problems, r.problems...)
	}
	l.mu.Lock()
	l.known = known
	l.mu.Unlock()
	return gpus, errors.Join(problems...)
}

// affinityRoom is how many CPUs, and NUMA nodes, a set has room for: more than
// any kernel is built for. go-nvml makes the set eight times as long.
const affinityRoom = 8192

func (r *reading) describe(index int, d device) nvml.GPU {
	g := nvml.GPU{
		Index:      index,
		UUID:       r.gpu,
		Name:       text(ask(r, "the name", "nvmlDeviceGetName", d.GetName)),
		Serial:     text(ask(r, "the serial number", "nvmlDeviceGetSerial", d.GetSerial)),
		Minor:      askInt(r, "the minor number", "nvmlDeviceGetMinorNumber", d.GetMinorNumber),
		MemoryNode: askInt(r, "the memory's NUMA node", "nvmlDeviceGetNumaNodeId", d.GetNumaNodeId),
		PCIeMax: nvml.PCIe{
			Generation: askInt(r, "the PCIe generation", "nvmlDeviceGetMaxPcieLinkGeneration", d.GetMaxPcieLinkGeneration),
			Width:      askInt(r, "the PCIe width", "nvmlDeviceGetMaxPcieLinkWidth", d.GetMaxPcieLinkWidth),
		},
		PCIeOwn: nvml.PCIe{
			Generation: askInt(r, "the GPU's PCIe generation", "nvmlDeviceGetGpuMaxPcieLinkGeneration", d.GetGpuMaxPcieLinkGeneration),
		},
		Fabric: r.fabric(d),
		MIG:    r.mig(d),
	}
	if pci := ask(r, "the PCI address", "nvmlDeviceGetPciInfo_v3", d.GetPciInfo); pci != nil {
		g.PCIAddress = address(*pci)
		vendor, device := uint16(pci.PciDeviceId), uint16(pci.PciDeviceId>>16)
		g.PCIVendor, g.PCIDevice = &vendor, &device
	}
	g.ComputeCapability = ask(r, "the compute capability", "nvmlDeviceGetCudaComputeCapability", func() ([2]int, answer) {
		major, minor, ret := d.GetCudaComputeCapability()
		return [2]int{major, minor}, ret
	})
	if nodes := ask(r, "the NUMA nodes", "nvmlDeviceGetMemoryAffinity", func() ([]uint, answer) {
		return d.GetMemoryAffinity(affinityRoom, scopeNode)
	}); nodes != nil {
		g.Nodes = nvml.CPUSetFromMask(*nodes)
	}
	cpus := ask(r, "the processors", "nvmlDeviceGetCpuAffinityWithinScope", func() ([]uint, answer) {
		return d.GetCpuAffinityWithinScope(affinityRoom, scopeNode)
	})
	if cpus == nil {
		cpus = ask(r, "the processors", "nvmlDeviceGetCpuAffinity", func() ([]uint, answer) { return d.GetCpuAffinity(affinityRoom) })
	}
	if cpus != nil {
		g.CPUs = nvml.CPUSetFromMask(*cpus)
	}
	if total, _, _, ok := r.memory(d); ok {
		g.Memory = &total
	}
	if links, ok := r.field(d, fieldC2CLinks, 0); ok && links > 0 {
		count := int(links)
		g.C2CLinks = &count
	}
	return g
}

// address is the PCI address of a driver's answer; empty where the answer names
// no device: drivers fill in zeros or ones for an end that they cannot see.
func address(pci pciInfo) string {
	raw := make([]byte, 0, len(pci.BusId))
	for _, c := range pci.BusId {
		if c == 0 {
			break
		}
		raw = append(raw, byte(c))
	}
	parsed, err := nvml.ParsePCIAddress(string(raw))
	if err != nil || parsed == "0000:00:00.0" || pci.Domain == math.MaxUint32 {
		return ""
	}
	return parsed
}

func (r *reading) memory(d device) (total, free, used uint64, ok bool) {
	if m := ask(r, "the memory", "nvmlDeviceGetMemoryInfo_v2", d.GetMemoryInfo_v2); m != nil {
		return m.Total, m.Free, m.Used, true
	}
	// The older answer counts what the driver keeps as used.
	if m := ask(r, "the memory", "nvmlDeviceGetMemoryInfo", d.GetMemoryInfo); m != nil {
		return m.Total, m.Free, m.Used, true
	}
	return 0, 0, 0, false
}

// field reads one of NVML's numbered values, a whole number.
func (r *reading) field(d device, id, scope uint32) (uint64, bool) {
	if !r.function("nvmlDeviceGetFieldValues") {
		return 0, false
	}
	values := []fieldValue{{FieldId: id, ScopeId: scope}}
	if ret := d.GetFieldValues(values); ret != success || answer(values[0].NvmlReturn) != success {
		return 0, false
	}
	switch valueType(values[0].ValueType) {
	case valueUint, valueInt:
		return uint64(binary.NativeEndian.Uint32(values[0].Value[:])), true
	case valueUlong, valueUlongLong, valueLongLong:
		return binary.NativeEndian.Uint64(values[0].Value[:]), true
	}
	return 0, false
}

func (r *reading) fabric(d device) *nvml.Fabric {
	info := ask(r, "the NVLink fabric", "nvmlDeviceGetGpuFabricInfoV", d.GetGpuFabricInfoV().V2)
	if info == nil {
		return nil
	}
	states := map[uint8]string{
		fabricNotStarted: "not started",
		fabricInProgress: "in progress",
		fabricCompleted:  "completed",
	}
	state, ok := states[info.State]
	if !ok {
		return nil
	}
	fabric := &nvml.Fabric{Clique: info.CliqueId, State: state}
	if u := info.ClusterUuid; u != [16]uint8{} {
		fabric.Cluster = fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:])
	}
	return fabric
}

func (r *reading) mig(d device) *nvml.MIG {
	mode := ask(r, "the MIG mode", "nvmlDeviceGetMigMode", func() ([2]int, answer) {
		current, pending, ret := d.GetMigMode()
		return [2]int{current, pending}, ret
	})
	if mode == nil {
		return nil
	}
	mig := &nvml.MIG{Enabled: mode[0] == migEnabled, Pending: mode[1] == migEnabled}
	if !mig.Enabled {
		return mig
	}
	most := ask(r, "the MIG devices", "nvmlDeviceGetMaxMigDeviceCount", d.GetMaxMigDeviceCount)
	if most == nil {
		return mig
	}
	for index := range *most {
		device := ask(r, "a MIG device", "nvmlDeviceGetMigDeviceHandleByIndex", func() (device, answer) {
			return d.GetMigDeviceHandleByIndex(index)
		})
		if device == nil {
			continue // the places of a GPU's MIG devices may have gaps
		}
		m := nvml.MIGDevice{
			Index:           index,
			UUID:            text(ask(r, "a MIG device's UUID", "nvmlDeviceGetUUID", (*device).GetUUID)),
			Name:            text(ask(r, "a MIG device's name", "nvmlDeviceGetName", (*device).GetName)),
			GPUInstance:     askInt(r, "a MIG device's GPU instance", "nvmlDeviceGetGpuInstanceId", (*device).GetGpuInstanceId),
			ComputeInstance: askInt(r, "a MIG device's compute instance", "nvmlDeviceGetComputeInstanceId", (*device).GetComputeInstanceId),
		}
		if total, _, _, ok := r.memory(*device); ok {
			m.Memory = &total
		}
		mig.Devices = append(mig.Devices, m)
	}
	return mig
}
