package perftest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func runMain(args ...string) (status int, stdout, stderr string) {
	var out, problems bytes.Buffer
	status = Main(WriteBW, args, &out, &problems)
	return status, out.String(), problems.String()
}

func TestMainWithoutRun(t *testing.T) {
	status, stdout, stderr := runMain("-h")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "--cq-mod")
	assert.True(t, strings.HasSuffix(stdout, "\n"))
	assert.Empty(t, stderr)

	status, stdout, _ = runMain("-V")
	assert.Zero(t, status)
	assert.Equal(t, VersionText(), stdout)

	for _, args := range [][]string{{"-s", "x"}, {"-d", "no_such_device"}, {"a", "b"}} {
		status, stdout, stderr = runMain(args...)
		assert.Equal(t, 1, status)
		assert.Empty(t, stdout)
		assert.True(t, strings.HasPrefix(stderr, "write_bw: "), stderr)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

func TestOneLine(t *testing.T) {
	err := errors.Join(errors.New("no usable GID:\n  index  type\n  0      RoCE v1\n"), errors.New("second"))
	assert.Equal(t, "no usable GID:; index type; 0 RoCE v1; second", oneLine(err))
}

func TestSignalEndsContext(t *testing.T) {
	ctx, stop := withSignals(context.Background())
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	assert.Equal(t, signalError{syscall.SIGTERM}, context.Cause(ctx))
	stop()

	ctx, stop = withSignals(context.Background())
	stop()
	assert.ErrorIs(t, context.Cause(ctx), context.Canceled)
}
