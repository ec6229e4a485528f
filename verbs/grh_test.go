package verbs

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func grhIPv6() []byte {
	b := make([]byte, GRHLen)
	binary.BigEndian.PutUint32(b, 6<<28|0xab<<20|0x12345)
	binary.BigEndian.PutUint16(b[4:], 300)
	b[6], b[7] = 27, 9
	b[8], b[23] = 0xfe, 1
	b[24], b[39] = 0xff, 2
	return b
}

func grhIPv4(t testing.TB) []byte {
	// A header as rdma_rxe stores it.
	ip, err := hex.DecodeString("4502003c0000400040115000" + "0a000001" + "ef010203")
	require.NoError(t, err)
	return append(make([]byte, 20), ip...)
}

func TestParseGRH(t *testing.T) {
	g, err := ParseGRH(append(grhIPv6(), "payload"...))
	require.NoError(t, err)
	assert.Equal(t, GRH{
		TrafficClass: 0xab, FlowLabel: 0x12345, PayloadLength: 300, NextHeader: 27, HopLimit: 9,
		SGID: GID{0: 0xfe, 15: 1}, DGID: GID{0: 0xff, 15: 2},
	}, g)
	assert.True(t, g.DGID.IsMulticast())

	g, err = ParseGRH(grhIPv4(t))
	require.NoError(t, err)
	assert.Equal(t, GRH{
		IPv4: true, TrafficClass: 2, PayloadLength: 40, NextHeader: 17, HopLimit: 64,
		SGID: GID{10: 0xff, 11: 0xff, 12: 10, 15: 1}, DGID: GID{10: 0xff, 11: 0xff, 12: 239, 13: 1, 14: 2, 15: 3},
	}, g)
	assert.True(t, g.DGID.IsMulticast())
	assert.False(t, g.SGID.IsMulticast())

	_, err = ParseGRH(make([]byte, GRHLen-1))
	require.Error(t, err)
	_, err = ParseGRH(make([]byte, GRHLen))
	require.Error(t, err, "a receive without a header holds anything")
}

func FuzzParseGRH(f *testing.F) {
	f.Add(grhIPv6())
	f.Add(grhIPv4(f))
	f.Add([]byte{})
	f.Add(make([]byte, GRHLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := ParseGRH(b)
		if err != nil {
			assert.Zero(t, g)
			return
		}
		assert.GreaterOrEqual(t, len(b), GRHLen)
		assert.Less(t, g.FlowLabel, uint32(1<<20))
	})
}
