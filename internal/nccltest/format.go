package nccltest

import (
	"fmt"
	"math"
	"strconv"
)

// testsVersion is the release of nccl-tests whose output this is.
const testsVersion = "2.19.6"

// fit writes a number in width columns: with two decimals, or as many as there is
// room for, or with an exponent.
func fit(v float64, width int) string {
	for decimals := 2; decimals >= 0; decimals-- {
		if s := fmt.Sprintf("%*.*f", width, decimals, v); len(s) <= width {
			return s
		}
	}
	decimals := 0
	if width >= 7 {
		decimals = 1
	}
	s := fmt.Sprintf("%*.*e", width, decimals, v)
	return s[:min(len(s), width)]
}

// general is C's %g.
func general(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return "inf"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// bytesText is an amount of memory with its unit, as -M prints it.
func bytesText(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KB", "MB", "GB"} {
		if math.Abs(v) < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	decimals := 0
	switch {
	case math.Abs(v) < 10:
		decimals = 2
	case math.Abs(v) < 100:
		decimals = 1
	}
	return fmt.Sprintf("%.*f %s", decimals, v, unit)
}
