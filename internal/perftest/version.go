package perftest

import (
	"bytes"
	"fmt"
)

// Version is the version that perftest announces, in hundredths: 606 is
// "6.06". It is the version of the protocol rather than the release: release
// 4.5 announces 6.06, and the releases after it count on:
//
//	4.5 (Debian 12)    6.06
//	23.10              6.17: sends no "done" at its end
//	25.01 (Debian 13)  6.24: nothing else of 6.06 is different on the wire
//	26.01              6.28: sends a block of parameters, and wants the peer's
//	26.04              6.29: does so only with a peer that announced 6.28 or more
//
// Between 4.5 and 25.01 the output changed, not the protocol: MiB/sec for MB/sec
// in the header, two more spaces before the message rate, a second field in the
// lines "PCIe relax order" and "ibv_wr* API".
type Version int

// OurVersion is announced to the peer. It is perftest 4.5's, which every
// release can talk to except those that announce 6.28.
const OurVersion Version = 606

// dialect is how the releases from one version on differ from those before.
type dialect struct {
	since Version
	// refused says why we cannot talk to them; empty if we can.
	refused string
	// parameters tells whether they send a block of parameters after the MTU
	// to a side that announces OurVersion.
	parameters bool
}

// dialects are the releases whose protocol differs, the oldest first.
var dialects = []dialect{
	// Before 5.70 the prologue is another one.
	{since: 0, refused: "the oldest that works is 5.70: install perftest 4.5 or newer there"},
	{since: 570}, // 4.5 announces 6.06
	{since: 617}, // 23.10: the last message, which nobody read, is gone
	{since: 628, parameters: true},
	{since: 629}, // the block goes only to a side that announces 6.28 or newer
}

// dialect returns how v differs.
func (v Version) dialect() dialect {
	at := 0
	for i, d := range dialects {
		if v >= d.since {
			at = i
		}
	}
	return dialects[at]
}

const versionLen = 16

func (v Version) String() string { return fmt.Sprintf("%d.%02d", int(v)/100, int(v)%100) }

// encode returns the version message: ASCII, padded with NULs.
func (v Version) encode() []byte {
	msg := make([]byte, versionLen)
	copy(msg, v.String())
	return msg
}

// ParseVersion decodes a version message: digits, a point, digits, and NULs to
// the end. What follows the first NUL does not count. "5.7" is 5.70; digits
// after the second decimal do not count.
func ParseVersion(msg []byte) (Version, error) {
	text, _, terminated := bytes.Cut(msg, []byte{0})
	whole, fraction, point := bytes.Cut(text, []byte{'.'})
	bad := &FieldError{Field: "version", Want: `a number like "6.06"`, Got: text}
	if len(msg) != versionLen || !terminated || !point || len(whole) == 0 || len(whole) > 4 || len(fraction) == 0 {
		return 0, bad
	}
	v := 0
	for _, c := range whole {
		if c < '0' || c > '9' {
			return 0, bad
		}
		v = v*10 + int(c-'0')
	}
	for i, c := range fraction {
		if c < '0' || c > '9' {
			return 0, bad
		}
		if i < 2 {
			v = v*10 + int(c-'0')
		}
	}
	if len(fraction) == 1 {
		v *= 10
	}
	return Version(v), nil
}

// check refuses the versions that we cannot talk to in role.
func (v Version) check(role Role) error {
	d := v.dialect()
	switch {
	case d.refused != "":
		return fmt.Errorf("%w: the peer announces version %v; %s", ErrIncompatible, v, d.refused)
	case d.parameters && role == RoleClient:
		return fmt.Errorf("%w: a server of version %v (perftest 26.01) wants a parameter block that this tool does not send: "+
			"use another perftest release there, or let that side be the client", ErrIncompatible, v)
	default:
		return nil
	}
}

func (v Version) needsNegotiation() bool { return v.dialect().parameters }
