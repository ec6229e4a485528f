package bootstrap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// A frame is a header of 12 bytes and a body: "GFB", the version, the kind,
// three zero bytes, and the body's length, most significant byte first.
const (
	headerLen    = 12
	magic        = "GFB"
	protoVersion = 1
)

type frameKind byte

const (
	kindHello      frameKind = 1 + iota // rank to head: who I am
	kindChallenge                       // head to rank: a nonce
	kindProof                           // rank to head: I know the key
	kindAccepted                        // head to rank: so do I, now wait
	kindRefused                         // head to rank: and why
	kindWelcome                         // head to rank: all are here
	kindContribute                      // rank to head: my part of an operation
	kindResult                          // head to rank: everybody's
	kindFailed                          // head to rank: the session is over
	kindAbandon                         // rank to head: I no longer wait
	kindLeave                           // either: I close my session
	kindEnd
)

// handshakeLimit bounds the bodies of all frames before a rank has proved who it
// is, and of those that carry no data.
const handshakeLimit = 4096

// maxGather bounds what all ranks give to an operation together.
const maxGather = 1 << 30

// limits says how long bodies may be, in a world of this size.
type limits struct {
	size, message int
}

// of returns the longest body of a kind that this side accepts once a rank has
// joined.
func (l limits) of(kind frameKind) int {
	switch kind {
	case kindContribute:
		return contributionHead + l.message
	case kindResult:
		return resultHead + l.size*4 + min(maxGather, l.size*l.message)
	case kindWelcome:
		return 4 + l.size*peerLimit
	case kindFailed:
		return 64 + 3*4*l.size
	default:
		return handshakeLimit
	}
}

// handshake is the limit before a rank has joined.
func handshake(frameKind) int { return handshakeLimit }

func frame(kind frameKind, body []byte) []byte {
	out := make([]byte, headerLen, headerLen+len(body))
	copy(out, magic)
	out[3], out[4] = protoVersion, byte(kind)
	binary.BigEndian.PutUint32(out[8:], uint32(len(body)))
	return append(out, body...)
}

// readFrame reads one frame whose body is no longer than limit says. Memory
// grows with what arrives, not with what the header promises.
func readFrame(r io.Reader, limit func(frameKind) int) (frameKind, []byte, error) {
	var header [headerLen]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	kind, length, err := parseHeader(header, limit)
	if err != nil {
		return kind, nil, err
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(length)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return kind, nil, err
	}
	return kind, body.Bytes(), nil
}

func parseHeader(header [headerLen]byte, limit func(frameKind) int) (frameKind, int, error) {
	kind := frameKind(header[4])
	length := binary.BigEndian.Uint32(header[8:])
	switch {
	case string(header[:3]) != magic:
		return 0, 0, fmt.Errorf("%w: it begins with %q", ErrForeign, header[:])
	case header[3] != protoVersion:
		return 0, 0, fmt.Errorf("%w: it speaks version %d, this side version %d", ErrVersion, header[3], protoVersion)
	case kind == 0 || kind >= kindEnd || header[5]|header[6]|header[7] != 0:
		return 0, 0, fmt.Errorf("%w: unknown frame % x", ErrForeign, header[4:8])
	case int64(length) > int64(limit(kind)):
		return kind, 0, fmt.Errorf("%w: a frame of kind %d has %d bytes, %d is the most", ErrTooLarge, kind, length, limit(kind))
	}
	return kind, int(length), nil
}

// encoder appends the fields of a body.
type encoder []byte

func (e *encoder) u8(v byte)     { *e = append(*e, v) }
func (e *encoder) u32(v int)     { *e = binary.BigEndian.AppendUint32(*e, uint32(int32(v))) }
func (e *encoder) raw(v []byte)  { *e = append(*e, v...) }
func (e *encoder) blob(v []byte) { e.u32(len(v)); e.raw(v) }
func (e *encoder) text(v string) { e.blob([]byte(v)) }

func (e *encoder) ranks(list []int) {
	e.u32(len(list))
	for _, r := range list {
		e.u32(r)
	}
}

// decoder takes them apart again. After the first fault all fields are zero.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) raw(n int) []byte {
	if d.bad || n < 0 || n > len(d.rest) {
		d.bad = true
		return nil
	}
	v := d.rest[:n:n]
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) u8() byte {
	if v := d.raw(1); v != nil {
		return v[0]
	}
	return 0
}

func (d *decoder) u32() int {
	if v := d.raw(4); v != nil {
		return int(int32(binary.BigEndian.Uint32(v)))
	}
	return 0
}

func (d *decoder) blob() []byte { return d.raw(d.u32()) }

// text reads a name that may be printed: no longer than most, and without
// control characters.
func (d *decoder) text(most int) string {
	v := d.blob()
	if len(v) > most {
		d.bad = true
		return ""
	}
	for _, c := range v {
		if c < ' ' || c > '~' {
			d.bad = true
			return ""
		}
	}
	return string(v)
}

// ranks reads ascending ranks below MaxSize.
func (d *decoder) ranks() []int {
	n := d.u32()
	if n < 0 || n*4 > len(d.rest) {
		d.bad = true
		return nil
	}
	var list []int
	last := -1
	for range n {
		r := d.u32()
		if r <= last || r >= MaxSize {
			d.bad = true
			return nil
		}
		list = append(list, r)
		last = r
	}
	return list
}

// done reports a body that was too short, too long or out of form.
func (d *decoder) done(what string) error {
	if d.bad || len(d.rest) > 0 {
		return fmt.Errorf("%w: malformed %s", ErrForeign, what)
	}
	return nil
}
