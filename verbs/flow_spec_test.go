package verbs

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFlowSpecLayout: lengths are those that internal/cverbs/abi/check_queue.c
// proves, and fields are in network order.
func TestFlowSpecLayout(t *testing.T) {
	ip := netip.MustParseAddr
	for _, c := range []struct {
		spec FlowSpec
		len  int
		kind uint32
		tail string // from byte 6 or 8 on
		at   int
	}{
		{FlowEth{
			Val:  EthFields{Dst: [6]byte{1, 2, 3, 4, 5, 6}, Src: [6]byte{7, 8, 9, 10, 11, 12}, EtherType: 0x0800, VLANTag: 0x123},
			Mask: EthFields{EtherType: 0xffff},
		}, 40, 0x20, "0102030405060708090a0b0c08000123" + "000000000000000000000000ffff0000" + "0000", 6},
		{FlowIPv4{Val: IPv4Fields{Src: ip("10.0.0.1"), Dst: ip("10.0.0.2")}, Mask: IPv4Fields{Src: ip("255.255.255.255")}, Inner: true},
			24, 0x130, "0a0000010a000002ffffffff00000000", 8},
		{FlowIPv4Ext{Val: IPv4ExtFields{Protocol: 17, TOS: 1, TTL: 2, Flags: 3}}, 32, 0x32,
			"000000000000000011010203" + "000000000000000000000000", 8},
		{FlowIPv6{Val: IPv6Fields{Src: ip("fe80::1"), FlowLabel: 0xabcde, NextHeader: 17, TrafficClass: 2, HopLimit: 3}}, 88, 0x31,
			"fe800000000000000000000000000001" + "00000000000000000000000000000000" + "000abcde" + "11020300" +
				hex.EncodeToString(make([]byte, 40)), 8},
		{FlowTCP{Val: PortFields{Dst: 80, Src: 0x1234}, Mask: PortFields{Dst: 0xffff}}, 16, 0x40, "00501234ffff00000000", 6},
		{FlowUDP{Val: PortFields{Dst: 4791}, Mask: PortFields{Dst: 0xffff}, Inner: true}, 16, 0x141, "12b70000ffff00000000", 6},
		{FlowESP{Val: ESPFields{SPI: 1, Seq: 2}}, 24, 0x34, "00000001000000020000000000000000", 8},
		{FlowVXLAN{Val: 5, Mask: 0xffffff}, 16, 0x50, "0000000500ffffff", 8},
		{FlowGRE{Val: GREFields{Flags: 0x2000, Protocol: 0x6558, Key: 9}}, 24, 0x51, "20006558000000090000000000000000", 8},
		{FlowMPLS{Val: 0x1000}, 16, 0x60, "0000100000000000", 8},
		{FlowDrop{}, 8, 0x1001, "", 8},
	} {
		raw, err := c.spec.spec()
		require.NoError(t, err)
		require.Len(t, raw, c.len, "%T", c.spec)
		assert.Equal(t, c.kind, binary.NativeEndian.Uint32(raw), "%T", c.spec)
		assert.Equal(t, c.len, int(binary.NativeEndian.Uint16(raw[4:])))
		assert.Equal(t, c.tail, hex.EncodeToString(raw[c.at:]), "%T", c.spec)
	}
	raw, err := FlowTag{ID: 77}.spec()
	require.NoError(t, err)
	require.Len(t, raw, 12)
	assert.Equal(t, uint32(77), binary.NativeEndian.Uint32(raw[8:]))
}

func TestFlowSpecRefusals(t *testing.T) {
	for _, s := range []FlowSpec{
		FlowIPv4{Val: IPv4Fields{Src: netip.MustParseAddr("fe80::1")}},
		FlowIPv4Ext{Mask: IPv4ExtFields{IPv4Fields: IPv4Fields{Dst: netip.MustParseAddr("::1")}}},
		FlowIPv6{Val: IPv6Fields{Dst: netip.MustParseAddr("10.0.0.1")}},
		FlowVXLAN{Val: 1 << 24},
	} {
		_, err := s.spec()
		assert.Error(t, err, "%T", s)
	}
	for _, r := range []FlowRule{{Specs: []FlowSpec{nil}}, {Specs: make([]FlowSpec, 256)}} {
		_, err := r.encode(1)
		assert.Error(t, err)
	}
	raw, err := (&FlowRule{Kind: FlowSniffer, Priority: 3, Specs: []FlowSpec{FlowTag{ID: 1}}}).encode(2)
	require.NoError(t, err)
	assert.Len(t, raw, 20+12)
}
