package verbs

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustGID(t testing.TB, s string) GID {
	t.Helper()
	g, err := ParseGID(s)
	require.NoError(t, err)
	return g
}

func TestGIDForms(t *testing.T) {
	g := mustGID(t, "fe80:0000:0000:0000:0002:c903:00a0:5a11")
	assert.Equal(t, GID{0xfe, 0x80, 8: 0x00, 9: 0x02, 10: 0xc9, 11: 0x03, 12: 0x00, 13: 0xa0, 14: 0x5a, 15: 0x11}, g)
	assert.Equal(t, "fe80:0000:0000:0000:0002:c903:00a0:5a11", g.String())
	assert.Equal(t, g, mustGID(t, "fe80::2:c903:a0:5a11"))
	assert.Equal(t, "0002:c903:00a0:5a11", g.InterfaceID().String())
	assert.True(t, g.IsLinkLocal())
	assert.False(t, g.IsIPv4Mapped())
	assert.True(t, g.IP().Is6())

	v4 := mustGID(t, "::ffff:10.0.0.1")
	assert.Equal(t, v4, mustGID(t, "10.0.0.1"))
	assert.Equal(t, v4, GIDFromAddr(netip.MustParseAddr("10.0.0.1")))
	assert.Equal(t, v4, mustGID(t, "0000:0000:0000:0000:0000:ffff:0a00:0001"))
	assert.True(t, v4.IsIPv4Mapped())
	assert.False(t, v4.IsLinkLocal())
	assert.Equal(t, netip.MustParseAddr("10.0.0.1"), v4.IP())
	assert.True(t, mustGID(t, "169.254.3.4").IsLinkLocal())

	assert.True(t, GID{}.IsZero())
	assert.True(t, GIDFromAddr(netip.Addr{}).IsZero())
	assert.False(t, v4.IsZero())

	for _, bad := range []string{"", "fe80", "fe80::1%eth0", "fe80:0000:0000:0000:0002:c903:00a0", "fe80::12345", "0x1", "gid"} {
		_, err := ParseGID(bad)
		assert.ErrorContains(t, err, "is not a GID", bad)
	}
}

func TestGIDAndGUIDMarshal(t *testing.T) {
	type pair struct {
		GID  GID
		GUID GUID
	}
	in := pair{mustGID(t, "10.0.0.1"), GUIDFromUint64(0x0002c90300a05a10)}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	assert.JSONEq(t, `{"GID":"0000:0000:0000:0000:0000:ffff:0a00:0001","GUID":"0002:c903:00a0:5a10"}`, string(text))
	var out pair
	require.NoError(t, json.Unmarshal(text, &out))
	assert.Equal(t, in, out)
	require.Error(t, json.Unmarshal([]byte(`{"GID":"x"}`), &out))
	require.Error(t, json.Unmarshal([]byte(`{"GUID":"x"}`), &out))
	assert.Equal(t, in, out, "a failed read changes nothing")

	b, err := in.GID.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}, b)
	b[0] = 0xff
	assert.Zero(t, in.GID[0], "the bytes are a copy")
	var gid GID
	require.NoError(t, gid.UnmarshalBinary(in.GID[:]))
	assert.Equal(t, in.GID, gid)
	require.Error(t, gid.UnmarshalBinary(b[:15]))

	b, err = in.GUID.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, []byte{0x00, 0x02, 0xc9, 0x03, 0x00, 0xa0, 0x5a, 0x10}, b, "network order")
	var guid GUID
	require.NoError(t, guid.UnmarshalBinary(b))
	assert.Equal(t, in.GUID, guid)
	require.Error(t, guid.UnmarshalBinary(nil))
}

func TestGUIDForms(t *testing.T) {
	want := GUID{0x00, 0x02, 0xc9, 0x03, 0x00, 0xa0, 0x5a, 0x10}
	for _, s := range []string{
		"0002:c903:00a0:5a10", "0x0002c90300a05a10", "0X0002C90300A05A10", "0002c90300a05a10", "00:02:c9:03:00:a0:5a:10",
	} {
		g, err := ParseGUID(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, g, s)
	}
	assert.Equal(t, uint64(0x0002c90300a05a10), want.Uint64())
	assert.Equal(t, want, GUIDFromUint64(want.Uint64()))
	assert.True(t, GUID{}.IsZero())
	assert.Equal(t, "0000:0000:0000:0000", GUID{}.String())
	for _, bad := range []string{
		"", "0x", "2:c903:a0:5a10", "0002:c903:00a0", "0002:c903:00a0:5a1g", "0002:c903:00a05:a10",
		"0002-c903-00a0-5a10", "00002c90300a05a10", "0002:c903:00a0:5a10:", "0x0002:c903:00a0:5a10",
	} {
		_, err := ParseGUID(bad)
		assert.ErrorContains(t, err, "is not a GUID", bad)
	}
}

func FuzzParseGID(f *testing.F) {
	f.Add("fe80:0000:0000:0000:0002:c903:00a0:5a11")
	f.Add("::ffff:10.0.0.1")
	f.Add("10.0.0.1")
	f.Add("::")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseGID(s)
		if err != nil {
			if !g.IsZero() {
				t.Fatalf("%q: an error and a value", s)
			}
			return
		}
		for _, form := range []string{g.String(), g.IP().String()} {
			if back, err := ParseGID(form); err != nil || back != g {
				t.Fatalf("%q prints as %q, which reads as %v, %v", s, form, back, err)
			}
		}
		if GIDFromAddr(g.IP()) != g {
			t.Fatalf("%q does not survive its address", s)
		}
	})
}

func FuzzParseGUID(f *testing.F) {
	f.Add("0002:c903:00a0:5a10")
	f.Add("0x0002c90300a05a10")
	f.Add("00:02:c9:03:00:a0:5a:10")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseGUID(s)
		if err != nil {
			if !g.IsZero() {
				t.Fatalf("%q: an error and a value", s)
			}
			return
		}
		if back, err := ParseGUID(g.String()); err != nil || back != g {
			t.Fatalf("%q prints as %q, which reads as %v, %v", s, g, back, err)
		}
		if GUIDFromUint64(g.Uint64()) != g {
			t.Fatalf("%q does not survive its number", s)
		}
	})
}
