//go:build linux && cgo

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/gofabric/gofabric/verbs/verbstest"
)

func TestMain(m *testing.M) {
	if testutil.InLab() {
		// librdmacm keeps each device open that it once used.
		_, _ = rdmacm.Devices()
	}
	verbstest.Main(m)
}

func TestEchoInOneProcess(t *testing.T) {
	for _, size := range []string{"0", "64", "100000"} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), []string{"-n", "50", "-s", size}, &out))
		assert.Contains(t, out.String(), "50 messages of "+size+" bytes")
	}
}

func TestEchoOnDevice(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-d", testutil.Device(t), "-n", "50", "-s", "20000"}, &out))
}

// TestEchoOverAddresses runs a server and clients as they are run by hand.
func TestEchoOverAddresses(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "needs the connection manager of a kernel with soft-RoCE: it runs in the lab")
	}
	ctx, stop := context.WithCancel(t.Context())
	var out testutil.Output
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--listen", "10.0.0.1:0"}, &out) }()
	var addr string
	for addr == "" {
		if _, rest, ok := strings.Cut(out.String(), "listening at "); ok && strings.Contains(rest, "\n") {
			addr = strings.TrimSpace(rest)
		}
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		require.NoError(t, run(t.Context(), []string{"--dial", addr, "-n", "20", "-s", "9000"}, &bytes.Buffer{}))
	}
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestWrongFlags(t *testing.T) {
	for _, args := range []string{"-s -1", "-n 0", "stray", "--nonsense", "-d nosuch0", "--dial nonsense", "--listen :0 --dial a:1"} {
		require.Error(t, run(t.Context(), strings.Fields(args), &bytes.Buffer{}), args)
	}
}
