package topo

import (
	"fmt"
	"strconv"
	"strings"
)

// Link is a PCIe link: what it runs at and what both ends could. Speeds are in
// GT/s per lane. A field is 0 where it is not known; no link has a speed or a
// width of 0.
type Link struct {
	Speed    float64 `json:"speed,omitempty"`
	Width    int     `json:"width,omitempty"`
	MaxSpeed float64 `json:"maxSpeed,omitempty"`
	MaxWidth int     `json:"maxWidth,omitempty"`
}

// GBps is the payload-bearing rate of the link in GB/s and direction, as it runs,
// after line coding: 15.75 for Gen3 x16, 31.5 for Gen4, 63.0 for Gen5. ok is
// false where speed or width is not known.
func (l Link) GBps() (rate float64, ok bool) { return gbps(l.Speed, l.Width) }

// MaxGBps is GBps at the greatest speed and width.
func (l Link) MaxGBps() (rate float64, ok bool) { return gbps(l.MaxSpeed, l.MaxWidth) }

func gbps(speed float64, width int) (float64, bool) {
	if speed <= 0 || width <= 0 {
		return 0, false
	}
	code := 128.0 / 130
	switch {
	case speed <= 5:
		code = 0.8 // 8b/10b
	case speed >= 64:
		code = 242.0 / 256 // flits
	}
	return speed * code * float64(width) / 8, true
}

// Generation returns the PCIe generation whose speed the number of GT/s is, and
// false for a speed that no generation has.
func Generation(speed float64) (int, bool) {
	for i, s := range []float64{2.5, 5, 8, 16, 32, 64} {
		if s == speed {
			return i + 1, true
		}
	}
	return 0, false
}

// ParseSpeed reads the speed of a link in GT/s: "16.0 GT/s PCIe" (the kernel),
// "16 GT/s", "32 GT/s PCIe/s" (a cloud's file), "16GT/s" (lspci), "16". ok is
// false, and the error nil, for the kernel's "Unknown" and "Unknown speed".
func ParseSpeed(s string) (speed float64, ok bool, err error) {
	text := strings.TrimSpace(s)
	if text == "" || strings.HasPrefix(strings.ToLower(text), "unknown") {
		return 0, false, nil
	}
	number, rest := text, ""
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		number, rest = text[:i], strings.TrimSpace(text[i:])
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v <= 0 || v > 1024 || rest != "" && !strings.HasPrefix(rest, "GT/s") {
		return 0, false, fmt.Errorf("link speed %q: want a number of GT/s, as in \"16.0 GT/s PCIe\"", clip(s))
	}
	return v, true, nil
}

// ParseWidth reads the width of a link in lanes: "16", "x16". ok is false, and
// the error nil, for the kernel's "0", "63" and "255" of a link that is not there.
func ParseWidth(s string) (width int, ok bool, err error) {
	text := strings.TrimPrefix(strings.TrimSpace(s), "x")
	n, err := strconv.ParseUint(text, 10, 8)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("link width %q: want a number of lanes, as in 16", clip(s))
	case n == 0 || n == 63 || n == 255:
		return 0, false, nil
	case n > 32:
		return 0, false, fmt.Errorf("link width %q: a link has at most 32 lanes", clip(s))
	}
	return int(n), true, nil
}
