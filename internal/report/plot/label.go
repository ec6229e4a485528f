package plot

import (
	"math"
	"strconv"
	"strings"
)

// decimals writes a value with three digits or, before the point, as many as
// there are, without zeros at the end and without an exponent unless it is far
// from 1.
func decimals(v float64) string {
	size := math.Abs(v)
	if size != 0 && (size < 1e-4 || size >= 1e7) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	places := 2
	if size > 0 {
		places = min(max(2-int(math.Floor(math.Log10(size))), 0), 6)
	}
	text := strconv.FormatFloat(v, 'f', places, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// scaled writes a value in the greatest unit of which there is one.
func scaled(v float64, units []unit) string {
	chosen := units[0]
	for _, u := range units[1:] {
		// What rounds to 1000 of a unit is 1 of the next.
		if math.Abs(v) >= u.of*0.9995 {
			chosen = u
		}
	}
	return decimals(v/chosen.of) + " " + chosen.name
}

type unit struct {
	of   float64
	name string
}

var (
	byteUnits   = []unit{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}, {1 << 50, "PiB"}}
	secondUnits = []unit{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}}
)

// Bytes writes a number of bytes: "8 B", "64 KiB", "1.5 GiB".
func Bytes(v float64) string { return scaled(v, byteUnits) }

// Seconds writes a time in seconds: "3.36 µs", "12.4 ms".
func Seconds(v float64) string { return scaled(v, secondUnits) }
