//go:build linux && cgo

package perftest

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tapped is a connection that notes the lengths of what is written: one write is
// one message.
type tapped struct {
	net.Conn
	written []int
}

func (c *tapped) Write(p []byte) (int, error) {
	c.written = append(c.written, len(p))
	return c.Conn.Write(p)
}

// CloseWrite implements what Finish looks for.
func (c *tapped) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// tap is a link whose connection is tapped.
type tap struct {
	link
	conn **tapped
}

func (l tap) meet(ctx context.Context, c *Config, ready func() error) (net.Conn, error) {
	conn, err := l.link.meet(ctx, c, ready)
	if err != nil {
		return nil, err
	}
	*l.conn = &tapped{Conn: conn}
	return *l.conn, nil
}

// The engine makes the exchanges of the C tools, in their order, both as client
// and as server: as many messages of the same lengths as a recorded run.
func TestExchangesAsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		tool Tool
		line string
	}{
		"wbw":     {WriteBW, "-n 20"},
		"wbw_a":   {WriteBW, "-n 5 -a"},
		"wbw_b":   {WriteBW, "-n 20 -b -s 4096"},
		"wbw_brb": {WriteBW, "-n 20 -b --report-both -q 2 -s 4096"},
		"wbw_D":   {WriteBW, "-D 1 -s 4096"},
		"rbw":     {ReadBW, "-n 20 -s 4096"},
		"sbw":     {SendBW, "-n 20 -s 4096"},
		"sbw_a":   {SendBW, "-n 5 -a"},
		"sbw_b":   {SendBW, "-n 20 -b -s 4096"},
		"sbw_ud":  {SendBW, "-n 20 -c UD -s 1024"},
		"abw":     {AtomicBW, "-n 20"},
		"abw_cas": {AtomicBW, "-n 20 -A CMP_AND_SWAP"},
		"wlat":    {WriteLat, "-n 100"},
		"wlat_a":  {WriteLat, "-n 10 -a"},
		"wlat_H":  {WriteLat, "-n 12 -H"},
		"rlat":    {ReadLat, "-n 100"},
		"slat":    {SendLat, "-n 100"},
		"slat_D":  {SendLat, "-D 1"},
		"alat":    {AtomicLat, "-n 100"},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := ParseArgs(c.tool, append([]string{"-d", "loop0"}, strings.Fields(c.line)...))
			require.NoError(t, err)
			config.Duration /= 10
			listener, err := Listen(context.Background(), "127.0.0.1", 0)
			require.NoError(t, err)
			var server, client *tapped
			done := make(chan error, 1)
			go func() {
				done <- runEnd(context.Background(), config, tap{listening{listener: listener}, &server}, io.Discard, io.Discard)
			}()
			other := config
			other.Host, other.Port = "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
			require.NoError(t, runEnd(context.Background(), other, tap{tcpLink{}, &client}, io.Discard, io.Discard))
			require.NoError(t, <-done)
			for role, conn := range map[Role]*tapped{RoleServer: server, RoleClient: client} {
				var want []int
				for _, msg := range messages(transcript(t, name, role), true) {
					if string(msg) != "done\x00" { // we do not send what nobody reads
						want = append(want, len(msg))
					}
				}
				assert.Equal(t, want, conn.written, "%v", role)
			}
		})
	}
}
