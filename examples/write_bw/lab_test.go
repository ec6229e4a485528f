package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/internal/perftest"
	"github.com/gofabric/gofabric/internal/testutil"
)

// asTool makes the test binary behave as the tool that it names, so that the tests
// can kill it and see its exit status.
const asTool = "PERFTEST_TEST_AS_TOOL"

// exitLeaked is the status of a tool that left something open on a device.
const exitLeaked = 99

func TestMain(m *testing.M) {
	name := os.Getenv(asTool)
	at := slices.IndexFunc(perftest.Tools, func(t perftest.Tool) bool { return t.Name == name })
	if at < 0 {
		os.Exit(testutil.Main(m))
	}
	status := perftest.Main(perftest.Tools[at], os.Args[1:], os.Stdout, os.Stderr)
	for _, left := range life.Open() {
		fmt.Fprintf(os.Stderr, "left open: %s, made at\n%s", left.Name, left.Stack)
		status = exitLeaked
	}
	os.Exit(status)
}

var (
	goTool = ours("write_bw")
	cTool  = pairs.Tool{Name: "C", Argv: []string{"ib_write_bw"}}
)

// ours is one of our tools.
func ours(name string) pairs.Tool {
	return pairs.Tool{Name: "Go", Argv: []string{os.Args[0]}, Env: []string{asTool + "=" + name}}
}

// runLimit ends a tool that hangs; the lab's machine is slow.
const runLimit = 2 * time.Minute

// The lab's two devices reach each other.
const serverDevice, clientDevice = "rxe0", "rxe1"

// inLab returns a context for the tools of one test, which needs the lab's
// devices.
func inLab(t *testing.T) context.Context {
	t.Helper()
	if !testutil.InLab() {
		testutil.Skip(t, "needs the lab's two RDMA devices and ib_write_bw")
	}
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	t.Cleanup(cancel)
	return ctx
}

var lastPort atomic.Int32

// freePort returns a port that no other test uses.
func freePort() int { return 19000 + int(lastPort.Add(1)) }

// duo is a server and a client of write_bw, each Go or C.
func duo(server, client pairs.Tool, args ...string) pairs.Pair {
	with := func(device string) []string { return append([]string{"-F", "-d", device}, args...) }
	return pairs.Pair{Server: server, Client: client, Port: freePort(), ServerArgs: with(serverDevice), ClientArgs: with(clientDevice)}
}

// succeed runs a pair that must succeed on both sides, and repeats a run that the
// kernel spoiled.
func succeed(t *testing.T, ctx context.Context, p pairs.Pair) (server, client pairs.Output) {
	t.Helper()
	for try := 1; ; try++ {
		var err error
		server, client, err = p.Run(ctx)
		require.NoError(t, err)
		if try == pairs.RxeTries || !client.RxeFlaw() && !server.RxeFlaw() {
			break
		}
		t.Logf("rdma_rxe lost a retransmission, again: %s", client.Stderr)
		p.Port = freePort()
	}
	require.Zero(t, client.Status, "%s client: %s", client.Tool, client.Stderr)
	require.Zero(t, server.Status, "%s server: %s", server.Tool, server.Stderr)
	return server, client
}

// start starts a tool that is killed at the end of the test.
func start(t *testing.T, ctx context.Context, tool pairs.Tool, args ...string) *pairs.Process {
	t.Helper()
	p, err := pairs.Start(ctx, tool, args...)
	require.NoError(t, err)
	return p
}

func wait(t *testing.T, p *pairs.Process) pairs.Output {
	t.Helper()
	out, err := p.Wait()
	require.NoError(t, err)
	return out
}

// requireFailure checks that a Go tool failed as promised: status 1, one line on
// standard error that holds all of the words.
func requireFailure(t *testing.T, out pairs.Output, words ...string) {
	t.Helper()
	require.Equal(t, 1, out.Status, "stderr: %s", out.Stderr)
	require.True(t, strings.HasPrefix(out.Stderr, "write_bw: "), out.Stderr)
	require.Equal(t, 1, strings.Count(out.Stderr, "\n"), out.Stderr)
	for _, word := range words {
		assert.Contains(t, out.Stderr, word)
	}
}

// listening waits until the process listens.
func listening(t *testing.T, ctx context.Context, p *pairs.Process, port int) {
	t.Helper()
	require.NoError(t, p.Listening(ctx, port))
}

// underWay waits until data moves: the device's counter of sent packets, or what
// it has in its place, goes up for a while. rxe counts on its network interface.
func underWay(t *testing.T, ctx context.Context) {
	t.Helper()
	const many = 1 << 20
	begin := sentBytes(t)
	for sentBytes(t) < begin+many {
		require.NoError(t, ctx.Err(), "no data moved")
		time.Sleep(20 * time.Millisecond)
	}
}

func sentBytes(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/sys/class/net/v1/statistics/tx_bytes")
	require.NoError(t, err)
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	require.NoError(t, err)
	return n
}

// unprivileged runs a Go tool as a user without rights, with so many KiB that it
// may lock.
func unprivileged(lockKiB int) pairs.Tool {
	const nobody = 65534
	tool := goTool
	tool.Argv = []string{"sh", "-c", fmt.Sprintf(`ulimit -l %d && exec "$0" "$@"`, lockKiB), os.Args[0]}
	tool.Attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
	return tool
}

func lookC(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath(cTool.Argv[0])
	require.NoError(t, err)
}
