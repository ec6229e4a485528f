package verbs_test

import (
	"encoding/json"
	"testing"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func anEndpoint(t testing.TB) verbs.Endpoint {
	gid, err := verbs.ParseGID("::ffff:10.0.0.1")
	require.NoError(t, err)
	return verbs.Endpoint{QPN: 0x12, PSN: 0xbbb318, LID: 7, MTU: verbs.MTU4096, MaxReads: 16, GID: gid}
}

func TestEndpointText(t *testing.T) {
	want := anEndpoint(t)
	const text = "gf1:qpn=0x000012,psn=0xbbb318,lid=7,mtu=4096,reads=16,gid=0000:0000:0000:0000:0000:ffff:0a00:0001"
	assert.Equal(t, text, want.String())
	var got verbs.Endpoint
	require.NoError(t, got.UnmarshalText([]byte(text)))
	assert.Equal(t, want, got)

	raw, err := json.Marshal(map[string]verbs.Endpoint{"peer": want})
	require.NoError(t, err)
	assert.JSONEq(t, `{"peer":"`+text+`"}`, string(raw))
}

func TestEndpointBinary(t *testing.T) {
	want := anEndpoint(t)
	raw, err := want.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, []byte{
		1, 5, 16, 0, 0, 0, 0, 0x12, 0, 0xbb, 0xb3, 0x18, 0, 7, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1,
	}, raw)
	var got verbs.Endpoint
	require.NoError(t, got.UnmarshalBinary(raw))
	assert.Equal(t, want, got)
}

func TestEndpointRefusesWhatIsNone(t *testing.T) {
	for _, text := range []string{
		"", "gf1:", "gf2:qpn=1", "hello",
		"gf1:qpn=0x1000000,psn=0,lid=0,mtu=4096,reads=1,gid=::1",
		"gf1:qpn=1,psn=0,lid=65536,mtu=4096,reads=1,gid=::1",
		"gf1:qpn=1,psn=0,lid=0,mtu=4095,reads=1,gid=::1",
		"gf1:qpn=1,psn=0,lid=0,mtu=4096,reads=256,gid=::1",
		"gf1:qpn=1,psn=0,lid=0,mtu=4096,reads=1,gid=nowhere",
		"gf1:psn=0,qpn=1,lid=0,mtu=4096,reads=1,gid=::1",
		"gf1:qpn=1,psn=0,lid=0,mtu=4096,reads=1,gid=::1,more=1",
	} {
		before := anEndpoint(t)
		got := before
		assert.ErrorContains(t, got.UnmarshalText([]byte(text)), "is not an endpoint", text)
		assert.Equal(t, before, got, "a failed read leaves the value alone")
	}
	good, err := anEndpoint(t).MarshalBinary()
	require.NoError(t, err)
	for _, change := range []func([]byte) []byte{
		func(b []byte) []byte { return nil },
		func(b []byte) []byte { return b[:31] },
		func(b []byte) []byte { return append(b, 0) },
		func(b []byte) []byte { b[0] = 2; return b },
		func(b []byte) []byte { b[1] = 0; return b },
		func(b []byte) []byte { b[4] = 1; return b },
		func(b []byte) []byte { b[8] = 1; return b },
	} {
		var got verbs.Endpoint
		assert.Error(t, got.UnmarshalBinary(change(append([]byte(nil), good...))))
	}
	for _, bad := range []verbs.Endpoint{{QPN: 1 << 24, MTU: 1}, {PSN: 1 << 24, MTU: 1}, {}} {
		_, err := bad.MarshalText()
		assert.Error(t, err)
		_, err = bad.MarshalBinary()
		assert.Error(t, err)
	}
}

func FuzzEndpoint(f *testing.F) {
	e := anEndpoint(f)
	raw, err := e.MarshalBinary()
	require.NoError(f, err)
	f.Add([]byte(e.String()))
	f.Add(raw)
	f.Add([]byte("gf1:qpn=,psn=,lid=,mtu=,reads=,gid="))
	f.Fuzz(func(t *testing.T, in []byte) {
		var fromText, fromBinary verbs.Endpoint
		if fromText.UnmarshalText(in) == nil {
			out, err := fromText.MarshalText()
			require.NoError(t, err)
			var again verbs.Endpoint
			require.NoError(t, again.UnmarshalText(out))
			require.Equal(t, fromText, again)
		}
		if fromBinary.UnmarshalBinary(in) == nil {
			_, err := fromBinary.MarshalBinary()
			require.NoError(t, err)
		}
	})
}
