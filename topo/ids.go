package topo

import (
	"fmt"
	"strconv"
	"strings"
)

// Class is a PCI class code of three bytes: base class, subclass, interface.
// 0x030200 is a GPU without display, 0x020700 InfiniBand, 0x060400 a bridge. 0
// stands for a class that is not known.
type Class uint32

// Base returns base class and subclass: 0x0302.
func (c Class) Base() uint16 { return uint16(c >> 8) }

// IsBridge reports whether it is the class of bridges between PCI buses.
func (c Class) IsBridge() bool { return c.Base() == 0x0604 }

// String returns "0x030200".
func (c Class) String() string { return fmt.Sprintf("0x%06x", uint32(c)) }

// MarshalText implements encoding.TextMarshaler.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Class) UnmarshalText(text []byte) error {
	n, err := parseHex(string(text), 32)
	*c = Class(n)
	return err
}

// ID is a vendor's or a device's number in PCI: 0x15b3 is Mellanox. 0 stands for
// a number that is not known.
type ID uint16

// The vendors that rules here depend on.
const (
	vendorNVIDIA   ID = 0x10de
	vendorMellanox ID = 0x15b3
	vendorAMD      ID = 0x1002
	vendorBroadcom ID = 0x1000
)

// String returns "0x15b3".
func (id ID) String() string { return fmt.Sprintf("0x%04x", uint16(id)) }

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	n, err := parseHex(string(text), 16)
	*id = ID(n)
	return err
}

func parseHex(s string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(s), "0x"), 16, bits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a hexadecimal number of at most %d bits", clip(s), bits)
	}
	return n, nil
}
