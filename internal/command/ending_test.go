package command

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOneLine(t *testing.T) {
	err := errors.Join(errors.New("no usable GID:\n  index  type\n  0      RoCE v1\n"), errors.New("second"))
	assert.Equal(t, "no usable GID:; index type; 0 RoCE v1; second", OneLine(err.Error()))
}

func TestSignalEndsContext(t *testing.T) {
	ctx, stop := WithSignals(context.Background())
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	assert.Equal(t, SignalError{Signal: syscall.SIGTERM}, context.Cause(ctx))
	stop()

	ctx, stop = WithSignals(context.Background())
	stop()
	assert.ErrorIs(t, context.Cause(ctx), context.Canceled)
}
