package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/topo/doctor"
	"github.com/gofabric/gofabric/topo/doctor/doctortest"
)

// asTool makes the test binary behave as the program.
const asTool = "DOCTOR_TEST_AS_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) == "" {
		os.Exit(testutil.Main(m))
	}
	ctx, stop := command.WithSignals(context.Background())
	status := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(status)
}

// dgx writes the healthy DGX into a file.
func dgx(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "dgx.txtar")
	require.NoError(t, os.WriteFile(name, doctortest.Capture(doctortest.DGXA100), 0o644))
	return name
}

func call(t *testing.T, input string, args ...string) (status int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(context.Background(), args, streams{strings.NewReader(input), &o, &e})
	return status, o.String(), e.String()
}

// broken is the DGX with a card that runs x8 and a job that NCCL keeps off the
// fabric.
func broken(t *testing.T) string {
	t.Helper()
	text := string(doctortest.Capture(doctortest.DGXA100))
	at := strings.Index(text, "device = 0x101b")
	require.Positive(t, at)
	text = text[:at] + strings.Replace(text[at:], "current_link_width = 16", "current_link_width = 8", 1)
	return strings.Replace(text, `"env": {}`, `"env": {"NCCL_IB_DISABLE": "1"}`, 1)
}

func TestText(t *testing.T) {
	status, out, stderr := call(t, broken(t), "--from", "-")
	assert.Empty(t, stderr)
	assert.Equal(t, exitCritical, status)
	assert.Contains(t, out, "2 critical, 2 warning")
	assert.Contains(t, out, "CRITICAL  mlx5_1 (0000:12:00.0 to 0000:04:10.0): the link runs x8 and both ends can do x16")
	assert.Contains(t, out, "/sys/bus/pci/devices/0000:12:00.0/current_link_width: 8")
	assert.Contains(t, out, "  fix       unset it")
	assert.Less(t, strings.Index(out, "CRITICAL"), strings.Index(out, "WARNING"), "the worst first")
	for _, line := range strings.Split(out, "\n") {
		assert.LessOrEqual(t, len(line), 120, line)
	}

	status, out, _ = call(t, "", "--from", dgx(t))
	assert.Zero(t, status)
	assert.NotContains(t, out, "CRITICAL")
	status, _, _ = call(t, "", "--from", dgx(t), "--strict")
	assert.Equal(t, exitWarning, status)
	_, out, _ = call(t, "", "--from", dgx(t), "-v")
	assert.Contains(t, out, "Right:")
	assert.Contains(t, out, "this is no virtual machine")
}

func TestSymptomOrders(t *testing.T) {
	_, out, _ := call(t, broken(t), "--from", "-", "--symptom", "slow-allreduce")
	assert.Less(t, strings.Index(out, "fabric-used"), strings.Index(out, "pcie-width"))
	_, out, _ = call(t, broken(t), "--from", "-", "--symptom", "low-bandwidth")
	assert.Less(t, strings.Index(out, "pcie-width"), strings.Index(out, "fabric-used"))
}

func TestJSON(t *testing.T) {
	status, out, _ := call(t, broken(t), "--from", "-", "--json", "--measured", "mlx5_1=10")
	assert.Equal(t, exitCritical, status)
	var d struct {
		Schema  string
		Summary map[string]int
		Source  string
		Results []struct {
			Number             int
			Name, Outcome      string
			Worst, Asks        string
			Findings           []doctor.Finding
			Severity, Hostname string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &d))
	assert.Equal(t, "gofabric doctor 1", d.Schema)
	assert.Equal(t, 2, d.Summary["critical"])
	assert.Len(t, d.Results, len(doctor.Checks()))
	assert.Equal(t, "port-state", d.Results[0].Name)
	assert.Equal(t, "fail", d.Results[36].Outcome, "what was measured")
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{
		{"word"}, {"--from", ""}, {"--nonsense"}, {"--watch", "0s"}, {"--watch", "x"}, {"--pid", "0"}, {"--symptom", "none"}, {"--symptom", ""},
		{"--from", "x", "--watch", "1s"}, {"--from", "x", "--pid", "1"}, {"--from", "x", "--probe"}, {"--comment", "x"}, {"--measured", "x"}, {"--measured", "x=NaN"},
		{"--measured", "=1"}, {"--serve", ":1", "--json"}, {"--from", "x", "--capture", "y"}, {"--from", filepath.Join(t.TempDir(), "absent")}, {"--peer", "nohost"}, {"--from", os.DevNull},
	} {
		status, out, stderr := call(t, "", args...)
		assert.Equal(t, exitFailed, status, args)
		assert.Empty(t, out, args)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), "%v: %s", args, stderr)
		assert.True(t, strings.HasPrefix(stderr, "doctor: "), stderr)
	}
	status, out, _ := call(t, "", "--help")
	assert.Zero(t, status)
	assert.Contains(t, out, "--symptom")
	_, out, _ = call(t, "", "--list")
	assert.Equal(t, len(doctor.Checks()), strings.Count(out, "\n"))
}

func TestTerminalCommandsInFilesAreShownAsText(t *testing.T) {
	text := strings.Replace(broken(t), `"NCCL_IB_DISABLE": "1"`, `"NCCL_SOCKET_IFNAME": "a\u001b[2Jb"`, 1)
	status, out, _ := call(t, text, "--from", "-")
	assert.Equal(t, exitCritical, status)
	assert.NotContains(t, out, "\x1b")
	_, _, stderr := call(t, "", "--from", "a\x1b[2Jb")
	assert.NotContains(t, stderr, "\x1b")
}

// served runs the server of a machine and returns its address.
func served(t *testing.T, n doctor.Node) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	log, said, _ := os.Pipe()
	go func() { done <- serve(ctx, "127.0.0.1:0", n, said) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		_ = said.Close()
		_ = log.Close()
	})
	var address string
	_, err := fmt.Fscanf(log, "doctor: answering at %s", &address)
	require.NoError(t, err)
	return strings.TrimSuffix(address, ";")
}

func TestPeer(t *testing.T) {
	m, err := readFile(dgx(t), nil)
	require.NoError(t, err)
	n := doctor.Summarize(m)
	n.Hostname = "node2"
	address := served(t, n)
	status, out, stderr := call(t, "", "--from", dgx(t), "--peer", address, "-v")
	assert.Zero(t, status, stderr)
	assert.Contains(t, out, "node2: nothing differs that matters")

	n.Settings = map[string]string{"NCCL_IB_TC": "106"}
	n.HCAs[0].Firmware = "20.29.0"
	n.HCAs[0].Ports[0].RateGbps = 100
	status, out, _ = call(t, "", "--from", dgx(t), "--peer", served(t, n), "--strict")
	assert.Equal(t, exitWarning, status)
	for _, text := range []string{"NCCL_IB_TC differs: none here, 106 there", "200 Gb/s here and 100 on node2", "20.29.0"} {
		assert.Contains(t, strings.Join(strings.Fields(out), " "), text)
	}
}

func TestServeTellsOneThingOnly(t *testing.T) {
	address := served(t, doctor.Node{Hostname: "node1"})
	for path, want := range map[string]int{nodePath: 200, "/": 404, "/v1/../etc/passwd": 404} {
		response, err := http.Get("http://" + address + path)
		require.NoError(t, err)
		_ = response.Body.Close()
		assert.Equal(t, want, response.StatusCode, path)
	}
	response, err := http.Post("http://"+address+nodePath, "text/plain", strings.NewReader("x"))
	require.NoError(t, err)
	_ = response.Body.Close()
	assert.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
}

func TestPeersThatAreNone(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < 40; i++ {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
					return
				}
			}
		},
		"another page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"too many": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"hcas":[%s{}]}`, strings.Repeat("{},", 3000))
		},
	} {
		server := httptest.NewServer(handler)
		status, _, stderr := call(t, "", "--from", dgx(t), "--peer", strings.TrimPrefix(server.URL, "http://"))
		assert.Equal(t, exitFailed, status, name)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), "%s: %s", name, stderr)
		server.Close()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	_, _, stderr := call(t, "", "--from", dgx(t), "--peer", address)
	assert.Contains(t, stderr, "doctor --serve")
}

func TestWatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var o, e bytes.Buffer
	assert.Equal(t, exitFailed, run(ctx, []string{"--watch", "1h"}, streams{strings.NewReader(""), &o, &e}))
	assert.Equal(t, exitFailed, run(ctx, []string{"--peer", "127.0.0.1:1"}, streams{strings.NewReader(""), &o, &e}))
}

func TestWatchAndCaptureThisMachine(t *testing.T) {
	status, _, stderr := call(t, "", "--watch", (5 * time.Millisecond).String())
	assert.NotEqual(t, exitFailed, status, stderr)
	file := filepath.Join(t.TempDir(), "out.txtar")
	status, _, stderr = call(t, "", "--capture", file, "--comment", "a test")
	assert.Zero(t, status, stderr)
	status, _, stderr = call(t, "", "--from", file)
	assert.NotEqual(t, exitFailed, status, stderr)
}
