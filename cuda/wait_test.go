package cuda

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPoll goes past the polls that do not sleep.
func TestPoll(t *testing.T) {
	const last = eagerPolls + 3
	asked := 0
	require.NoError(t, poll(context.Background(), func() (bool, error) {
		asked++
		return asked == last, nil
	}))
	assert.Equal(t, last, asked)

	ctx, cancel := context.WithCancel(context.Background())
	asked = 0
	require.ErrorIs(t, poll(ctx, func() (bool, error) {
		if asked++; asked == last {
			cancel()
		}
		return false, nil
	}), context.Canceled)
	assert.Equal(t, last, asked)

	require.NoError(t, poll(ctx, func() (bool, error) { return true, nil }), "what is done is done")

	failure := errors.New("lost")
	require.ErrorIs(t, poll(context.Background(), func() (bool, error) { return false, failure }), failure)
}

func TestErrorsSayWhere(t *testing.T) {
	e := &Error{Code: ErrorOutOfMemory, Name: "CUDA_ERROR_OUT_OF_MEMORY", Text: "out of memory"}
	op := &OpError{Op: "allocate memory", Device: 1, Err: e, Hint: "64 bytes are free"}
	assert.Equal(t, "cuda: allocate memory on GPU 1: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2) (64 bytes are free)", op.Error())
	require.ErrorIs(t, op, ErrorOutOfMemory)
	assert.NotErrorIs(t, op, ErrorInvalidValue)
	assert.NotErrorIs(t, op, ErrNotSupported)
	assert.ErrorIs(t, &Error{Code: ErrorNotSupported}, ErrNotSupported)
	assert.Equal(t, "cuda: open libcuda: gone", failed("open libcuda", errors.New("gone")).Error())
	assert.Equal(t, "CUDA error 700", ErrorIllegalAddress.Error())
}
