//go:build linux && cgo

package nvmllib

import (
	"math"

	"github.com/gofabric/gofabric/nvml"
)

// Status reads what changes while the machine runs.
//
// Implements: nvmlDeviceGetMemoryInfo_v2, nvmlDeviceGetUtilizationRates,
// nvmlDeviceGetTemperature, nvmlDeviceGetPowerUsage,
// nvmlDeviceGetEnforcedPowerLimit, nvmlDeviceGetClockInfo,
// nvmlDeviceGetPerformanceState, nvmlDeviceGetCurrentClocksThrottleReasons,
// nvmlDeviceGetCurrPcieLinkGeneration, nvmlDeviceGetCurrPcieLinkWidth,
// nvmlDeviceGetEccMode, nvmlDeviceGetTotalEccErrors,
// nvmlDeviceGetRemappedRows, nvmlDeviceGetFieldValues.
func (l *Library) Status(gpu string) (nvml.Status, error) {
	r, d, err := l.begin("read the status", gpu)
	if err != nil {
		return nvml.Status{}, err
	}
	defer l.life.Done()
	s := nvml.Status{
		Temperature: askInt(r, "the temperature", "nvmlDeviceGetTemperature", func() (uint32, answer) { return d.GetTemperature(sensorGPU) }),
		Power:       watts(askInt(r, "the power", "nvmlDeviceGetPowerUsage", d.GetPowerUsage)),
		PowerLimit:  watts(askInt(r, "the power limit", "nvmlDeviceGetEnforcedPowerLimit", d.GetEnforcedPowerLimit)),
		ClockSM:     askInt(r, "the SM clock", "nvmlDeviceGetClockInfo", func() (uint32, answer) { return d.GetClockInfo(clockSM) }),
		ClockMemory: askInt(r, "the memory clock", "nvmlDeviceGetClockInfo", func() (uint32, answer) { return d.GetClockInfo(clockMemory) }),
		PCIe: nvml.PCIe{
			Generation: askInt(r, "the PCIe generation", "nvmlDeviceGetCurrPcieLinkGeneration", d.GetCurrPcieLinkGeneration),
			Width:      askInt(r, "the PCIe width", "nvmlDeviceGetCurrPcieLinkWidth", d.GetCurrPcieLinkWidth),
		},
		ECC:            r.ecc(d),
		NVLinkSent:     r.nvlinkBytes(d, fieldNVLinkSent),
		NVLinkReceived: r.nvlinkBytes(d, fieldNVLinkReceived),
	}
	if _, free, used, ok := r.memory(d); ok {
		s.MemoryFree, s.MemoryUsed = &free, &used
	}
	if busy := ask(r, "the utilisation", "nvmlDeviceGetUtilizationRates", d.GetUtilizationRates); busy != nil {
		g, m := int(busy.Gpu), int(busy.Memory)
		s.GPUBusy, s.MemoryBusy = &g, &m
	}
	if state := askInt(r, "the performance state", "nvmlDeviceGetPerformanceState", d.GetPerformanceState); state != nil && *state <= 15 {
		s.PerformanceState = state
	}
	// Newer drivers have the same answer under the name of event reasons.
	if reasons := ask(r, "the clock events", "nvmlDeviceGetCurrentClocksThrottleReasons", d.GetCurrentClocksThrottleReasons); reasons != nil {
		events := nvml.ClockEvents(*reasons)
		s.ClockEvents = &events
	}
	return s, r.err()
}

// nvlinkBytes reads a counter of all links together, which NVML has in KiB.
func (r *reading) nvlinkBytes(d device, id uint32) *uint64 {
	const allLinks = math.MaxUint32
	kib, ok := r.field(d, id, allLinks)
	if !ok || kib > math.MaxUint64>>10 {
		return nil
	}
	bytes := kib << 10
	return &bytes
}

func watts(milliwatts *int) *float64 {
	if milliwatts == nil {
		return nil
	}
	w := float64(*milliwatts) / 1000
	return &w
}

func (r *reading) ecc(d device) nvml.ECC {
	count := func(kind eccKind, counter eccCounter) *uint64 {
		return ask(r, "the ECC errors", "nvmlDeviceGetTotalEccErrors", func() (uint64, answer) { return d.GetTotalEccErrors(kind, counter) })
	}
	return nvml.ECC{
		Enabled: ask(r, "the ECC mode", "nvmlDeviceGetEccMode", func() (bool, answer) {
			current, _, ret := d.GetEccMode()
			return current == enabled, ret
		}),
		Corrected:       count(eccCorrected, eccSinceLoad),
		Uncorrected:     count(eccUncorrected, eccSinceLoad),
		CorrectedEver:   count(eccCorrected, eccOverLife),
		UncorrectedEver: count(eccUncorrected, eccOverLife),
		Remapped: ask(r, "the remapped rows", "nvmlDeviceGetRemappedRows", func() (nvml.Remap, answer) {
			corrected, uncorrected, pending, failed, ret := d.GetRemappedRows()
			return nvml.Remap{Corrected: corrected, Uncorrected: uncorrected, Pending: pending, Failed: failed}, ret
		}),
	}
}
