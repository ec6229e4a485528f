package interop

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/pairs"
)

// TestPeerFault kills and stops a C side in mid-run. Ours ends with one line on
// standard error and status 1, at the latest after its time-out, and leaves
// nothing open. What each message of the exchange is good for, internal/perftest
// tests without a kernel.
func TestPeerFault(t *testing.T) {
	inLab(t)
	for _, c := range []struct {
		tool   string
		signal syscall.Signal
		server bool // the side of ours
	}{
		{"send_bw", syscall.SIGKILL, true},
		{"send_bw", syscall.SIGKILL, false},
		{"send_bw", syscall.SIGSTOP, true},
		{"read_bw", syscall.SIGKILL, true},
		{"read_bw", syscall.SIGKILL, false},
		{"send_lat", syscall.SIGKILL, false},
		{"send_lat", syscall.SIGSTOP, false},
		{"atomic_lat", syscall.SIGKILL, true},
	} {
		side := "client"
		if c.server {
			side = "server"
		}
		t.Run(fmt.Sprintf("%s/%s/our %s", c.tool, c.signal, side), func(t *testing.T) {
			peerFault(t, c.tool, c.signal, c.server)
		})
	}
}

func peerFault(t *testing.T, name string, signal syscall.Signal, ourServer bool) {
	ctx := inLab(t)
	ours := []string{"--timeout", "5"}
	p := pairs.Pair{Server: cTool(name), Client: goTool(name), Port: freePort(),
		ServerArgs: []string{"-F", "-d", serverDevice, "-D", "60"}, ClientArgs: []string{"-F", "-d", clientDevice, "-D", "60"}}
	if ourServer {
		p.Server, p.Client = p.Client, p.Server
		p.ServerArgs = append(p.ServerArgs, ours...)
	} else {
		p.ClientArgs = append(p.ClientArgs, ours...)
	}
	server, client, err := p.Start(ctx)
	require.NoError(t, err)
	victim, survivor := client, server
	if !ourServer {
		victim, survivor = server, client
	}
	underWay(t, ctx)
	require.NoError(t, victim.Signal(signal))
	out, err := survivor.Wait()
	require.NoError(t, err)
	assert.Equal(t, 1, out.Status, out.Stderr)
	assert.True(t, strings.HasPrefix(out.Stderr, name+": "), out.Stderr)
	assert.Equal(t, 1, strings.Count(out.Stderr, "\n"), out.Stderr)
	_ = victim.Signal(syscall.SIGKILL) // it may have gone already
	_, err = victim.Wait()
	require.NoError(t, err)
}

// underWay waits until data moves: until the client's network interface has sent
// packets for a while, requests or answers.
func underWay(t *testing.T, ctx context.Context) {
	t.Helper()
	const many = 300
	for begin := sentPackets(t); sentPackets(t) < begin+many; {
		require.NoError(t, ctx.Err(), "no data moved")
		time.Sleep(20 * time.Millisecond)
	}
}

func sentPackets(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/sys/class/net/v1/statistics/tx_packets")
	require.NoError(t, err)
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	require.NoError(t, err)
	return n
}
