package perftest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/internal/stats"
)

const recordedKey = "0000:0001:000012:bbb318:00000374:00007f25d377b000:" +
	"00:00:00:00:00:00:00:00:00:00:ff:ff:0a:00:00:01:00000000:\x00"

func TestKeyRecorded(t *testing.T) {
	k, err := DecodeKey([]byte(recordedKey))
	require.NoError(t, err)
	assert.Equal(t, Key{OutReads: 1, QPN: 0x12, PSN: 0xbbb318, RKey: 0x374, VAddr: 0x7f25d377b000,
		GID: &GID{10: 0xff, 11: 0xff, 12: 10, 15: 1}}, k)
}

func TestKeyRange(t *testing.T) {
	for _, k := range []Key{
		{},
		{LID: math.MaxUint16, OutReads: math.MaxUint16, QPN: max24, PSN: max24, RKey: math.MaxUint32,
			VAddr: math.MaxUint64, SRQN: math.MaxUint32},
	} {
		for _, gid := range []*GID{nil, {0xfe, 0x80, 15: 0xff}} {
			k.GID = gid
			msg, err := EncodeKey(k)
			require.NoError(t, err)
			back, err := DecodeKey(msg)
			require.NoError(t, err)
			require.Equal(t, k, back)
		}
	}
	_, err := EncodeKey(Key{QPN: 1 << 24})
	require.Error(t, err)
	_, err = EncodeKey(Key{PSN: 1 << 24})
	require.Error(t, err)
}

func TestKeyErrorsNameTheField(t *testing.T) {
	for field, at := range map[string]int{"lid": 0, "out_reads": 9, "qpn": 10, "psn": 22, "rkey": 24, "vaddr": 49,
		"gid[0]": 50, "gid[15]": 95, "srqn": 107} {
		msg := []byte(recordedKey)
		msg[at] = 'F'
		_, err := DecodeKey(msg)
		var e *FieldError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, field, e.Field)
	}
	_, err := DecodeKey([]byte(recordedKey)[1:])
	require.Error(t, err)
}

// The addresses that the C tool printed are those of the recorded messages.
func TestAddressesAsPrinted(t *testing.T) {
	lines := transcript(t, "wbw_q2", RoleClient)
	addresses := func(write bool) (out []report.Address) {
		for _, msg := range messages(lines, write)[4:6] {
			k, err := DecodeKey(msg)
			require.NoError(t, err)
			out = append(out, k.Address(VerbWrite))
		}
		return out
	}
	var b bytes.Buffer
	require.NoError(t, report.WriteAddresses(&b, addresses(true), addresses(false)))
	want, err := os.ReadFile("testdata/wbw_q2.client.out")
	require.NoError(t, err)
	require.Contains(t, string(want), b.String())
	assert.Nil(t, Key{}.Address(VerbSend).Memory)
}

func TestVersion(t *testing.T) {
	pad := func(s string) []byte { return append([]byte(s), make([]byte, versionLen-len(s))...) }
	for text, want := range map[string]Version{"6.06": 606, "5.70": 570, "5.7": 570, "6.299": 629, "10.00": 1000} {
		v, err := ParseVersion(pad(text))
		require.NoError(t, err, text)
		assert.Equal(t, want, v)
	}
	for _, text := range []string{"", "6", "6.", ".06", "6.0x", "gopf", "-6.06", "99999.00", " 6.06"} {
		_, err := ParseVersion(pad(text))
		assert.Error(t, err, text)
	}
	_, err := ParseVersion([]byte("6.06"))
	assert.Error(t, err)
	_, err = ParseVersion([]byte("6.06666666666666"))
	assert.Error(t, err)
	assert.Equal(t, "6.06", OurVersion.String())
	assert.Equal(t, "Version: 6.06\n", VersionText())
}

func TestMTU(t *testing.T) {
	for m, n := range map[MTU]int{1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096, 0: 0, 6: 0, -1: 0} {
		assert.Equal(t, n, m.Bytes())
	}
	_, ok := MTUFromBytes(0)
	assert.False(t, ok)
	m, ok := MTUFromBytes(1024)
	assert.True(t, ok)
	assert.Equal(t, MTU(3), m)
	assert.Equal(t, MTU(3), m.agree(5))
	assert.Equal(t, MTU(1), m.agree(1))
	assert.Equal(t, m, m.agree(9))
	assert.Equal(t, m, m.agree(0))
}

func TestScalar(t *testing.T) {
	assert.Equal(t, []byte{0, 0, 0x10, 0}, encodeScalar(4096))
	v, err := decodeScalar("page size", maxPageSize, []byte{0, 1, 0, 0})
	require.NoError(t, err)
	assert.Equal(t, 65536, v)
	for _, msg := range [][]byte{{0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, {1, 0, 0, 1}, {0, 0, 1}, nil} {
		_, err = decodeScalar("page size", maxPageSize, msg)
		assert.Error(t, err)
	}
}

func TestResult(t *testing.T) {
	peak := 100 * 1048576.0
	bw := stats.Bandwidth{Size: 4096, Messages: 7, BytesPerSecond: 50 * 1048576, MessagesPerSecond: 12800, PeakBytesPerSecond: &peak}
	r := NewResult(bw, stats.MiB)
	assert.Equal(t, Result{Size: 4096, Messages: 7, Peak: 100, Average: 50, MsgRate: 0.0128}, r)
	back, err := r.Bandwidth(stats.MiB)
	require.NoError(t, err)
	assert.Equal(t, bw, back)

	r.Peak = 0
	back, err = r.Bandwidth(stats.Gbit)
	require.NoError(t, err)
	assert.Nil(t, back.PeakBytesPerSecond)

	for _, bad := range []Result{{}, {Size: 1 << 40}, {Size: 1, Average: math.NaN()}, {Size: 1, Peak: -1},
		{Size: 1, MsgRate: math.Inf(1)}, {Size: 1, Average: 1e300}} {
		_, err := bad.Bandwidth(stats.MiB)
		assert.Error(t, err, "%+v", bad)
	}
}

func TestErrorTexts(t *testing.T) {
	e := &ProtocolError{Step: "version message", Received: []byte("HTTP/1.1 400 Bad"), Err: ErrForeign, Hint: "look"}
	assert.EqualError(t, e, `perftest: version message: the peer does not speak perftest's protocol (received "HTTP/1.1 400 Bad"); look`)
	long := &FieldError{Field: "f", Want: "w", Got: bytes.Repeat([]byte{'x'}, 5000)}
	assert.Less(t, len(long.Error()), 100)
	assert.NotContains(t, (&ProtocolError{Err: long, Received: long.Got}).Error(), "received \"xx\" (received")
}

func FuzzParseVersion(f *testing.F) {
	f.Add([]byte("6.06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("HTTP/1.1 400 Bad"))
	f.Fuzz(func(t *testing.T, msg []byte) {
		if v, err := ParseVersion(msg); err == nil && v < 0 {
			t.Fatal(v)
		}
	})
}

func FuzzDecodeKey(f *testing.F) {
	f.Add([]byte(recordedKey))
	f.Add([]byte("0000:0001:000015:59e1f6:0000063c:000055ff90b47000:00000000\x00"))
	f.Fuzz(func(t *testing.T, msg []byte) {
		k, err := DecodeKey(msg)
		if err != nil {
			return
		}
		back, err := EncodeKey(k)
		if err != nil || !bytes.Equal(msg, back) {
			t.Fatalf("%q became %q, %v", msg, back, err)
		}
	})
}

func FuzzPrologueScalars(f *testing.F) {
	f.Add([]byte{0, 0, 16, 0})
	f.Add([]byte{'5', 0})
	f.Fuzz(func(t *testing.T, msg []byte) {
		if v, err := decodeScalar("page size", maxPageSize, msg); err == nil && !bytes.Equal(encodeScalar(v), msg) {
			t.Fatal(v)
		}
		if m, err := decodeMTU(msg); err == nil && !bytes.Equal(m.encode(), msg) {
			t.Fatal(m)
		}
	})
}

func FuzzResult(f *testing.F) {
	f.Add(uint64(65536), uint64(50), uint64(0x404a2d3a7795dc86), uint64(0x4045a935be95d8a5), uint64(0x3f46b692f56c6a63))
	f.Fuzz(func(t *testing.T, a, b, c, d, e uint64) {
		bw, err := resultFromWords([resultFields]uint64{a, b, c, d, e}).Bandwidth(stats.Gbit)
		if err != nil {
			return
		}
		if err := report.WriteJSON(io.Discard, report.Document{Results: []report.DocumentResult{{DocumentBandwidth: report.NewBandwidth(bw)}}}); err != nil {
			t.Fatal(err)
		}
	})
}

// scripted is a connection that reads given bytes and swallows writes.
type scripted struct {
	replay
	in *bytes.Reader
}

func (s *scripted) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *scripted) Write(p []byte) (int, error) { return len(p), nil }

func FuzzSession(f *testing.F) {
	for _, name := range []string{"wbw", "nogid", "h_wbw", "m_q", "sbw", "slat", "rlat", "alat", "wlat", "h_sbw", "h_wlat"} {
		for _, role := range []Role{RoleClient, RoleServer} {
			f.Add(role == RoleClient, true, bytes.Join(messages(transcript(f, name, role), false), nil))
		}
	}
	for _, role := range []Role{RoleClient, RoleServer} {
		f.Add(role == RoleClient, true, bytes.Join(messages(recording2501(f, "write_bw", role), false), nil))
	}
	f.Add(false, false, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, client, gid bool, in []byte) {
		role, key := RoleServer, Key{}
		if client {
			role = RoleClient
		}
		if gid {
			key.GID = &GID{10: 0xff, 11: 0xff}
		}
		s := NewSession(&scripted{in: bytes.NewReader(in)}, role, SessionOptions{})
		o, err := wbwScript.run(context.Background(), s, []Key{key}, Result{})
		if err != nil {
			var e *ProtocolError
			if !errors.As(err, &e) || strings.ContainsAny(err.Error(), "\r\n") {
				t.Fatalf("%v", err)
			}
			return
		}
		if !o.agreed.MTU.valid() {
			t.Fatal(o.agreed)
		}
	})
}
