package nvml

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

// The variables by which CUDA's users choose GPUs.
const (
	visibleVariable = "CUDA_VISIBLE_DEVICES"
	orderVariable   = "CUDA_DEVICE_ORDER"
)

// Visibility is what CUDA makes of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
type Visibility struct {
	// Devices are CUDA's devices: the first is its ordinal 0.
	Devices []VisibleDevice
	// Certain is false if CUDA may number the GPUs in another way: it puts the
	// fastest first by a rule of its own unless CUDA_DEVICE_ORDER=PCI_BUS_ID
	// says otherwise, and the GPUs here are not all of one model. What CUDA
	// says of an ordinal (ByPCIAddress) is certain always.
	Certain bool
	// Ignored is the first entry that CUDA could not use, which hides all that
	// follow, and Reason why; empty if every entry names a device. "-1" stands
	// here too: it is the usual way to end the list, or to hide all.
	Ignored string
	Reason  string
}

// VisibleDevice is one device that CUDA sees.
type VisibleDevice struct {
	GPU GPU
	// MIG is the part of the GPU that is seen; nil for a whole GPU. CUDA uses
	// no more than the first MIG device of a list.
	MIG *MIGDevice
}

// VisibleFromEnvironment is Visible with the variables of this process. CUDA
// reads them when it starts: what was changed later has no effect on it.
func VisibleFromEnvironment(gpus []GPU) Visibility {
	var devices *string
	if value, ok := os.LookupEnv(visibleVariable); ok {
		devices = &value
	}
	return Visible(gpus, devices, os.Getenv(orderVariable))
}

// Visible works out which of a machine's GPUs CUDA sees, and as which ordinals.
// devices is the value of CUDA_VISIBLE_DEVICES, nil if it is not set, which
// leaves all; order is that of CUDA_DEVICE_ORDER.
//
// The list may hold indexes in CUDA's order, or UUIDs ("GPU-8932f937-…") and
// prefixes of them that fit one GPU, or MIG devices ("MIG-…", also the older
// "MIG-GPU-…/1/0"). The form of the first entry is the form of all. An entry
// that names no device ends the list; what stands before it counts. A device
// that stands twice hides all.
func Visible(gpus []GPU, devices *string, order string) Visibility {
	ordered := append([]GPU(nil), gpus...)
	sort.SliceStable(ordered, func(i, j int) bool { return pciLess(ordered[i].PCIAddress, ordered[j].PCIAddress) })
	v := Visibility{Certain: order == "PCI_BUS_ID" || oneModel(gpus)}
	if devices == nil {
		for _, g := range ordered {
			v.Devices = append(v.Devices, VisibleDevice{GPU: g})
		}
		return v
	}
	list := strings.Split(*devices, ",")
	if strings.TrimSpace(*devices) == "" {
		// Set to nothing: all are hidden, and no entry is to blame.
		v.Certain = true
		return v
	}
	form := formOf(list[0])
	if form != formIndex {
		v.Certain = true
	}
	for _, entry := range list {
		device, reason := choose(ordered, form, entry)
		if reason == "" && v.holds(device) {
			v.Devices, reason = nil, "it stands twice, which hides all"
		}
		if reason != "" {
			v.Ignored, v.Reason = strings.TrimSpace(entry), reason
			break
		}
		v.Devices = append(v.Devices, device)
	}
	if len(v.Devices) == 0 {
		v.Certain = true
	}
	return v
}

func (v Visibility) holds(d VisibleDevice) bool {
	for _, other := range v.Devices {
		if other.GPU.UUID == d.GPU.UUID && (other.MIG == nil) == (d.MIG == nil) && (d.MIG == nil || other.MIG.UUID == d.MIG.UUID) {
			return true
		}
	}
	return false
}

func oneModel(gpus []GPU) bool {
	for _, g := range gpus {
		if g.Name != gpus[0].Name {
			return false
		}
	}
	return true
}

// visibleForm is the way in which a list names devices.
type visibleForm int

const (
	formIndex visibleForm = iota
	formGPU
	formMIG
)

func formOf(entry string) visibleForm {
	entry = strings.TrimSpace(entry)
	switch {
	case strings.HasPrefix(entry, "MIG-"):
		return formMIG
	case strings.HasPrefix(entry, "GPU-"):
		return formGPU
	}
	return formIndex
}

// choose finds the device of one entry, or says why there is none.
func choose(ordered []GPU, form visibleForm, entry string) (VisibleDevice, string) {
	entry = strings.TrimSpace(entry)
	if found := formOf(entry); found != form {
		return VisibleDevice{}, "it is not of the first entry's form"
	}
	switch form {
	case formGPU:
		return chooseGPU(ordered, entry)
	case formMIG:
		return chooseMIG(ordered, entry)
	}
	index, ok := leadingNumber(entry)
	switch {
	case !ok:
		return VisibleDevice{}, "it is no index, GPU or MIG device"
	case index < 0:
		return VisibleDevice{}, "a negative index ends the list"
	case index >= len(ordered):
		return VisibleDevice{}, fmt.Sprintf("this machine has %d GPUs, counted from 0", len(ordered))
	}
	return VisibleDevice{GPU: ordered[index]}, ""
}

// leadingNumber reads a number the way strtol(3) does, as CUDA: what follows
// the digits is not looked at.
func leadingNumber(text string) (int, bool) {
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[end] == '-' || text[end] == '+')) {
		end++
	}
	n, err := strconv.Atoi(text[:end])
	return n, err == nil
}

func chooseGPU(ordered []GPU, prefix string) (VisibleDevice, string) {
	var found []GPU
	for _, g := range ordered {
		if g.UUID == prefix {
			return VisibleDevice{GPU: g}, ""
		}
		if strings.HasPrefix(g.UUID, prefix) {
			found = append(found, g)
		}
	}
	switch len(found) {
	case 0:
		return VisibleDevice{}, "no GPU here has that UUID"
	case 1:
		return VisibleDevice{GPU: found[0]}, ""
	}
	return VisibleDevice{}, fmt.Sprintf("%d GPUs have UUIDs that begin so", len(found))
}

func chooseMIG(ordered []GPU, name string) (VisibleDevice, string) {
	for _, g := range ordered {
		if g.MIG == nil {
			continue
		}
		for i := range g.MIG.Devices {
			if device := &g.MIG.Devices[i]; device.UUID == name || oldMIGName(g, *device) == name {
				return VisibleDevice{GPU: g, MIG: device}, ""
			}
		}
	}
	return VisibleDevice{}, "no MIG device here has that name"
}

// oldMIGName is the name that drivers before R470 gave: the GPU's UUID and the
// numbers of the two instances.
func oldMIGName(g GPU, d MIGDevice) string {
	if d.GPUInstance == nil || d.ComputeInstance == nil {
		return ""
	}
	return fmt.Sprintf("MIG-%s/%d/%d", g.UUID, *d.GPUInstance, *d.ComputeInstance)
}
