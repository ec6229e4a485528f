package perftest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The folder of what release 25.01 said to itself, recorded between client and
// server by internal/pairs/record. A run has one file, the client's; the server's
// view is its mirror image.
const release2501 = "25.01/"

// version2501 is what that release announces.
const version2501 Version = 624

func recording2501(t testing.TB, name string, role Role) []line {
	t.Helper()
	lines := transcript(t, release2501+name, RoleClient)
	if role == RoleServer {
		for i := range lines {
			lines[i].write = !lines[i].write
		}
	}
	return lines
}

// Every run of 25.01 whose exchanges are keys and at most one result is replayed
// whole, in both roles; of the others, the part up to the first size.
func TestReplay2501(t *testing.T) {
	for name, sc := range map[string]script{
		"write_bw":    {qps: 1, results: true},
		"read_bw":     {qps: 1, results: true},
		"atomic_bw":   {qps: 1, results: true},
		"send_bw":     {qps: 1},
		"write_lat":   {qps: 1, noClose: true},
		"read_lat":    {qps: 1},
		"send_lat":    {qps: 1},
		"atomic_lat":  {qps: 1},
		"write_bw_b":  {qps: 1, results: true},
		"read_bw_b":   {qps: 1, results: true},
		"send_bw_b":   {qps: 1, results: true},
		"atomic_bw_b": {qps: 1, results: true},
		"write_bw_q2": {qps: 2, results: true},
		"send_bw_ud":  {qps: 1},
		"send_lat_ud": {qps: 1},
		"send_bw_bD":  {qps: 1},
	} {
		for _, role := range []Role{RoleClient, RoleServer} {
			t.Run(fmt.Sprintf("%s/%v", name, role), func(t *testing.T) {
				lines := recording2501(t, name, role)
				// We announce 4.5's version to it, as to everyone.
				lines[slices.IndexFunc(lines, func(l line) bool { return l.write })].msg = OurVersion.encode()
				replayRecording(t, lines, role, sc, version2501)
			})
		}
	}
}

// What 25.01 changed on the wire is all that this test takes out: the version it
// announces, the "done" that it no longer sends at the end, and what a server
// that measured nothing sends as its result.
func TestReleasesDiffer(t *testing.T) {
	for _, c := range []struct{ old, new string }{
		{"wbw", "write_bw"}, {"rbw", "read_bw"}, {"abw", "atomic_bw"}, {"sbw", "send_bw"},
		{"wlat", "write_lat"}, {"wbw_b", "write_bw_b"}, {"sbw_ud", "send_bw_ud"},
	} {
		for _, role := range []Role{RoleClient, RoleServer} {
			old, now := transcript(t, c.old, role), recording2501(t, c.new, role)
			assert.Equal(t, outline(old), outline(now), "%s, %v", c.new, role)
			assert.Equal(t, version2501.encode(), now[0].msg)
			done := func(l line) bool { return bytes.Contains(l.msg, []byte("done")) }
			assert.False(t, slices.ContainsFunc(now, done))
			// write_lat has no end in either.
			assert.Equal(t, c.new != "write_lat", slices.ContainsFunc(old, done))
		}
	}
}

// outline is a recording without what differs from run to run or between the
// releases.
func outline(lines []line) []string {
	var out []string
	for _, l := range lines {
		kind := fmt.Sprintf("%d bytes: %x", len(l.msg), l.msg)
		switch {
		case bytes.Equal(l.msg, []byte("done\x00")):
			continue
		case len(l.msg) == versionLen:
			kind = "version"
		case len(l.msg) == keyLenGID:
			key, err := DecodeKey(l.msg)
			if err != nil {
				kind = err.Error()
				break
			}
			kind = fmt.Sprintf("key: lid %d, reads %d, srq %d", key.LID, key.OutReads, key.SRQN)
		case len(l.msg) == wordLen:
			kind = "result"
		}
		out = append(out, fmt.Sprintf("%v %s", l.write, kind))
	}
	return out
}
