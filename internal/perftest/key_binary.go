package perftest

import (
	"encoding/binary"
	"fmt"
)

// Over the connection manager's control connection a key is a structure: 32-bit
// numbers in network order, a gap, the 64-bit address, the GID, and the shared
// receive queue's number and the GID's index, which the peer does not read.
const (
	keyLenBinary = 56

	keyAtLID      = 0
	keyAtOutReads = 4
	keyAtQPN      = 8
	keyAtPSN      = 12
	keyAtRKey     = 16
	keyAtVAddr    = 24
	keyAtGID      = 32
	keyAtSRQN     = 48
)

// EncodeBinaryKey returns the 56 bytes of k. QPN and PSN must fit in 24 bits.
func EncodeBinaryKey(k Key) ([]byte, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	msg := make([]byte, keyLenBinary)
	for _, f := range []struct {
		at    int
		value uint32
	}{{keyAtLID, uint32(k.LID)}, {keyAtOutReads, uint32(k.OutReads)}, {keyAtQPN, k.QPN}, {keyAtPSN, k.PSN}, {keyAtRKey, k.RKey}, {keyAtSRQN, k.SRQN}} {
		binary.BigEndian.PutUint32(msg[f.at:], f.value)
	}
	binary.BigEndian.PutUint64(msg[keyAtVAddr:], k.VAddr)
	if k.GID != nil {
		copy(msg[keyAtGID:], k.GID[:])
	}
	return msg, nil
}

// DecodeBinaryKey decodes the 56 bytes of a key. The form does not tell whether a
// GID is used: one of zeros is none. The error is a *FieldError that names the
// field.
func DecodeBinaryKey(msg []byte) (Key, error) {
	if len(msg) != keyLenBinary {
		return Key{}, &FieldError{Field: "key", Want: fmt.Sprintf("%d bytes", keyLenBinary), Got: msg}
	}
	for _, f := range []struct {
		name string
		at   int
		bits int
	}{{"lid", keyAtLID, 16}, {"out_reads", keyAtOutReads, 16}, {"qpn", keyAtQPN, 24}, {"psn", keyAtPSN, 24}} {
		if field := msg[f.at : f.at+4]; binary.BigEndian.Uint32(field)>>f.bits != 0 {
			return Key{}, &FieldError{Field: f.name, Want: fmt.Sprintf("a number of %d bits", f.bits), Got: field}
		}
	}
	number := func(at int) uint32 { return binary.BigEndian.Uint32(msg[at:]) }
	k := Key{
		LID: uint16(number(keyAtLID)), OutReads: uint16(number(keyAtOutReads)), QPN: number(keyAtQPN), PSN: number(keyAtPSN),
		RKey: number(keyAtRKey), VAddr: binary.BigEndian.Uint64(msg[keyAtVAddr:]), SRQN: number(keyAtSRQN),
	}
	if gid := GID(msg[keyAtGID : keyAtGID+16]); gid != (GID{}) {
		k.GID = &gid
	}
	return k, nil
}
