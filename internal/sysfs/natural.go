package sysfs

import "strings"

// Compare orders names as people do: runs of digits by their number, so that
// mlx5_2 comes before mlx5_10. Names that differ only in leading zeros are
// ordered by their bytes, so that the order is total.
func Compare(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if isDigit(a[i]) && isDigit(b[j]) {
			x, y := digits(a[i:]), digits(b[j:])
			if c := compareNumbers(x, y); c != 0 {
				return c
			}
			i, j = i+len(x), j+len(y)
			continue
		}
		if a[i] != b[j] {
			if a[i] < b[j] {
				return -1
			}
			return 1
		}
		i, j = i+1, j+1
	}
	switch {
	case i < len(a):
		return 1
	case j < len(b):
		return -1
	}
	return strings.Compare(a, b)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func digits(s string) string {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return s[:n]
}

// compareNumbers compares runs of digits of any length by value.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}
