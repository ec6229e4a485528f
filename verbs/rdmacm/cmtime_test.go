//go:build linux

package rdmacm_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cmtimeRate has rdma-core's cmtime make n connections at once, and returns how
// many it made a second. Reports false where the guest has no cmtime.
func cmtimeRate(t testing.TB, n int) (float64, bool) {
	t.Helper()
	tool, err := exec.LookPath("cmtime")
	if err != nil {
		return 0, false
	}
	const port = "7999"
	server := exec.Command(tool, "-c", fmt.Sprint(n), "-b", "10.0.0.1", "-p", port)
	require.NoError(t, server.Start())
	defer func() {
		// Some versions stay when they are done.
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for {
		start := time.Now()
		out, err := exec.CommandContext(ctx, tool, "-c", fmt.Sprint(n), "-s", "10.0.0.1", "-p", port).CombinedOutput()
		if err == nil && strings.Contains(string(out), "destroy") {
			return float64(n) / time.Since(start).Seconds(), true
		}
		// The server may not listen yet.
		require.NoError(t, ctx.Err(), "%s", out)
		time.Sleep(100 * time.Millisecond)
	}
}
