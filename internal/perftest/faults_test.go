//go:build linux && cgo

package perftest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/life"
)

// given is a link whose connection there is already.
type given struct {
	tcpLink
	conn net.Conn
}

func (l given) meet(context.Context, *Config, func() error) (net.Conn, error) { return l.conn, nil }

// connected are both ends of a TCP connection.
func connected(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	listener, err := Listen(context.Background(), "127.0.0.1", 0)
	require.NoError(t, err)
	theirs, err = Dial(context.Background(), "127.0.0.1", listener.Addr().(*net.TCPAddr).Port, "")
	require.NoError(t, err)
	ours, err = listener.Accept(context.Background())
	require.NoError(t, err)
	return ours, theirs
}

// A peer of each tool that goes away or sends garbage at any of its messages: the
// run ends with an error on one line, and nothing is left open.
func TestPeerFailsAtEachMessage(t *testing.T) {
	for name, c := range map[string]struct {
		tool Tool
		line string
	}{
		"wbw":    {WriteBW, "-n 20"},
		"wbw_b":  {WriteBW, "-n 20 -b -s 4096"},
		"rbw":    {ReadBW, "-n 20 -s 4096"},
		"sbw":    {SendBW, "-n 20 -s 4096"},
		"sbw_ud": {SendBW, "-n 20 -c UD -s 1024"},
		"abw":    {AtomicBW, "-n 20"},
		"wlat":   {WriteLat, "-n 20"},
		"rlat":   {ReadLat, "-n 20"},
		"slat":   {SendLat, "-n 20"},
		"alat":   {AtomicLat, "-n 20"},
	} {
		for _, role := range []Role{RoleServer, RoleClient} {
			lines := transcript(t, name, other(role))
			for at := range messages(lines, true) {
				for _, how := range []string{"close", "garbage"} {
					config, err := ParseArgs(c.tool, append([]string{"-d", "loop0"}, strings.Fields(c.line)...))
					require.NoError(t, err)
					config.Timeout = 300 * time.Millisecond
					if role == RoleClient {
						config.Host = "peer"
					}
					ours, theirs := connected(t)
					go func() {
						defer theirs.Close()
						play(theirs, lines, at, func(msg []byte) {
							if how == "garbage" {
								_, _ = theirs.Write(bytes.Repeat([]byte{0xfe}, len(msg)))
								_, _ = io.Copy(io.Discard, theirs)
							}
							_ = theirs.Close()
						})
					}()
					err = runEnd(context.Background(), config, given{conn: ours}, io.Discard, io.Discard)
					where := fmt.Sprintf("%s as %v: %s at message %d", name, role, how, at)
					if string(messages(lines, true)[at]) == "done\x00" {
						continue // nobody reads it
					}
					// The queue pairs of a recorded peer do not exist: no data moves.
					require.Error(t, err, where)
					assert.NotContains(t, err.Error(), "\n", where)
					assert.Empty(t, life.Open(), where)
				}
			}
		}
	}
}
