package cuda

import (
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/internal/ccuda"
)

// UUID identifies a GPU, or a part of a partitioned one, on every host.
type UUID [16]byte

// String returns "GPU-" and 32 hexadecimal digits in groups, as nvidia-smi does.
func (u UUID) String() string {
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// DeviceInfo describes a GPU.
type DeviceInfo struct {
	Ordinal           int
	Name              string
	UUID              UUID
	PCIAddress        string  // "0000:1b:00.0", as in /sys/bus/pci/devices
	Memory            uint64  // bytes
	ComputeCapability Version // 9.0 for Hopper
}

// Info describes a GPU by its number from 0. It makes no context.
//
// Implements: cuDeviceGet, cuDeviceGetName, cuDeviceGetUuid, cuDeviceGetUuid_v2,
// cuDeviceGetPCIBusId, cuDeviceTotalMem.
func Info(ordinal int) (DeviceInfo, error) {
	const op = "describe GPU"
	dev, err := findDevice(op, ordinal)
	if err != nil {
		return DeviceInfo{}, err
	}
	return describe(op, ordinal, dev)
}

func describe(op string, ordinal int, dev ccuda.Device) (DeviceInfo, error) {
	info := DeviceInfo{Ordinal: ordinal}
	var rs [6]ccuda.Result
	var uuid [16]byte
	info.Name, rs[0] = dev.Name()
	uuid, rs[1] = dev.UUID()
	info.PCIAddress, rs[2] = dev.PCIAddress()
	info.Memory, rs[3] = dev.Memory()
	info.ComputeCapability.Major, rs[4] = dev.Attribute(ccuda.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
	info.ComputeCapability.Minor, rs[5] = dev.Attribute(ccuda.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
	for _, r := range rs {
		if r != 0 {
			return DeviceInfo{}, &OpError{Op: op, Device: ordinal, Err: driverError(r)}
		}
	}
	info.UUID = uuid
	info.PCIAddress = strings.ToLower(info.PCIAddress)
	return info, nil
}
