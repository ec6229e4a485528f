package nvml

import "strings"

// ByPCIAddress returns the GPU of a PCI address in any of the forms that
// ParsePCIAddress takes, such as CUDA gives for an ordinal.
func ByPCIAddress(gpus []GPU, address string) (GPU, bool) {
	want, err := ParsePCIAddress(address)
	if err != nil {
		return GPU{}, false
	}
	for _, g := range gpus {
		if g.PCIAddress == want {
			return g, true
		}
	}
	return GPU{}, false
}

// Find returns the GPU of a UUID, and for the UUID of a MIG device the GPU that
// it is a part of together with the device: its place in the machine, its
// NVLinks and its processors are the GPU's.
func Find(gpus []GPU, uuid string) (GPU, *MIGDevice, bool) {
	for _, g := range gpus {
		if g.UUID == uuid {
			return g, nil, true
		}
		if g.MIG == nil {
			continue
		}
		for i := range g.MIG.Devices {
			if g.MIG.Devices[i].UUID == uuid {
				return g, &g.MIG.Devices[i], true
			}
		}
	}
	return GPU{}, nil, false
}

// NoGPU is the error of a Source for a UUID that it does not have: an *OpError
// around ErrNoGPU, with a hint where the UUID is a MIG device's.
func NoGPU(op, uuid string, gpus []GPU) error {
	e := &OpError{Op: op, GPU: uuid, Err: ErrNoGPU}
	if parent, device, ok := Find(gpus, uuid); ok && device != nil {
		e.Hint = "it is a MIG device: ask about its GPU, " + parent.UUID
	} else if strings.HasPrefix(uuid, "MIG-") {
		e.Hint = "it is the name of a MIG device, and no GPU has that one"
	}
	return e
}
