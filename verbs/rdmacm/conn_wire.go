package rdmacm

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The wire format of a Conn, version 1. All of it travels on one reliable queue
// pair, in order.
//
// Every message is a send with immediate data, or, for the last part of a large
// message, an RDMA write with immediate data. The immediate data has the kind of
// the message in its highest 8 bits, zeros in the next 8, and in the lowest 16 the
// credits that the message returns. A credit is leave to send one message of the
// kinds data, offer, region and revoke; the others need none, as what they answer
// bounds their number.
//
//	kind          body, in network order
//	hello      1  "GFCN", version 16 bits, zero 16, window 32, buffer size 32,
//	              large messages at once 32, largest message 64 bits
//	data       2  a message, up to the receiver's buffer size
//	credit     3  none
//	offer      4  length 64: a message that is longer than a buffer
//	grant      5  address 64, remote key 32, zero 32: where to write the oldest
//	              offer that has no grant
//	done       6  (RDMA write) the oldest offer with a grant was written
//	region     7  id 32, access 32, address 64, length 64, remote key 32, zero 16,
//	              length of the name 16, name
//	revoke     8  id 32: the region must not be used any more
//	revoked    9  id 32: it is not, and will not be
//	end       10  none: no message follows from this side
//	abort     11  none: the connection is given up
//
// Each side says hello first, and believes nothing before it has heard one.
const (
	wireMagic   = "GFCN"
	wireVersion = 1
)

type kind uint8

const (
	kindHello kind = iota + 1
	kindData
	kindCredit
	kindOffer
	kindGrant
	kindDone
	kindRegion
	kindRevoke
	kindRevoked
	kindEnd
	kindAbort
)

const (
	maxCredits = math.MaxUint16
	maxName    = 128
)

// packImm makes the immediate data of a message.
func packImm(k kind, credits uint16) uint32 { return uint32(k)<<24 | uint32(credits) }

func parseImm(imm uint32) (k kind, credits uint16, err error) {
	k = kind(imm >> 24)
	if k < kindHello || k > kindAbort || imm>>16&0xff != 0 {
		return 0, 0, fmt.Errorf("%w: immediate data 0x%08x", ErrProtocol, imm)
	}
	return k, uint16(imm), nil
}

// hello is what a side can do.
type hello struct {
	version    uint16
	window     uint32 // messages that may be on their way to it
	bufferSize uint32 // bytes of a receive
	large      uint32 // offers that it takes at once
	maxMessage uint64 // bytes
}

const helloLen = 28

func (h hello) append(b []byte) []byte {
	b = append(b, wireMagic...)
	b = binary.BigEndian.AppendUint16(b, h.version)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint32(b, h.window)
	b = binary.BigEndian.AppendUint32(b, h.bufferSize)
	b = binary.BigEndian.AppendUint32(b, h.large)
	return binary.BigEndian.AppendUint64(b, h.maxMessage)
}

// parseHello reads a hello. A later version may have a longer one.
func parseHello(b []byte) (hello, error) {
	if len(b) < helloLen || string(b[:4]) != wireMagic {
		return hello{}, &HelloError{Reason: "it does not say hello as a Conn does", Err: ErrForeignPeer}
	}
	h := hello{
		version:    binary.BigEndian.Uint16(b[4:]),
		window:     binary.BigEndian.Uint32(b[8:]),
		bufferSize: binary.BigEndian.Uint32(b[12:]),
		large:      binary.BigEndian.Uint32(b[16:]),
		maxMessage: binary.BigEndian.Uint64(b[20:]),
	}
	switch {
	case h.version != wireVersion:
		return h, &HelloError{Version: h.version, Err: ErrForeignPeer,
			Reason: fmt.Sprintf("it speaks version %d, this side version %d", h.version, wireVersion)}
	case h.window < 1 || h.window > maxWindow || h.bufferSize < minBufferSize || h.bufferSize > maxBufferSize ||
		h.large < 1 || h.large > maxLarge || h.maxMessage < uint64(h.bufferSize) || h.maxMessage > maxMessageSize:
		return h, &HelloError{Version: h.version, Err: ErrForeignPeer,
			Reason: fmt.Sprintf("its sizes make no sense: window %d, buffers of %d bytes, %d large messages, messages up to %d bytes",
				h.window, h.bufferSize, h.large, h.maxMessage)}
	}
	return h, nil
}

func appendOffer(b []byte, length uint64) []byte { return binary.BigEndian.AppendUint64(b, length) }

func parseOffer(b []byte) (length uint64, err error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%w: an offer of %d bytes", ErrProtocol, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// grant is where a large message goes.
type grant struct {
	addr uint64
	rkey uint32
}

func (g grant) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, g.addr)
	b = binary.BigEndian.AppendUint32(b, g.rkey)
	return append(b, 0, 0, 0, 0)
}

func parseGrant(b []byte) (grant, error) {
	if len(b) != 16 {
		return grant{}, fmt.Errorf("%w: a grant of %d bytes", ErrProtocol, len(b))
	}
	return grant{addr: binary.BigEndian.Uint64(b), rkey: binary.BigEndian.Uint32(b[8:])}, nil
}

// regionNote is what a peer learns of advertised memory.
type regionNote struct {
	id     uint32
	access RegionAccess
	addr   uint64
	length uint64
	rkey   uint32
	name   string
}

const regionHead = 32

func (r regionNote) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, r.id)
	b = binary.BigEndian.AppendUint32(b, uint32(r.access))
	b = binary.BigEndian.AppendUint64(b, r.addr)
	b = binary.BigEndian.AppendUint64(b, r.length)
	b = binary.BigEndian.AppendUint32(b, r.rkey)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(r.name)))
	return append(b, r.name...)
}

func parseRegion(b []byte) (regionNote, error) {
	if len(b) < regionHead {
		return regionNote{}, fmt.Errorf("%w: a region of %d bytes", ErrProtocol, len(b))
	}
	r := regionNote{
		id:     binary.BigEndian.Uint32(b),
		access: RegionAccess(binary.BigEndian.Uint32(b[4:])),
		addr:   binary.BigEndian.Uint64(b[8:]),
		length: binary.BigEndian.Uint64(b[16:]),
		rkey:   binary.BigEndian.Uint32(b[24:]),
		name:   string(b[regionHead:]),
	}
	named := int(binary.BigEndian.Uint16(b[30:]))
	if named != len(r.name) || named > maxName || r.length == 0 || r.addr > math.MaxUint64-r.length || r.access.check() != nil {
		return regionNote{}, fmt.Errorf("%w: a region that makes no sense", ErrProtocol)
	}
	return r, nil
}

func appendID(b []byte, id uint32) []byte { return binary.BigEndian.AppendUint32(b, id) }

func parseID(b []byte) (uint32, error) {
	if len(b) != 4 {
		return 0, fmt.Errorf("%w: a region's id of %d bytes", ErrProtocol, len(b))
	}
	return binary.BigEndian.Uint32(b), nil
}
