package topo

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

const procGPUs = "proc/driver/nvidia/gpus"

// isGPU tells a GPU by its PCI class: NVIDIA's displays and 3D controllers, AMD's
// processing accelerators, and 3D controllers of anybody. A server's own display
// (ASPEED) is none.
func isGPU(d *PCIDevice) bool {
	switch d.Class.Base() {
	case 0x0302:
		return true
	case 0x0300:
		return d.Vendor == vendorNVIDIA
	case 0x1200, 0x0380:
		return d.Vendor == vendorAMD
	}
	return false
}

// gpus lists the GPUs of the PCI tree, in the order of their addresses, with what
// the driver's files say: no NVML is needed for it.
func (r *reading) gpus() {
	for _, d := range r.sys.PCI {
		if !isGPU(d) {
			continue
		}
		g := &GPU{Index: len(r.sys.GPUs), PCI: d.Address}
		if d.Vendor == vendorNVIDIA {
			r.driverFacts(g)
		}
		r.sys.GPUs = append(r.sys.GPUs, g)
	}
}

func (r *reading) driverFacts(g *GPU) {
	dir := path.Join(procGPUs, string(g.PCI))
	info := r.keyed(path.Join(dir, "information"))
	g.Name = info["Model"]
	if uuid := info["GPU UUID"]; strings.HasPrefix(uuid, "GPU-") && !strings.Contains(uuid, "?") {
		g.UUID = uuid
	}
	if minor, err := strconv.Atoi(info["Device Minor"]); err == nil && minor >= 0 {
		g.DeviceFile = fmt.Sprintf("/dev/nvidia%d", minor)
	}
	memory := r.keyed(path.Join(dir, "numa_status"))
	if id, err := strconv.Atoi(memory["Node"]); err == nil && id >= 0 {
		g.MemoryNode = &id
	}
}

// keyed reads lines of the form "Device Minor:  0".
func (r *reading) keyed(name string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(r.text(name)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			values[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return values
}

// deviceFiles looks for the files in /dev that programs open. A root without
// /dev tells nothing.
func (r *reading) deviceFiles() {
	if !r.IsDir("dev") {
		return
	}
	for _, g := range r.sys.GPUs {
		if g.DeviceFile != "" {
			found := r.there(strings.TrimPrefix(g.DeviceFile, "/"))
			g.DeviceFilePresent = &found
		}
	}
	for _, h := range r.sys.HCAs {
		if h.Uverbs != "" {
			found := r.there(path.Join("dev/infiniband", h.Uverbs))
			h.UverbsPresent = &found
		}
	}
}
