package verbs

import (
	"encoding/binary"
	"fmt"
)

// GRHLen is how many bytes stand in front of a received datagram. They hold a
// header if Completion.HasGRH says so, and nothing otherwise.
const GRHLen = 40

// GRH is the header in front of a received datagram: a global route header or,
// on RoCE v2 over IPv4, the IPv4 header of the packet.
type GRH struct {
	IPv4          bool // the packet came over IPv4; the GIDs are mapped addresses
	TrafficClass  uint8
	FlowLabel     uint32 // 20 bits; IPv4 has none
	PayloadLength uint16 // bytes that followed the header in the packet
	NextHeader    uint8  // 27 on InfiniBand and RoCE v1, 17 on RoCE v2
	HopLimit      uint8
	SGID, DGID    GID // of the sender and of the receiver or the group
}

// ParseGRH reads the first GRHLen bytes of a receive.
func ParseGRH(b []byte) (GRH, error) {
	if len(b) < GRHLen {
		return GRH{}, fmt.Errorf("verbs: %d bytes are no GRH: it has %d", len(b), GRHLen)
	}
	const ipv4Len = 20
	ip := b[GRHLen-ipv4Len : GRHLen]
	switch {
	case b[0]>>4 == 6:
		word := binary.BigEndian.Uint32(b)
		return GRH{
			TrafficClass:  uint8(word >> 20),
			FlowLabel:     word & 0xfffff,
			PayloadLength: binary.BigEndian.Uint16(b[4:]),
			NextHeader:    b[6],
			HopLimit:      b[7],
			SGID:          GID(b[8:24]),
			DGID:          GID(b[24:40]),
		}, nil
	case ip[0] == 0x45:
		return GRH{
			IPv4:          true,
			TrafficClass:  ip[1],
			PayloadLength: max(binary.BigEndian.Uint16(ip[2:]), ipv4Len) - ipv4Len,
			NextHeader:    ip[9],
			HopLimit:      ip[8],
			SGID:          mapIPv4(ip[12:16]),
			DGID:          mapIPv4(ip[16:20]),
		}, nil
	}
	return GRH{}, fmt.Errorf("verbs: the header in front of the datagram is neither a GRH nor IPv4")
}

func mapIPv4(ip []byte) GID {
	g := GID{10: 0xff, 11: 0xff}
	copy(g[12:], ip)
	return g
}
