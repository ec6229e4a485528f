package nvml

import (
	"fmt"
	"strconv"
	"strings"
)

// ParsePCIAddress brings a PCI address into the form of the kernel's sysfs and
// of this package: lower case, "dddd:bb:dd.f". A domain of more than four digits
// keeps them ("10000:00:02.0", Hyper-V and VMD have such); one that NVML pads
// with zeros loses these. A missing domain is 0, a missing function too.
func ParsePCIAddress(text string) (string, error) {
	bad := func() (string, error) {
		if len(text) > 40 {
			text = text[:40] + "…"
		}
		return "", fmt.Errorf("%q is not a PCI address: want domain:bus:device.function in hexadecimal, such as 0000:1b:00.0", text)
	}
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != 3 {
		return bad()
	}
	slot, function, dotted := strings.Cut(parts[2], ".")
	if !dotted {
		function = "0"
	}
	domain, ok1 := hexField(parts[0], 8, 0xffffffff)
	bus, ok2 := hexField(parts[1], 2, 0xff)
	device, ok3 := hexField(slot, 2, 0x1f)
	fn, ok4 := hexField(function, 1, 7)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return bad()
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, device, fn), nil
}

func hexField(text string, longest int, highest uint64) (uint64, bool) {
	if text == "" || len(text) > longest {
		return 0, false
	}
	// ParseUint takes no sign, but underscores only with base 0.
	value, err := strconv.ParseUint(text, 16, 64)
	return value, err == nil && value <= highest
}

// pciLess orders addresses of ParsePCIAddress's form as CUDA does with
// CUDA_DEVICE_ORDER=PCI_BUS_ID: a longer domain is a higher one.
func pciLess(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}
