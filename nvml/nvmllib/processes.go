//go:build linux && cgo

package nvmllib

import (
	"math"
	"slices"

	"github.com/gofabric/gofabric/nvml"
)

// Processes lists who uses a GPU, by process id.
//
// Implements: nvmlDeviceGetComputeRunningProcesses_v3,
// nvmlDeviceGetGraphicsRunningProcesses_v3,
// nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlSystemGetProcessName.
func (l *Library) Processes(gpu string) ([]nvml.Process, error) {
	r, d, err := l.begin("list the processes", gpu)
	if err != nil {
		return nil, err
	}
	defer l.life.Done()
	var all []nvml.Process
	for _, kind := range []struct {
		what, symbol string
		list         func() ([]processInfo, answer)
		mark         func(*nvml.Process)
	}{
		{"the compute processes", "nvmlDeviceGetComputeRunningProcesses", d.GetComputeRunningProcesses, func(p *nvml.Process) { p.Compute = true }},
		{"the graphics processes", "nvmlDeviceGetGraphicsRunningProcesses", d.GetGraphicsRunningProcesses, func(p *nvml.Process) { p.Graphics = true }},
		{"the MPS clients", "nvmlDeviceGetMPSComputeRunningProcesses", d.GetMPSComputeRunningProcesses, func(p *nvml.Process) { p.MPS = true }},
	} {
		// go-nvml takes the newest of three versions that the driver has.
		if !l.function(kind.symbol+"_v3") && !l.function(kind.symbol+"_v2") && !l.function(kind.symbol) {
			continue
		}
		infos, ret := kind.list()
		if ret != success {
			if !absent(ret) {
				r.fail("read "+kind.what, ret)
			}
			continue
		}
		for _, info := range infos {
			p := processOf(info)
			at := slices.IndexFunc(all, func(other nvml.Process) bool {
				return other.PID == p.PID && same(other.GPUInstance, p.GPUInstance) && same(other.ComputeInstance, p.ComputeInstance)
			})
			if at < 0 {
				p.Name = text(ask(r, "a process's name", "nvmlSystemGetProcessName", func() (string, answer) { return l.api.SystemGetProcessName(p.PID) }))
				all = append(all, p)
				at = len(all) - 1
			}
			kind.mark(&all[at])
		}
	}
	slices.SortStableFunc(all, func(a, b nvml.Process) int { return a.PID - b.PID })
	return all, r.err()
}

func same(a, b *int) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// instance reads the number of a MIG instance, which NVML writes as all ones
// where there is none.
func instance(id uint32) *int {
	if id == math.MaxUint32 {
		return nil
	}
	n := int(id)
	return &n
}

func processOf(info processInfo) nvml.Process {
	p := nvml.Process{
		PID:             int(info.Pid),
		GPUInstance:     instance(info.GpuInstanceId),
		ComputeInstance: instance(info.ComputeInstanceId),
	}
	if info.UsedGpuMemory != math.MaxUint64 { // NVML_VALUE_NOT_AVAILABLE
		p.Memory = &info.UsedGpuMemory
	}
	return p
}
