package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/internal/testutil"
)

// scope is which runs TestInterop makes: a few, as the test suite does, or all,
// or those of the C tools with each other, which check the checks.
func scope() string { return os.Getenv("GOFABRIC_INTEROP") }

const (
	scopeAll     = "all"
	scopeControl = "control"
)

// TestInterop runs each tool with each set of flags, a server and a client of
// which at least one is ours.
func TestInterop(t *testing.T) {
	inLab(t)
	for _, k := range kinds {
		for _, v := range plan(k, scope() != "") {
			for _, sides := range pairings(k.name) {
				t.Run(fmt.Sprintf("%s/%s/%s-%s", k.name, v.name, sides[0].Name, sides[1].Name), func(t *testing.T) {
					interop(t, k, v, sides[0], sides[1])
				})
			}
		}
	}
}

// pairings are a tool's servers and clients.
func pairings(name string) [][2]pairs.Tool {
	ours, theirs := goTool(name), cTool(name)
	switch scope() {
	case scopeAll:
		return [][2]pairs.Tool{{ours, theirs}, {theirs, ours}, {ours, ours}}
	case scopeControl:
		return [][2]pairs.Tool{{theirs, theirs}}
	default:
		return [][2]pairs.Tool{{ours, theirs}, {theirs, ours}}
	}
}

func interop(t *testing.T, k kind, v variant, serverTool, clientTool pairs.Tool) {
	server, client, err := run(t, inLab(t), v, serverTool, clientTool)
	failure := cannot(server, client, err)
	if failure == "" {
		check(t, k, v, server, client)
		return
	}
	if serverTool.Name != clientTool.Name { // of Go with Go, C says nothing
		serverC, clientC, errC := run(t, inLab(t), v, cTool(k.name), cTool(k.name))
		if fails := cannot(serverC, clientC, errC); sameFailure(server, serverC) && sameFailure(client, clientC) && fails != "" {
			testutil.SkipPeerCannot(t, "C cannot: ib_"+k.name+" "+v.args+": "+fails)
		}
	}
	require.Fail(t, failure, "%s server:\n%s\n%s client:\n%s", server.Tool, server.Stdout, client.Tool, client.Stdout)
}

// sameFailure tells whether a C side ended in a run with us as it does with C. Of
// our own side it says nothing.
func sameFailure(got, withC pairs.Output) bool {
	return got.Tool != withC.Tool || got.Status == withC.Status
}

// run runs a pair, and again where the kernel or the clock spoiled it.
func run(t *testing.T, ctx context.Context, v variant, serverTool, clientTool pairs.Tool) (server, client pairs.Output, err error) {
	with := func(device string) []string { return append([]string{"-F", "-d", device}, v.flags()...) }
	for try := 1; ; try++ {
		p := pairs.Pair{Server: serverTool, Client: clientTool, Port: freePort(), ServerArgs: with(serverDevice), ClientArgs: with(clientDevice)}
		if v.cm() {
			// An address leads to its own device, at both ends.
			p.CM, p.Host, p.ClientArgs = true, serverAddress, with(serverDevice)
		}
		server, client, err = p.Run(ctx)
		flaw := ""
		switch {
		case server.RxeFlaw() || client.RxeFlaw():
			flaw = "rdma_rxe answered a retransmission with status 9"
		case server.ClockFlaw() || client.ClockFlaw():
			flaw = "a C tool could not calibrate its clock"
		case v.iterations == 0 && (idle(server) || idle(client)):
			flaw = "nothing arrived in the seconds of a timed run"
		case mixesEvents(v, serverTool, server) || mixesEvents(v, clientTool, client):
			flaw = "perftest 4.5 took one queue's event for the other's"
		}
		if flaw == "" || try == pairs.RxeTries {
			return server, client, err
		}
		testutil.Note(t, "run again: "+flaw)
	}
}

// mixesEvents tells of a C tool that waited for ever, as ib_send_lat 4.5 does with
// events now and then, with C on the other side too: it takes those of both its
// queues from one channel, and where they come close together it loses count.
// Releases since have two channels.
func mixesEvents(v variant, tool pairs.Tool, out pairs.Output) bool {
	return v.name == "-e" && tool.Argv[0] == "ib_send_lat" && out.Status == -1 && oneChannel()
}

var oneChannel = sync.OnceValue(func() bool {
	version, err := exec.Command("ib_send_lat", "--version").Output()
	return err == nil && strings.Contains(string(version), "6.06")
})

// idle tells of a run that ended well that no message was counted in it: on a busy
// host the emulated processors may stand still for longer than it lasts.
func idle(out pairs.Output) bool {
	tables, err := pairs.Tables(out.Stdout)
	return err == nil && out.Status == 0 && len(tables) == 1 && len(tables[0].Rows) == 1 && tables[0].Rows[0][pairs.Iterations] == 0
}

// cannot returns in a line why a run failed, or nothing.
func cannot(server, client pairs.Output, err error) string {
	var reasons []string
	if err != nil {
		reasons = append(reasons, err.Error())
	}
	for i, out := range []pairs.Output{server, client} {
		if out.Status != 0 {
			side := []string{"server", "client"}[i]
			reasons = append(reasons, fmt.Sprintf("%s %s ended with status %d: %s", out.Tool, side, out.Status, lastLines(out.Stderr)))
		}
	}
	return strings.Join(reasons, "; ")
}

// lastLines joins the last lines of a text to one.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}
