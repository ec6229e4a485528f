package gpubuffer

import (
	"strconv"
	"strings"
)

// samePCI compares PCI addresses, "0000:1b:00.0", "00000000:1B:00.0" or "1b:00.0".
func samePCI(a, b string) bool {
	x, ok := parsePCI(a)
	y, same := parsePCI(b)
	return ok && same && x == y
}

func parsePCI(text string) (address [4]uint64, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != 3 {
		return address, false
	}
	slot, function, dotted := strings.Cut(parts[2], ".")
	if !dotted {
		function = "0"
	}
	for i, p := range []string{parts[0], parts[1], slot, function} {
		v, err := strconv.ParseUint(p, 16, 32)
		if err != nil {
			return address, false
		}
		address[i] = v
	}
	return address, true
}
