package perftest

import (
	"encoding/binary"
	"fmt"
)

// Limits of what a peer may announce. They are far above any machine's values
// and keep a stray peer from making us allocate its number of bytes.
const (
	maxPageSize  = 1 << 24
	maxCacheLine = 1 << 16
)

const scalarLen = 4

func encodeScalar(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

// decodeScalar decodes a big-endian 32-bit number in 1..limit.
func decodeScalar(field string, limit int, msg []byte) (int, error) {
	bad := &FieldError{Field: field, Want: fmt.Sprintf("a number in 1..%d", limit), Got: msg}
	if len(msg) != scalarLen {
		return 0, bad
	}
	v := binary.BigEndian.Uint32(msg)
	if v == 0 || v > uint32(limit) {
		return 0, bad
	}
	return int(v), nil
}

// MTU is a path MTU as verbs number it, 1 for 256 bytes to 5 for 4096.
type MTU int

const mtuLen = 2

// MTUFromBytes returns the MTU of n bytes. It is false unless n is 256, 512,
// 1024, 2048 or 4096.
func MTUFromBytes(n int) (MTU, bool) {
	for m := MTU(1); m <= 5; m++ {
		if m.Bytes() == n {
			return m, true
		}
	}
	return 0, false
}

// Bytes returns the MTU in bytes, or zero when m is not valid.
func (m MTU) Bytes() int {
	if !m.valid() {
		return 0
	}
	return 128 << m
}

func (m MTU) valid() bool { return m >= 1 && m <= 5 }

func (m MTU) encode() []byte { return []byte{'0' + byte(m), 0} }

// agree returns the MTU that both sides use: the smaller one. A peer's digit
// that is no MTU does not count.
func (m MTU) agree(peer MTU) MTU {
	if peer.valid() {
		return min(m, peer)
	}
	return m
}

// decodeMTU decodes a digit and a NUL. The digit need not be a valid MTU.
func decodeMTU(msg []byte) (MTU, error) {
	if len(msg) != mtuLen || msg[0] < '0' || msg[0] > '9' || msg[1] != 0 {
		return 0, &FieldError{Field: "MTU", Want: "a digit and a NUL", Got: msg}
	}
	return MTU(msg[0] - '0'), nil
}
