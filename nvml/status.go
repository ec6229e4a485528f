package nvml

import (
	"fmt"
	"math/bits"
	"strings"
)

// Status is what changes while a machine runs. Absent values are nil.
type Status struct {
	MemoryUsed *uint64 `json:"memory_used,omitempty"` // bytes, without the driver's own
	MemoryFree *uint64 `json:"memory_free,omitempty"` // bytes
	// GPUBusy and MemoryBusy are the shares of the last sampling period, in
	// percent, in which a kernel ran and in which memory was read or written.
	GPUBusy     *int     `json:"gpu_busy,omitempty"`
	MemoryBusy  *int     `json:"memory_busy,omitempty"`
	Temperature *int     `json:"temperature,omitempty"` // degrees Celsius
	Power       *float64 `json:"power,omitempty"`       // watts
	PowerLimit  *float64 `json:"power_limit,omitempty"` // watts, the limit enforced
	ClockSM     *int     `json:"clock_sm,omitempty"`    // MHz
	ClockMemory *int     `json:"clock_memory,omitempty"`
	// PerformanceState is 0 (fastest) to 15.
	PerformanceState *int `json:"performance_state,omitempty"`
	// ClockEvents are the reasons why clocks are not at their highest.
	ClockEvents *ClockEvents `json:"clock_events,omitempty"`
	// PCIe is the link as it runs. Its generation falls while a GPU is idle:
	// that is saving power, not damage. A width below the maximum is damage.
	PCIe PCIe `json:"pcie"`
	ECC  ECC  `json:"ecc"`
	// NVLinkSent and NVLinkReceived count the payload of all NVLinks together in
	// bytes, in steps of 1024. The difference of two readings is a rate; a smaller
	// value than before is a new beginning.
	NVLinkSent     *uint64 `json:"nvlink_sent,omitempty"`
	NVLinkReceived *uint64 `json:"nvlink_received,omitempty"`
}

// ECC counts memory errors. Corrected ones cost nothing by themselves;
// uncorrected ones have lost data.
type ECC struct {
	Enabled *bool `json:"enabled,omitempty"`
	// Since the driver was loaded.
	Corrected   *uint64 `json:"corrected,omitempty"`
	Uncorrected *uint64 `json:"uncorrected,omitempty"`
	// Over the board's life.
	CorrectedEver   *uint64 `json:"corrected_ever,omitempty"`
	UncorrectedEver *uint64 `json:"uncorrected_ever,omitempty"`
	Remapped        *Remap  `json:"remapped,omitempty"`
}

// Remap counts memory rows that were replaced by spare ones.
type Remap struct {
	Corrected   int `json:"corrected"`
	Uncorrected int `json:"uncorrected"`
	// Pending: a row waits for the GPU's next reset. Failed: one could not be
	// replaced, which is ground for returning the board.
	Pending bool `json:"pending"`
	Failed  bool `json:"failed"`
}

// ClockEvents is a set of reasons why a GPU's clocks are not at their highest
// (throttle reasons). Zero is none.
type ClockEvents uint64

// NVML's reasons.
const (
	ClockIdle               ClockEvents = 1 << 0 // nothing runs
	ClockApplicationSetting ClockEvents = 1 << 1 // someone set them
	ClockPowerCap           ClockEvents = 1 << 2 // the power limit holds them
	ClockHardwareSlowdown   ClockEvents = 1 << 3 // heat, a power brake or too high a draw
	ClockSyncBoost          ClockEvents = 1 << 4 // held with other GPUs of a group
	ClockThermal            ClockEvents = 1 << 5 // the driver cools the GPU
	ClockHardwareThermal    ClockEvents = 1 << 6 // the GPU cools itself, to half its clocks or less
	ClockPowerBrake         ClockEvents = 1 << 7 // the power supply asked for it
	ClockDisplaySetting     ClockEvents = 1 << 8
	ClockBoardLimit         ClockEvents = 1 << 9
	ClockReliability        ClockEvents = 1 << 10
)

// ClockTrouble are the reasons that say that something is wrong with a machine
// whose users did not ask for lower clocks.
const ClockTrouble = ClockHardwareSlowdown | ClockThermal | ClockHardwareThermal | ClockPowerBrake

var clockTexts = map[ClockEvents]string{
	ClockIdle: "idle", ClockApplicationSetting: "application clocks set", ClockPowerCap: "power cap",
	ClockHardwareSlowdown: "hardware slowdown", ClockSyncBoost: "sync boost", ClockThermal: "thermal slowdown",
	ClockHardwareThermal: "hardware thermal slowdown", ClockPowerBrake: "power brake",
	ClockDisplaySetting: "display clock setting", ClockBoardLimit: "board limit", ClockReliability: "reliability",
}

// String lists the reasons: "power cap, thermal slowdown"; "none" without any.
func (c ClockEvents) String() string { return bitTexts(uint64(c), clockTexts) }

// bitTexts lists the names of a set's bits, lowest first.
func bitTexts[T ~uint64](set uint64, texts map[T]string) string {
	var names []string
	for rest := set; rest != 0; rest &= rest - 1 {
		bit := uint64(1) << bits.TrailingZeros64(rest)
		name, ok := texts[T(bit)]
		if !ok {
			name = fmt.Sprintf("0x%x", bit)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
