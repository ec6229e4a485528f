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

const (
	// OurVersion is announced to the peer. It is perftest 4.5's, which every
	// release can talk to except those that announce 6.28.
	OurVersion Version = 606
	// oldestVersion is the first that sends all of the prologue.
	oldestVersion Version = 570
	// Peers from negotiatedVersion to before guardedVersion send a block of
	// parameters whatever the other side announced; later ones send it only to
	// a side that announced negotiatedVersion.
	negotiatedVersion Version = 628
	guardedVersion    Version = 629
)

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
	switch {
	case v < oldestVersion:
		return fmt.Errorf("%w: the peer announces version %v, the oldest that works is %v: "+
			"install perftest 4.5 or newer there", ErrIncompatible, v, oldestVersion)
	case v.needsNegotiation() && role == RoleClient:
		return fmt.Errorf("%w: a server of version %v (perftest 26.01) wants a parameter block that this tool does not send: "+
			"use another perftest release there, or let that side be the client", ErrIncompatible, v)
	default:
		return nil
	}
}

func (v Version) needsNegotiation() bool { return v >= negotiatedVersion && v < guardedVersion }
