package verbs

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// GUID is a 64-bit identifier of a node, a system image or a port, in network
// byte order: byte 0 is the most significant. The zero GUID means that there is
// none: it is not known, or, on a virtual function, not assigned yet.
//
// A value copied byte for byte from an ibv_device_attr (whose GUIDs are big
// endian in memory) is right on any host.
type GUID [8]byte

// GUIDFromUint64 returns the GUID whose printed digits are those of v in
// hexadecimal.
func GUIDFromUint64(v uint64) GUID {
	var g GUID
	binary.BigEndian.PutUint64(g[:], v)
	return g
}

// ParseGUID reads a GUID in one of the forms that tools print: the kernel's and
// ibv_devinfo's 0002:c903:00a0:5a10, ibstat's 0x0002c90300a05a10 (the prefix may
// be missing), and ip link's 00:02:c9:03:00:a0:5a:10. All 16 digits must stand.
func ParseGUID(s string) (GUID, error) {
	var g GUID
	digits := s
	switch strings.Count(s, ":") {
	case 0:
		digits = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	case 3:
		digits = joinGroups(s, 4)
	case 7:
		digits = joinGroups(s, 2)
	}
	if len(digits) == 2*len(g) {
		if _, err := hex.Decode(g[:], []byte(digits)); err == nil {
			return g, nil
		}
	}
	return GUID{}, fmt.Errorf("verbs: %q is not a GUID: want 16 hexadecimal digits, as in 0002:c903:00a0:5a10 or 0x0002c90300a05a10", clip(s))
}

// joinGroups removes the colons if every group has width digits, and returns
// "" otherwise.
func joinGroups(s string, width int) string {
	groups := strings.Split(s, ":")
	for _, g := range groups {
		if len(g) != width {
			return ""
		}
	}
	return strings.Join(groups, "")
}

// Uint64 returns the GUID as a number: the first printed digit is the highest.
func (g GUID) Uint64() uint64 { return binary.BigEndian.Uint64(g[:]) }

// IsZero reports whether there is no GUID.
func (g GUID) IsZero() bool { return g == GUID{} }

// String returns the form of the kernel and of ibv_devinfo: xxxx:xxxx:xxxx:xxxx.
func (g GUID) String() string { return hexGroups(g[:]) }

// MarshalText returns the same text as String.
func (g GUID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what ParseGUID reads.
func (g *GUID) UnmarshalText(text []byte) error {
	v, err := ParseGUID(string(text))
	if err != nil {
		return err
	}
	*g = v
	return nil
}

// MarshalBinary returns the 8 bytes in network order.
func (g GUID) MarshalBinary() ([]byte, error) { return g[:], nil }

// UnmarshalBinary reads 8 bytes in network order.
func (g *GUID) UnmarshalBinary(b []byte) error {
	if len(b) != len(g) {
		return fmt.Errorf("verbs: a GUID has %d bytes, not %d", len(g), len(b))
	}
	copy(g[:], b)
	return nil
}

// hexGroups prints bytes in groups of two, separated by colons.
func hexGroups(b []byte) string {
	out := make([]byte, 0, len(b)*5/2)
	for i := range b {
		if i > 0 && i%2 == 0 {
			out = append(out, ':')
		}
		out = hex.AppendEncode(out, b[i:i+1])
	}
	return string(out)
}

// clip keeps unexpected input from filling an error message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
