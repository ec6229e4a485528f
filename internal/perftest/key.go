package perftest

import (
	"errors"
	"fmt"
)

// GID is a port's global identifier, in network order.
type GID [16]byte

// isIPv4 tells whether g holds an IPv4 address (::ffff:a.b.c.d).
func (g GID) isIPv4() bool {
	return [10]byte(g[:10]) == [10]byte{} && g[10] == 0xff && g[11] == 0xff
}

// Key is what one queue pair's side tells the other: where it is and which
// memory the other may use. perftest sends it several times, also as a
// barrier, and uses the one parsed last: always send the true values.
type Key struct {
	// LID is the port's local identifier, zero on Ethernet.
	LID uint16
	// OutReads is the number of reads and atomics that the queue pair answers
	// at a time; 1 in tests that do neither.
	OutReads uint16
	// QPN is the queue pair's number, 24 bits.
	QPN uint32
	// PSN is the first packet sequence number, 24 bits, random.
	PSN uint32
	// RKey and VAddr name the memory that the peer may use.
	RKey  uint32
	VAddr uint64
	// GID is nil where no GID is used: on InfiniBand without -x. It decides the
	// form of the message, so both sides must agree on having one.
	GID *GID
	// SRQN is the shared receive queue's number, zero without one.
	SRQN uint32
}

// Lengths of the two forms of the message.
const (
	keyLenPlain = 59
	keyLenGID   = 108
)

const max24 = 1<<24 - 1

func (k Key) check() error {
	if k.QPN > max24 {
		return fmt.Errorf("perftest: the queue pair number %#x does not fit in 24 bits", k.QPN)
	}
	if k.PSN > max24 {
		return fmt.Errorf("perftest: the packet sequence number %#x does not fit in 24 bits", k.PSN)
	}
	return nil
}

// EncodeKey returns the message of k: 108 bytes with a GID, 59 without. QPN
// and PSN must fit in 24 bits.
func EncodeKey(k Key) ([]byte, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	msg := make([]byte, 0, keyLenGID)
	msg = fmt.Appendf(msg, "%04x:%04x:%06x:%06x:%08x:%016x:", k.LID, k.OutReads, k.QPN, k.PSN, k.RKey, k.VAddr)
	if k.GID == nil {
		return fmt.Appendf(msg, "%08x\x00", k.SRQN), nil
	}
	for _, octet := range k.GID {
		msg = fmt.Appendf(msg, "%02x:", octet)
	}
	return fmt.Appendf(msg, "%08x:\x00", k.SRQN), nil
}

// errKeyForm reports a message in the other form.
var errKeyForm = errors.New("one side uses a GID and the other does not")

// DecodeKey decodes a message of either form, which its length decides. Every
// field must have exactly its width, in lower-case hexadecimal. The error is a
// *FieldError that names the field.
func DecodeKey(msg []byte) (Key, error) {
	if len(msg) != keyLenPlain && len(msg) != keyLenGID {
		return Key{}, &FieldError{Field: "key", Want: fmt.Sprintf("%d or %d bytes", keyLenPlain, keyLenGID), Got: msg}
	}
	r := keyReader{rest: msg}
	k := Key{
		LID:      uint16(r.hex("lid", 4, ":")),
		OutReads: uint16(r.hex("out_reads", 4, ":")),
		QPN:      uint32(r.hex("qpn", 6, ":")),
		PSN:      uint32(r.hex("psn", 6, ":")),
		RKey:     uint32(r.hex("rkey", 8, ":")),
		VAddr:    r.hex("vaddr", 16, ":"),
	}
	end := "\x00"
	if len(msg) == keyLenGID {
		end = ":\x00"
		k.GID = new(GID)
		for i := range k.GID {
			k.GID[i] = byte(r.hex(fmt.Sprintf("gid[%d]", i), 2, ":"))
		}
	}
	k.SRQN = uint32(r.hex("srqn", 8, end))
	if r.err != nil {
		return Key{}, r.err
	}
	return k, nil
}

// keyReader takes fields off the front of a message and keeps the first error.
type keyReader struct {
	rest []byte
	err  error
}

// hex takes digits lower-case hexadecimal digits and what must follow them.
// The message's length was checked, and it is the sum of the widths.
func (r *keyReader) hex(field string, digits int, after string) uint64 {
	if r.err != nil {
		return 0
	}
	taken := r.rest[:digits+len(after)]
	r.rest = r.rest[len(taken):]
	var v uint64
	ok := string(taken[digits:]) == after
	for _, c := range taken[:digits] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			ok = false
		}
	}
	if !ok {
		r.err = &FieldError{Field: field, Want: fmt.Sprintf("%d hexadecimal digits and %q", digits, after), Got: taken}
	}
	return v
}

// checkGIDs refuses a pair of GIDs of which one holds an IPv4 address and the
// other does not, as perftest does: they are on different kinds of network.
func checkGIDs(local, peer Key) error {
	if local.GID == nil || peer.GID == nil || local.GID.isIPv4() == peer.GID.isIPv4() {
		return nil
	}
	return fmt.Errorf("%w: one side's GID holds an IPv4 address and the other's does not: "+
		"choose GIDs of one kind with -x", ErrIncompatible)
}
