package rdmacm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var goodAddrs = []string{
	"10.0.0.1:7471", "0.0.0.0:0", "[fe80::1%1]:7471", "[::]:1", "[2001:db8::1]:65535",
	"ib:[fe80:0000:0000:0000:5054:00ff:fe00:0001]:7471",
	"ib:[fe80:0000:0000:0000:5054:00ff:fe00:0001]:0x13f1234/0x8001",
}

func TestAddrText(t *testing.T) {
	for _, text := range goodAddrs {
		a, err := ParseAddr(text)
		require.NoError(t, err, text)
		assert.Equal(t, text, a.String())
		assert.Equal(t, "rdma", a.Network())
	}
	for _, text := range []string{
		"", "10.0.0.1", "host:1", "10.0.0.1:65536", "ib:", "ib:[]:1", "ib:fe80::1:1", "ib:[::1]:65536",
		"ib:[::1]:0x10000000000000000", "ib:[::1]:1/", "ib:[::1]:1/0", "ib:[::1]:1/0x10000", "ib:[::1]",
	} {
		_, err := ParseAddr(text)
		assert.Error(t, err, text)
	}
}

func TestNumbersOfAddressesAreDecimal(t *testing.T) {
	a, err := ParseAddr("ib:[::1]:010/010")
	require.NoError(t, err)
	assert.Equal(t, IBAddr{GID: a.IB.GID, PKey: 10, ServiceID: IBPort(10)}, a.IB)
	for _, text := range []string{"ib:[::1]:0b1", "ib:[::1]:0o7", "ib:[::1]:1_0", "ib:[::1]:0X12", "ib:[::1]:1/1_0"} {
		_, err := ParseAddr(text)
		assert.Error(t, err, text)
	}
}

func TestSockaddr(t *testing.T) {
	for _, text := range goodAddrs {
		want, err := ParseAddr(text)
		require.NoError(t, err)
		s, err := want.sockaddr()
		require.NoError(t, err)
		got := addrOf(s)
		if !want.IP.IsValid() {
			if want.IB.PKey == 0 {
				want.IB.PKey = 0xffff
			}
			assert.Equal(t, want, got)
			continue
		}
		assert.Equal(t, want.IP.Port(), got.IP.Port())
		assert.Equal(t, want.IP.Addr().WithZone(""), got.IP.Addr().WithZone(""))
	}
	for _, text := range []string{"[fe80::1]:1", "[fe80::1%nosuchinterface]:1"} {
		a, err := ParseAddr(text)
		require.NoError(t, err)
		_, err = a.sockaddr()
		assert.Error(t, err, text)
	}
}

func FuzzParseAddr(f *testing.F) {
	for _, text := range goodAddrs {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddr(text)
		if err != nil {
			return
		}
		again, err := ParseAddr(a.String())
		require.NoError(t, err, "%q became %q", text, a)
		assert.Equal(t, a, again)
		if s, err := a.sockaddr(); err == nil {
			addrOf(s)
		}
	})
}

func TestPrivateData(t *testing.T) {
	for _, text := range []string{"", "x", "fifty-three bytes is what a framed request has room"} {
		sent, err := outgoing([]byte(text), true, MostRequestData)
		require.NoError(t, err)
		arrived := append(sent, make([]byte, MostRequestData-len(sent))...)
		got, err := PrivateData(arrived).Framed()
		require.NoError(t, err)
		assert.Equal(t, text, string(got))
	}
	_, err := outgoing(make([]byte, MostRequestData), false, MostRequestData)
	assert.NoError(t, err)
	_, err = outgoing(make([]byte, MostRequestData), true, MostRequestData)
	assert.ErrorContains(t, err, "room for 53")
	_, err = FramePrivateData(make([]byte, 253))
	assert.Error(t, err)
	for _, wrong := range []PrivateData{nil, {}, {'g'}, {'g', 'f'}, {'g', 'f', 1}, make(PrivateData, 56), PrivateData("hello")} {
		_, err := wrong.Framed()
		assert.ErrorIs(t, err, ErrPrivateData)
	}
}

func FuzzPrivateDataFramed(f *testing.F) {
	f.Add([]byte("gf\x02ab\x00\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		data, err := PrivateData(raw).Framed()
		if err != nil {
			return
		}
		framed, err := FramePrivateData(data)
		require.NoError(t, err)
		assert.Equal(t, raw[:len(framed)], framed)
	})
}

func TestPathAsTheKernelTakesIt(t *testing.T) {
	p := Path{
		Source: [16]byte{15: 1}, Destination: [16]byte{15: 2}, SourceLID: 3, DestinationLID: 4, Reversible: true,
		FlowLabel: 0x12345, HopLimit: 6, TrafficClass: 7, PKey: 0x8001, ServiceLevel: 9, MTU: 5, Rate: 2, Lifetime: 18, Preference: 1,
	}
	b := p.append(nil, 0)
	require.Len(t, b, 72)
	assert.Equal(t, byte(2), b[16+15])
	assert.Equal(t, byte(1), b[32+15])
	assert.Equal(t, []byte{0, 4, 0, 3, 1, 0x23, 0x45, 6, 7, 0x81, 0x80, 1, 0, 9, 0x85, 0x82, 0x92, 1}, b[48:66])
	assert.Len(t, p.append(b, 0), 144)
}

func TestEndpointOptionsAreChecked(t *testing.T) {
	assert.NoError(t, EndpointOptions{}.check())
	assert.NoError(t, EndpointOptions{Retries: -1, RNRRetries: -1, MaxReads: -1}.check())
	for _, bad := range []EndpointOptions{
		{Retries: 8}, {Retries: -2}, {RNRRetries: 8}, {Timeout: 32}, {Timeout: -1}, {MinRNRTimer: 32}, {MaxReads: 256},
	} {
		assert.Error(t, bad.check(), "%+v", bad)
	}
	assert.Equal(t, uint8(6), EndpointOptions{}.retries())
	assert.Equal(t, uint8(0), EndpointOptions{Retries: -1}.retries())
}
