package doctor

import "encoding/binary"

// configSpace is a function's PCI configuration space, as much of it as could be
// read: 64 bytes without root, 256 or 4096 with.
type configSpace []byte

const (
	capPointer      = 0x34
	firstCapability = 0x40
	capExpress      = 0x10
	extendedStart   = 0x100
	extendedACS     = 0x000d
)

// express returns the offset of the PCI Express capability; ok is false where the
// space was not read so far, or has none.
func (c configSpace) express() (offset int, ok bool) {
	if len(c) < extendedStart {
		return 0, false
	}
	at := int(c[capPointer]) &^ 3
	for range 48 {
		if at < firstCapability || at+20 > extendedStart {
			return 0, false
		}
		if c[at] == capExpress {
			return at, true
		}
		at = int(c[at+1]) &^ 3
	}
	return 0, false
}

// maxReadRequest is the greatest read request in bytes.
func (c configSpace) maxReadRequest() (bytes int, ok bool) {
	at, ok := c.express()
	if !ok {
		return 0, false
	}
	field := binary.LittleEndian.Uint16(c[at+8:]) >> 12 & 7
	if field > 5 {
		return 0, false
	}
	return 128 << field, true
}

// acs returns the control word of Access Control Services. there is false where
// the function has no such capability, read is false where that cannot be seen.
func (c configSpace) acs() (control uint16, there, read bool) {
	if len(c) < 4096 {
		return 0, false, false
	}
	at := extendedStart
	for range 480 {
		head := binary.LittleEndian.Uint32(c[at:])
		if head&0xffff == extendedACS {
			return binary.LittleEndian.Uint16(c[at+6:]), true, true
		}
		next := int(head>>20) &^ 3
		if next < extendedStart || next > 4096-8 {
			return 0, false, true
		}
		at = next
	}
	return 0, false, true
}

// facts are what the checks want of it.
func (c configSpace) facts() PCIConfig {
	var f PCIConfig
	f.MaxReadRequest, _ = c.maxReadRequest()
	if control, _, read := c.acs(); read {
		f.ACS = &control
	}
	return f
}

// acsRedirect are the bits that send peer traffic up to the root: redirection of
// requests and of completions, and upstream forwarding. Source validation (bit 0)
// redirects nothing.
const acsRedirect = 1<<2 | 1<<3 | 1<<4
