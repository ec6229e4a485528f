package nccl

import "fmt"

// Version is a release of NCCL as ncclGetVersion encodes it: 22803 is 2.28.3,
// and 2804 is 2.8.4, since the encoding changed with 2.9.
type Version int

// MakeVersion encodes a release.
func MakeVersion(major, minor, patch int) Version {
	if major <= 2 && minor <= 8 {
		return Version(major*1000 + minor*100 + patch)
	}
	return Version(major*10000 + minor*100 + patch)
}

// Parts returns the numbers of the release.
func (v Version) Parts() (major, minor, patch int) {
	n := int(v)
	if n < 10000 {
		return n / 1000, n / 100 % 10, n % 100
	}
	return n / 10000, n / 100 % 100, n % 100
}

// String returns the release as "2.28.3".
func (v Version) String() string {
	major, minor, patch := v.Parts()
	return fmt.Sprintf("%d.%d.%d", major, minor, patch)
}
