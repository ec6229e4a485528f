//go:build linux

package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
)

func inLab(t *testing.T) {
	t.Helper()
	if !testutil.InLab() {
		testutil.Skip(t, "needs the lab: go test -exec rdmalab -run TestLab ./examples/monitor")
	}
}

// Real traffic between the lab's two devices shows as a rate.
func TestLabTraffic(t *testing.T) {
	inLab(t)
	var tools []*exec.Cmd
	for _, command := range []string{
		"exec ib_write_bw -d rxe0 -x 1 -s 65536 -D 20 -p 19001",
		"for i in 1 2 3 4 5 6 7 8 9; do ib_write_bw -d rxe1 -x 1 -s 65536 -D 20 -p 19001 10.0.0.1 && break; sleep 0.3; done",
	} {
		cmd := exec.Command("sh", "-c", command)
		require.NoError(t, cmd.Start())
		tools = append(tools, cmd)
	}
	t.Cleanup(func() {
		for _, cmd := range tools {
			_ = cmd.Process.Kill()
			var ended *exec.ExitError
			if err := cmd.Wait(); err != nil {
				require.ErrorAs(t, err, &ended)
			}
		}
	})
	status, out, errs := call(context.Background(), "--count", "4", "--interval", "1s", "-d", "rxe1")
	require.Zero(t, status, errs)
	best := 0.0
	for _, line := range strings.Split(out, "\n") {
		words := strings.Fields(line)
		if len(words) > 6 && words[0] == "rxe1/1" {
			assert.Equal(t, []string{"v1", "ACTIVE"}, words[1:3])
			if rate, err := strconv.ParseFloat(words[6], 64); err == nil {
				best = max(best, rate)
			}
		}
	}
	t.Logf("%s", out)
	assert.Greater(t, best, 0.001, "GB/s")
}

// The program as Prometheus sees it, from a real kernel's files.
func TestLabMetrics(t *testing.T) {
	inLab(t)
	ctx, cancel := context.WithCancel(context.Background())
	log, said, err := os.Pipe()
	require.NoError(t, err)
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"--listen", "127.0.0.1:0"}, io.Discard, said) }()
	line := make([]byte, 200)
	n, err := log.Read(line)
	require.NoError(t, err)
	url := strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "monitor: metrics at "))
	response, err := http.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	cancel()
	assert.Zero(t, <-done)
	problems, err := promlint.New(strings.NewReader(string(body))).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	for _, metric := range []string{`gofabric_port_active{device="rxe0",port="1"} 1`, `gofabric_port_hw_events_total{counter="sent_pkts",device="rxe1",port="1",severity="none"}`, `gofabric_port_netdev_transmitted_bytes_total{device="rxe0",netdev="v0",port="1"}`} {
		assert.Contains(t, string(body), metric)
	}
}
