//go:build linux && cgo

package cuda_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStreamPriorities(t *testing.T) {
	d := openGPU(t, 0)
	least, greatest, err := d.StreamPriorities()
	require.NoError(t, err)
	assert.LessOrEqual(t, greatest, least)
	for p := greatest; p <= least; p++ {
		s, err := d.CreateStream(cuda.StreamOptions{Priority: p, Blocking: p == least})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	_, err = d.CreateStream(cuda.StreamOptions{Priority: greatest - 1})
	require.ErrorIs(t, err, cuda.ErrOutOfRange)
}

func TestCancelledWaitLeavesTheWork(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	e := newEvent(t, d)
	release := keepBusy(t, s)
	b := alloc(t, d, 64)
	require.NoError(t, s.Fill8(b.Span(), 9))
	require.NoError(t, e.Record(s))

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, wait := range []func(context.Context) error{s.Synchronize, e.Synchronize} {
		err := wait(ended)
		require.ErrorIs(t, err, context.Canceled)
		var op *cuda.OpError
		require.ErrorAs(t, err, &op)
		assert.Contains(t, op.Hint, "goes on")
	}
	done, err := e.Query()
	require.NoError(t, err)
	assert.False(t, done)
	release()
	require.NoError(t, s.Synchronize(patiently(t)))
	require.NoError(t, e.Synchronize(patiently(t)))
	assert.Equal(t, bytes.Repeat([]byte{9}, 64), contents(t, s, b.Span()))
}

func TestWaitEndsWhenTheStreamCloses(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	release := keepBusy(t, s)
	waited := make(chan error)
	go func() { waited <- s.Synchronize(patiently(t)) }()
	require.NoError(t, s.Close())
	// On a real GPU the work may have ended before.
	if err := <-waited; err != nil {
		assert.ErrorIs(t, err, cuda.ErrClosed)
	}
	release()
	require.NoError(t, d.Synchronize(patiently(t)))
}

func TestStreamsWaitForEachOther(t *testing.T) {
	d := openGPU(t, 0)
	first, second := newStream(t, d), newStream(t, d)
	e := newEvent(t, d)
	b := alloc(t, d, 1<<20)
	release := keepBusy(t, first)
	require.NoError(t, first.Fill8(b.Span(), 1))
	require.NoError(t, e.Record(first))
	require.NoError(t, second.WaitEvent(e))
	require.NoError(t, second.Fill8(at(t, b.Span(), 0, 1<<19), 2))
	release()
	got := contents(t, second, b.Span())
	assert.Equal(t, bytes.Repeat([]byte{2}, 1<<19), got[:1<<19])
	assert.Equal(t, bytes.Repeat([]byte{1}, 1<<19), got[1<<19:])
}

func TestEventTiming(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	begin, end := newEvent(t, d), newEvent(t, d)
	happened, err := begin.Query()
	require.NoError(t, err)
	assert.True(t, happened, "an event that was not recorded")
	require.NoError(t, begin.Record(s))
	release := keepBusy(t, s)
	require.NoError(t, end.Record(s))
	_, err = end.Elapsed(begin)
	require.ErrorIs(t, err, cuda.ErrorNotReady)
	release()
	require.NoError(t, end.Synchronize(patiently(t)))
	took, err := end.Elapsed(begin)
	require.NoError(t, err)
	assert.Positive(t, took)

	untimed, err := d.CreateEvent(cuda.EventOptions{NoTiming: true})
	require.NoError(t, err)
	require.NoError(t, untimed.Record(s))
	_, err = untimed.Elapsed(begin)
	require.ErrorIs(t, err, cuda.ErrorInvalidHandle)
}

func TestEventOfAnotherGPU(t *testing.T) {
	a, b := openGPU(t, 0), openGPU(t, 1)
	e := newEvent(t, a)
	err := e.Record(newStream(t, b))
	require.ErrorIs(t, err, cuda.ErrorInvalidHandle)
	assert.Contains(t, err.Error(), "another GPU")
	require.NoError(t, e.Record(newStream(t, a)))
	require.NoError(t, newStream(t, b).WaitEvent(e), "waiting for it is allowed")
}

func TestWrappedStream(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	w, err := d.WrapStream(s.Handle())
	require.NoError(t, err)
	assert.Equal(t, s.Handle(), w.Handle())
	b := alloc(t, d, 16)
	require.NoError(t, w.Fill8(b.Span(), 3))
	require.NoError(t, w.Synchronize(patiently(t)))
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Fill8(b.Span(), 3), cuda.ErrClosed)
	require.NoError(t, s.Synchronize(patiently(t)), "it is not the wrapper's to destroy")

	for _, handle := range []uintptr{0, 1, 2} {
		w, err := d.WrapStream(handle)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
}

func TestWrappedStreamOfAnotherGPU(t *testing.T) {
	a, b := openGPU(t, 0), openGPU(t, 1)
	_, err := b.WrapStream(newStream(t, a).Handle())
	require.ErrorIs(t, err, cuda.ErrorInvalidContext)
}

func TestNullStream(t *testing.T) {
	d := openGPU(t, 0)
	s := d.NullStream()
	assert.Zero(t, s.Handle())
	b := alloc(t, d, 16)
	require.NoError(t, s.Fill8(b.Span(), 4))
	require.NoError(t, s.Synchronize(patiently(t)))
	require.NoError(t, s.Close())
	assert.Equal(t, bytes.Repeat([]byte{4}, 16), contents(t, s, b.Span()))
}
