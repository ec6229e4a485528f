package verbs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is what a port signals now: lanes times the speed of a lane. The zero
// Rate is unknown.
type Rate struct {
	Gbps  float64 // gigabits per second of the whole port, in one direction
	Width string  // 1X, 2X, 4X, 8X or 12X
	Speed string  // SDR DDR QDR FDR10 FDR EDR HDR NDR XDR; RoCE ports use these names too
}

// parseRate reads the kernel's text: "100 Gb/sec (4X EDR)". Older kernels leave
// SDR out: "2.5 Gb/sec (1X)". A speed that came after this code keeps its name.
func parseRate(s string) (Rate, error) {
	bad := func() (Rate, error) {
		return Rate{}, fmt.Errorf("%q is not a port rate: want a text such as 100 Gb/sec (4X EDR)", clip(s))
	}
	number, link, ok := strings.Cut(s, " Gb/sec (")
	if !ok || !strings.HasSuffix(link, ")") {
		return bad()
	}
	gbps, err := strconv.ParseFloat(number, 64)
	if err != nil || gbps < 0 || math.IsInf(gbps, 0) || math.IsNaN(gbps) {
		return bad()
	}
	width, speed, _ := strings.Cut(strings.TrimSuffix(link, ")"), " ")
	if !isWidth(width) {
		return bad()
	}
	if speed == "" {
		speed = "SDR"
	}
	for _, c := range speed {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return bad()
		}
	}
	return Rate{Gbps: gbps, Width: width, Speed: speed}, nil
}

func isWidth(s string) bool {
	switch s {
	case "1X", "2X", "4X", "8X", "12X":
		return true
	}
	return false
}

// Lanes returns the number of lanes in use, 0 if the rate is unknown.
func (r Rate) Lanes() int {
	n, err := strconv.Atoi(strings.TrimSuffix(r.Width, "X"))
	if err != nil {
		return 0
	}
	return n
}

// BytesPerSecond returns the rate in bytes per second: a 100 Gb/s port moves at
// most 12.5e9.
func (r Rate) BytesPerSecond() float64 { return r.Gbps * 1e9 / 8 }

// String returns the kernel's text, "100 Gb/sec (4X EDR)", and "unknown" for the
// zero Rate.
func (r Rate) String() string {
	if r == (Rate{}) {
		return "unknown"
	}
	return strconv.FormatFloat(r.Gbps, 'f', -1, 64) + " Gb/sec (" + r.Width + " " + r.Speed + ")"
}
