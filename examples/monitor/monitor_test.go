package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nvml/nvmltest"
)

func TestMain(m *testing.M) { os.Exit(testutil.Main(m)) }

// machineText is two InfiniBand ports, one of which refuses some counters, and a
// RoCE port; n is what they counted.
const machineText = `
[sys/class/infiniband/mlx5_0]
hca_type = MT4129
[sys/class/infiniband/mlx5_0/ports/1]
state = 4: ACTIVE
link_layer = InfiniBand
rate = 400 Gb/sec (4X NDR)
counters/port_xmit_data = DATA
counters/port_rcv_data = DATA
counters/link_downed = ERRS
counters/symbol_error = 65535
hw_counters/lifespan = 10
hw_counters/out_of_sequence = ERRS
[sys/class/infiniband/mlx5_1/ports/1]
state = 4: ACTIVE
link_layer = InfiniBand
rate = 400 Gb/sec (4X NDR)
counters/port_xmit_data !EINVAL
counters/port_rcv_data = DATA
counters/link_downed !EINVAL
counters/symbol_error = N/A (no PMA)
[sys/class/infiniband/mlx5_2/ports/1]
state = 1: DOWN
link_layer = Ethernet
rate = 100 Gb/sec (4X EDR)
gids/0 = fe80:0000:0000:0000:0000:00ff:fe00:0001
gid_attrs/types/0 = RoCE v2
gid_attrs/ndevs/0 = eth2
[sys/class/net/eth2]
type = 1
device -> ../../../devices/pci0000:00/0000:00:02.0
statistics/rx_bytes = DATA
statistics/tx_bytes = DATA
[sys/devices/pci0000:00/0000:00:02.0]
class = 0x020000
[sys/bus/pci/devices]
0000:00:02.0 -> ../../../devices/pci0000:00/0000:00:02.0
`

func files(t testing.TB, data, errs string) fs.FS {
	t.Helper()
	tree, err := sysfs.ParseTree(strings.NewReplacer("DATA", data, "ERRS", errs).Replace(machineText))
	require.NoError(t, err)
	return tree
}

// two reads a machine twice, a second apart, and returns the second reading with
// what the screen remembers.
func two(t testing.TB) (*state, *reading) {
	t.Helper()
	gpus := nvmltest.H200Pair()
	s := &source{root: files(t, "1000000000", "1"), gpus: gpus}
	first, err := s.read()
	require.NoError(t, err)
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	set := func(r *reading, at time.Time, nvlink uint64) {
		r.at = at
		for i := range r.ports {
			r.ports[i].sample.At = at
		}
		for i := range r.gpus {
			out, in := nvlink, 2*nvlink
			r.gpus[i].status.NVLinkSent, r.gpus[i].status.NVLinkReceived = &out, &in
		}
	}
	st := newState(start)
	set(first, start, 0)
	st.add(first)
	st.screen(first, 0)
	s.root = files(t, "6335000000", "3")
	second, err := s.read()
	require.NoError(t, err)
	set(second, start.Add(time.Second), 180e9)
	st.add(second)
	return st, second
}

func TestScreen(t *testing.T) {
	st, r := two(t)
	screen := st.screen(r, 140)
	lines := map[string]string{}
	for _, line := range strings.Split(screen, "\n") {
		if words := strings.Fields(line); len(words) > 0 {
			lines[words[0]] = strings.Join(words, " ")
		}
		assert.LessOrEqual(t, len([]rune(line)), 140)
	}
	assert.Contains(t, lines["mlx5_0/1"], "ACTIVE 50 GB/s port 21.340 43% █████████···········")
	assert.Contains(t, lines["mlx5_1/1"], "ACTIVE 50 GB/s port - - 21.340 43%", "a counter that cannot be read is no zero, and costs the other nothing")
	assert.Contains(t, lines["mlx5_2/1"], "eth2 DOWN 12.5 GB/s port 5.335 43%", "without counters of the port those of its interface")
	assert.Contains(t, lines["0"], "NVIDIA H200 0% 0.0 70 31 18 of 18 180.000 40%")
	assert.Contains(t, lines["0"], "360.000 80%")
	assert.Contains(t, lines["critical"], "critical mlx5_0/1 link_downed +2 +2")
	assert.Contains(t, lines["warning"], "warning mlx5_0/1 out_of_sequence +2 +2")
	assert.NotContains(t, screen, "symbol_error", "it did not grow")

	st.add(r) // nothing more
	assert.Contains(t, strings.Join(strings.Fields(st.screen(r, 80)), " "), "link_downed - +2", "errors are deltas, and stay on the screen")

	over := overlay(screen, 140, 5)
	assert.True(t, strings.HasPrefix(over, pageTop))
	assert.Equal(t, 4, strings.Count(over, "\n"), "a line more would scroll")
	assert.Contains(t, over, "make the window higher")
}

// Two readings within the driver's lifespan are one: the error is told once.
func TestLifespan(t *testing.T) {
	st, r := two(t)
	for i := range r.ports {
		r.ports[i].sample.At = r.at.Add(4 * time.Millisecond)
	}
	st.add(r)
	assert.EqualValues(t, 2, st.errors["mlx5_0/1 hw_counters out_of_sequence"].total)
}

func scrape(t *testing.T, s *source) string {
	t.Helper()
	server := httptest.NewServer(handler(s))
	defer server.Close()
	response, err := http.Get(server.URL + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

func TestMetrics(t *testing.T) {
	text := scrape(t, &source{root: files(t, "1000", "3"), gpus: nvmltest.H200Pair()})
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	for _, line := range []string{
		`gofabric_port_transmitted_bytes_total{device="mlx5_0",port="1"} 4000`,
		`gofabric_port_received_bytes_total{device="mlx5_1",port="1"} 4000`,
		`gofabric_port_errors_total{counter="link_downed",device="mlx5_0",port="1",severity="critical"} 3`,
		`gofabric_port_hw_events_total{counter="out_of_sequence",device="mlx5_0",port="1",severity="warning"} 3`,
		`gofabric_port_counter_saturated{counter="symbol_error",device="mlx5_0",port="1"} 1`,
		`gofabric_port_counters_absent{device="mlx5_1",port="1"} 3`,
		`gofabric_port_active{device="mlx5_2",port="1"} 0`,
		`gofabric_port_rate_bytes_per_second{device="mlx5_0",port="1"} 5e+10`,
		`gofabric_port_netdev_received_bytes_total{device="mlx5_2",netdev="eth2",port="1"} 1000`,
		`gofabric_gpu_nvlink_limit_bytes_per_second{gpu="0",uuid="GPU-f0000000-2335-4000-8000-000000000000"} 4.5e+11`,
		`gofabric_read_failed 0`,
	} {
		assert.Contains(t, text, line+"\n")
	}
	for _, line := range []string{`gofabric_port_transmitted_bytes_total{device="mlx5_1"`, `counter="symbol_error",device="mlx5_1"`} {
		assert.NotContains(t, text, line, "absent is no zero")
	}
}

func TestOneLostGPULosesNothingElse(t *testing.T) {
	gpus := nvmltest.H200Pair()
	gpus.Lose(gpus.Data.Inventory[0].UUID)
	text := scrape(t, &source{root: files(t, "1000", "3"), gpus: gpus})
	assert.Contains(t, text, `gofabric_gpu_power_watts{gpu="1"`)
	assert.NotContains(t, text, `gofabric_gpu_power_watts{gpu="0"`)
	assert.Contains(t, text, `gofabric_port_active{device="mlx5_0",port="1"} 1`)
}

func TestServedPaths(t *testing.T) {
	server := httptest.NewServer(handler(&source{root: files(t, "1", "1")}))
	defer server.Close()
	for path, want := range map[string]int{"/": 200, "/metrics": 200, "/other": 404} {
		response, err := http.Get(server.URL + path)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, want, response.StatusCode, path)
	}
}

func TestListenAddress(t *testing.T) {
	for given, want := range map[string]string{":9879": "127.0.0.1:9879", "127.0.0.1:1": "127.0.0.1:1", "0.0.0.0:9879": "0.0.0.0:9879", "[::1]:2": "[::1]:2"} {
		got, err := listenAddress(given)
		require.NoError(t, err)
		assert.Equal(t, want, got, "off-host only when asked")
	}
	_, err := listenAddress("9879")
	require.Error(t, err)
}

func call(ctx context.Context, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(ctx, args, &o, &e)
	return status, o.String(), e.String()
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{
		{"word"}, {"--none"}, {"--interval", "1ms"}, {"--interval", "2h"}, {"--count", "-1"}, {"--listen", ""}, {"--listen", "x"}, {"--listen", ":1", "--count", "1"},
		{"-d", "no-such-device"}, {"--listen", "127.0.0.1:99999"},
	} {
		status, out, errs := call(context.Background(), args...)
		assert.Equal(t, 1, status, args)
		assert.Empty(t, out)
		assert.Equal(t, 1, strings.Count(errs, "\n"), "%v %s", args, errs)
		assert.True(t, strings.HasPrefix(errs, "monitor: "), errs)
	}
	status, out, _ := call(context.Background(), "--help")
	assert.Zero(t, status)
	assert.Contains(t, out, "--listen")
}

// A folder with another machine's files, and the end by a context.
func TestRoot(t *testing.T) {
	root := t.TempDir()
	port := filepath.Join(root, "sys/class/infiniband/mlx5_0/ports/1")
	require.NoError(t, os.MkdirAll(filepath.Join(port, "counters"), 0o755))
	for name, text := range map[string]string{"state": "4: ACTIVE", "rate": "200 Gb/sec (4X HDR)", "link_layer": "InfiniBand", "counters/port_xmit_data": "7"} {
		require.NoError(t, os.WriteFile(filepath.Join(port, name), []byte(text+"\n"), 0o644))
	}
	status, out, errs := call(context.Background(), "--root", root, "--count", "2", "--interval", "100ms", "-d", "mlx5_0")
	assert.Zero(t, status, errs)
	assert.Equal(t, 2, strings.Count(out, "mlx5_0/1"))
	assert.Contains(t, out, "25 GB/s port")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	status, _, _ = call(ctx, "--root", root)
	assert.Equal(t, 1, status)
}
