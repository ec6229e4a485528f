package perftest

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// line is one message of a recorded control connection.
type line struct {
	write bool // by the side that was recorded
	msg   []byte
}

// transcript reads a recording: "W 16 36…" or "R 16 36…" a line.
func transcript(t testing.TB, name string, role Role) []line {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("testdata/%s.%v.wire", name, role))
	require.NoError(t, err)
	var lines []line
	for _, text := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		f := strings.Fields(text)
		require.Len(t, f, 3)
		msg, err := hex.DecodeString(f[2])
		require.NoError(t, err)
		n, err := strconv.Atoi(f[1])
		require.NoError(t, err)
		require.Len(t, msg, n)
		lines = append(lines, line{write: f[0] == "W", msg: msg})
	}
	return lines
}

// messages returns what the recorded side wrote, or read.
func messages(lines []line, write bool) [][]byte {
	var out [][]byte
	for _, l := range lines {
		if l.write == write {
			out = append(out, l.msg)
		}
	}
	return out
}

// replay plays the other end of a recording: a Write must be the recorded
// message, whole, and a Read gets the recorded bytes.
type replay struct {
	t     *testing.T
	lines []line
	rest  []byte // of the message being read
}

func (r *replay) Write(p []byte) (int, error) {
	require.Empty(r.t, r.rest, "wrote before the message was read")
	require.NotEmpty(r.t, r.lines, "wrote %q after the end", p)
	require.True(r.t, r.lines[0].write, "wrote %q where the C tool reads", p)
	require.Equal(r.t, string(r.lines[0].msg), string(p))
	r.lines = r.lines[1:]
	return len(p), nil
}

func (r *replay) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if len(r.lines) == 0 {
			return 0, io.EOF
		}
		if r.lines[0].write {
			// Only the "done" of the C tool may be left, which we do not send.
			require.Equal(r.t, []line{{true, []byte("done\x00")}}, r.lines)
			return 0, io.EOF
		}
		r.rest, r.lines = r.lines[0].msg, r.lines[1:]
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *replay) Close() error                     { return nil }
func (r *replay) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (r *replay) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (r *replay) SetDeadline(time.Time) error      { return nil }
func (r *replay) SetReadDeadline(time.Time) error  { return nil }
func (r *replay) SetWriteDeadline(time.Time) error { return nil }

// script is what a recorded side did, as calls of a session.
type script struct {
	qps     int
	results bool // exchanges results
	noClose bool // is replayed up to the barrier after the run
}

var host = Host{PageSize: 4096, CacheLine: 64, MTU: 5}

// local returns what the recorded side sent: its keys and its result.
func local(t testing.TB, lines []line, sc script) (keys []Key, result Result) {
	sent := messages(lines, true)
	sent = sent[4:] // the prologue
	for i := range sc.qps {
		k, err := DecodeKey(sent[i])
		require.NoError(t, err)
		keys = append(keys, k)
	}
	if sc.results {
		var words [resultFields]uint64
		n := 0
		for _, msg := range sent {
			if len(msg) == wordLen {
				words[n] = decodeWord(msg)
				n++
			}
		}
		require.Equal(t, resultFields, n)
		result = resultFromWords(words)
	}
	return keys, result
}

type outcome struct {
	agreed Agreement
	keys   []Key
	result Result
}

// run makes the calls of sc on s.
func (sc script) run(ctx context.Context, s *Session, keys []Key, result Result) (o outcome, err error) {
	if o.agreed, err = s.Prologue(ctx, host); err != nil {
		return o, err
	}
	if _, err = s.ExchangeKeys(ctx, keys); err != nil {
		return o, err
	}
	if o.keys, err = s.ExchangeKeys(ctx, keys); err != nil {
		return o, err
	}
	if err = s.Barrier(ctx, keys[0]); err != nil {
		return o, err
	}
	if err = s.BarrierAfterRun(ctx, keys[0], 0); err != nil || sc.noClose {
		return o, err
	}
	if sc.results {
		if o.result, err = s.ExchangeResult(ctx, result); err != nil {
			return o, err
		}
	}
	return o, s.Finish(ctx, keys[0])
}

func TestReplay(t *testing.T) {
	for name, sc := range map[string]script{
		"wbw":     {qps: 1, results: true},
		"wbw_a":   {qps: 1, results: true},
		"wbw_D":   {qps: 1, results: true},
		"wbw_b":   {qps: 1, results: true},
		"wbw_q2":  {qps: 2, noClose: true}, // the recording lost the message rate
		"wbw_brb": {qps: 2, results: true},
		"rbw":     {qps: 1, results: true},
		"abw":     {qps: 1, results: true},
		"sbw":     {qps: 1},
		"sbw_ud":  {qps: 1},
		"wlat":    {qps: 1, noClose: true},
	} {
		for _, role := range []Role{RoleClient, RoleServer} {
			t.Run(fmt.Sprintf("%s/%v", name, role), func(t *testing.T) {
				replayRecording(t, transcript(t, name, role), role, sc, OurVersion)
			})
		}
	}
	// Release 26.04 on the other side.
	sc := script{qps: 1, results: true}
	t.Run("newer server", func(t *testing.T) {
		replayRecording(t, transcript(t, "x_hs_4c_wbw", RoleClient), RoleClient, sc, 629)
	})
	t.Run("newer client", func(t *testing.T) {
		replayRecording(t, transcript(t, "x_4s_hc_wbw", RoleServer), RoleServer, sc, 629)
	})
}

func replayRecording(t *testing.T, lines []line, role Role, sc script, peerVersion Version) {
	keys, result := local(t, lines, sc)
	if sc.noClose {
		if end := slices.IndexFunc(lines, func(l line) bool { return len(l.msg) == wordLen }); end >= 0 {
			lines = lines[:end]
		}
	}
	conn := &replay{t: t, lines: lines}
	s := NewSession(conn, role, SessionOptions{})
	o, err := sc.run(context.Background(), s, keys, result)
	require.NoError(t, err)
	require.Equal(t, Agreement{PeerVersion: peerVersion, PageSize: 4096, CacheLine: 64, MTU: 5}, o.agreed)
	for i, k := range o.keys {
		want, err := EncodeKey(k)
		require.NoError(t, err)
		require.Equal(t, want, messages(lines, false)[4+i])
	}
	if sc.noClose {
		require.Empty(t, conn.lines)
	}
}

// A peer of version 6.28 sends its parameters unasked; those of 6.29, as
// recorded, have the same form.
func TestReplayParameterBlock(t *testing.T) {
	sc := script{qps: 1, results: true}
	lines := transcript(t, "h_wbw", RoleServer)
	lines[0].msg = Version(628).encode()
	lines[1].msg = OurVersion.encode()
	keys := messages(lines, true)[5:6]
	k, err := DecodeKey(keys[0])
	require.NoError(t, err)

	s := NewSession(&replay{t: t, lines: lines}, RoleServer, SessionOptions{})
	o, err := sc.run(context.Background(), s, []Key{k}, Result{})
	require.NoError(t, err)
	require.Equal(t, Version(628), o.agreed.PeerVersion)
	require.Equal(t, uint64(65536), o.result.Size)
}

// Without a GID the recorded run ends after the keys.
func TestReplayPlainKeys(t *testing.T) {
	for _, role := range []Role{RoleClient, RoleServer} {
		lines := transcript(t, "nogid", role)
		keys, _ := local(t, lines, script{qps: 1})
		require.Nil(t, keys[0].GID)
		s := NewSession(&replay{t: t, lines: lines}, role, SessionOptions{})
		_, err := s.Prologue(context.Background(), host)
		require.NoError(t, err)
		_, err = s.ExchangeKeys(context.Background(), keys)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
}

// Two sides with different -q: the server takes keys for results.
func TestReplayDesynchronised(t *testing.T) {
	lines := transcript(t, "m_q", RoleServer)
	var words [resultFields]uint64
	key := messages(lines, false)[4]
	for i := range words {
		words[i] = decodeWord(key[i*wordLen:])
	}
	_, err := resultFromWords(words).Bandwidth(0)
	require.Error(t, err)
}
