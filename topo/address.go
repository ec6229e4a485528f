package topo

import (
	"fmt"
	"strconv"
	"strings"
)

// Address is a PCI address in the kernel's form: domain:bus:device.function in
// lower-case hexadecimal, "0000:3b:00.0", with a domain of four digits, or more
// where it needs more ("10000:00:04.0"). "" is no address.
type Address string

// ParseAddress reads an address in any form that tools print: the domain may be
// missing (0000 then) and may have up to eight digits (NVML prints 00000000:3B:00.0);
// letters may be large.
func ParseAddress(s string) (Address, error) {
	text := strings.TrimSpace(s)
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append([]string{"0000"}, parts...)
	}
	if len(parts) != 3 {
		return "", badAddress(s)
	}
	device, function, ok := strings.Cut(parts[2], ".")
	domain, ok1 := hexDigits(parts[0], 1, 8, 0xffffffff)
	bus, ok2 := hexDigits(parts[1], 1, 2, 0xff)
	dev, ok3 := hexDigits(device, 1, 2, 0x1f)
	fn, ok4 := hexDigits(function, 1, 1, 7)
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 {
		return "", badAddress(s)
	}
	return Address(fmt.Sprintf("%04x:%02x:%02x.%d", domain, bus, dev, fn)), nil
}

func badAddress(s string) error {
	return fmt.Errorf("PCI address %q: want domain:bus:device.function in hexadecimal, as in 0000:3b:00.0", clip(s))
}

func hexDigits(s string, least, most int, limit uint64) (uint64, bool) {
	if len(s) < least || len(s) > most || s[0] == '+' || s[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 16, 64)
	return n, err == nil && n <= limit
}

// Slot is the address without the function: two functions of one slot are one
// device. It is "" for no address.
func (a Address) Slot() string {
	slot, _, _ := strings.Cut(string(a), ".")
	return slot
}

// Bus is the address without device and function, "0000:3b". It is "" for no
// address.
func (a Address) Bus() string {
	i := strings.LastIndexByte(string(a), ':')
	if i < 0 {
		return ""
	}
	return string(a[:i])
}

// Compare orders addresses by number.
func (a Address) Compare(b Address) int {
	if len(a) != len(b) && a != "" && b != "" {
		// Only a larger domain makes an address longer.
		return len(a) - len(b)
	}
	return strings.Compare(string(a), string(b))
}
