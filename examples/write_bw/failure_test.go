package main

import (
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/verbs"
)

func TestBadArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"size":         {[]string{"-s", "big"}, []string{"-s/--size", "not a size"}},
		"device":       {[]string{"-d", "mlx9_0"}, []string{"mlx9_0", "rxe0, rxe1"}},
		"port":         {[]string{"-d", "rxe0", "-i", "7"}, []string{"no port 7", "1 to 1"}},
		"GID":          {[]string{"-d", "rxe0", "-x", "63"}, []string{"GID index 63", "use one of"}},
		"nobody there": {[]string{"-d", "rxe0", "-p", "1", "127.0.0.1"}, []string{"connect", "start the server there first"}},
		"unknown host": {[]string{"-d", "rxe0", "no.such.host.invalid"}, []string{"no.such.host.invalid", "IPv4 address"}},
		"unknown flag": {[]string{"--fast"}, []string{"--fast", "no such flag"}},
	} {
		t.Run(name, func(t *testing.T) {
			requireFailure(t, wait(t, start(t, inLab(t), goTool, c.args...)), c.words...)
		})
	}
}

// The port's limit is refused, or the flag's where the port has none below it.
func TestMessageLongerThanPortTakes(t *testing.T) {
	ctx := inLab(t)
	device, err := verbs.Open(serverDevice)
	require.NoError(t, err)
	port, err := device.Port(1)
	require.NoError(t, err)
	require.NoError(t, device.Close())
	size := strconv.FormatUint(uint64(port.MaxMsgSize)+1, 10)
	requireFailure(t, wait(t, start(t, ctx, goTool, "-d", serverDevice, "-s", size)))
}

func TestPortBusy(t *testing.T) {
	ctx := inLab(t)
	port := freePort()
	args := []string{"-d", serverDevice, "-p", strconv.Itoa(port)}
	first := start(t, ctx, goTool, args...)
	listening(t, ctx, first, port)
	requireFailure(t, wait(t, start(t, ctx, goTool, args...)), "address already in use", "-p")

	require.NoError(t, first.Signal(syscall.SIGINT))
	out := wait(t, first)
	assert.Equal(t, 130, out.Status, "Ctrl-C while waiting: %s", out.Stderr)
}

func TestNoPermission(t *testing.T) {
	ctx := inLab(t)
	const node = "/dev/infiniband/uverbs0"
	before, err := os.Stat(node)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(node, 0o600))
	defer func() { assert.NoError(t, os.Chmod(node, before.Mode().Perm())) }()
	requireFailure(t, wait(t, start(t, ctx, unprivileged(1<<20), "-d", "rxe0")), "no permission on "+node, "read and write access")
}

func TestMemlockTooLow(t *testing.T) {
	ctx := inLab(t)
	port := freePort()
	server := start(t, ctx, goTool, "-d", serverDevice, "-p", strconv.Itoa(port))
	listening(t, ctx, server, port)
	client := start(t, ctx, unprivileged(64), "-d", clientDevice, "-p", strconv.Itoa(port), "127.0.0.1")
	requireFailure(t, wait(t, client), "RLIMIT_MEMLOCK allows 65536 bytes", "ulimit -l")
	requireFailure(t, wait(t, server), "peer closed the connection")
}

func TestForeignPeer(t *testing.T) {
	ctx := inLab(t)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	requireFailure(t, wait(t, start(t, ctx, goTool, "-d", "rxe0", "-p", port, "127.0.0.1")), "that is HTTP", "run the same tool")
	require.NoError(t, listener.Close())
	<-answered

	busy := freePort()
	server := start(t, ctx, goTool, "-d", "rxe0", "-p", strconv.Itoa(busy))
	listening(t, ctx, server, busy)
	conn, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(busy)))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	requireFailure(t, wait(t, server), "that is HTTP")
}

func TestMessageLargerThanPeersMemory(t *testing.T) {
	for _, server := range []pairs.Tool{goTool, cTool} {
		p := duo(server, goTool, "-n", "20")
		p.ServerArgs = append(p.ServerArgs, "-s", "4096")
		p.ClientArgs = append(p.ClientArgs, "-s", "65536")
		serverOut, client, err := p.Run(inLab(t))
		require.NoError(t, err)
		requireFailure(t, client, "remote access error", "the same -s")
		assert.NotZero(t, serverOut.Status)
		if server.Name == goTool.Name {
			requireFailure(t, serverOut, "peer closed the connection")
		}
	}
}

// A side that is killed in mid-run ends the other at once.
func TestPeerKilled(t *testing.T) {
	for _, c := range combinations {
		t.Run(c.server.Name+" server, "+c.client.Name+" client", func(t *testing.T) {
			for _, killServer := range []bool{true, false} {
				survivor := c.client
				if !killServer {
					survivor = c.server
				}
				if survivor.Name != goTool.Name {
					continue
				}
				ctx := inLab(t)
				server, client, err := duo(c.server, c.client, "-D", "100").Start(ctx)
				require.NoError(t, err)
				underWay(t, ctx)
				victim, left := server, client
				if !killServer {
					victim, left = client, server
				}
				require.NoError(t, victim.Signal(syscall.SIGKILL))
				wait(t, victim)
				requireFailure(t, wait(t, left), "peer closed the connection")
			}
		})
	}
}

// A server that is stopped before the first message is not waited for.
func TestPeerStopped(t *testing.T) {
	ctx := inLab(t)
	p := duo(cTool, goTool)
	server := start(t, ctx, p.Server, append(p.ServerArgs, "-p", strconv.Itoa(p.Port))...)
	listening(t, ctx, server, p.Port)
	require.NoError(t, server.Signal(syscall.SIGSTOP))
	client := start(t, ctx, p.Client, append(p.ClientArgs, "-p", strconv.Itoa(p.Port), "127.0.0.1")...)
	requireFailure(t, wait(t, client), "fell silent")
	require.NoError(t, server.Signal(syscall.SIGKILL))
	wait(t, server)
}

// Ctrl-C ends a run that the peer, being stopped, would not.
func TestInterrupted(t *testing.T) {
	for _, serverTool := range []pairs.Tool{goTool, cTool} {
		ctx := inLab(t)
		server, client, err := duo(serverTool, goTool, "-n", "100000000").Start(ctx)
		require.NoError(t, err)
		underWay(t, ctx)
		require.NoError(t, server.Signal(syscall.SIGSTOP))
		require.NoError(t, client.Signal(syscall.SIGINT))
		out := wait(t, client)
		assert.Equal(t, 130, out.Status, out.Stderr)
		assert.True(t, strings.HasPrefix(out.Stderr, "write_bw: ended by a signal"), out.Stderr)
		require.NoError(t, server.Signal(syscall.SIGCONT))
		serverOut := wait(t, server)
		if serverTool.Name == goTool.Name {
			requireFailure(t, serverOut, "peer closed the connection")
		}
	}
}
