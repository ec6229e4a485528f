//go:build linux && cgo

package cuda_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cudahook"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCaptureAndLaunch(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	from, to := alloc(t, d, 4096), alloc(t, d, 4096)
	require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed))
	capturing, err := s.Capturing()
	require.NoError(t, err)
	assert.True(t, capturing)
	require.NoError(t, s.Fill8(from.Span(), 6))
	require.NoError(t, s.Copy(to.Span(), from.Span()))
	// None of these may reach the driver, which would spoil the capture.
	_, err = s.Query()
	require.ErrorIs(t, err, cuda.ErrorStreamCaptureUnsupported)
	require.ErrorIs(t, s.Synchronize(patiently(t)), cuda.ErrorStreamCaptureUnsupported)
	require.ErrorIs(t, s.CopyToHost(patiently(t), make([]byte, 4096), to.Span()), cuda.ErrorStreamCaptureUnsupported)
	require.ErrorIs(t, s.BeginCapture(cuda.CaptureRelaxed), cuda.ErrorIllegalState)
	require.ErrorIs(t, s.Close(), cuda.ErrBusy)

	g, err := s.EndCapture()
	require.NoError(t, err)
	nodes, err := g.Nodes()
	require.NoError(t, err)
	assert.Equal(t, 2, nodes)
	capturing, err = s.Capturing()
	require.NoError(t, err)
	assert.False(t, capturing)

	x, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, g.Close(), "what was instantiated does not need it")
	for range 3 {
		require.NoError(t, s.Fill8(to.Span(), 0))
		require.NoError(t, x.Launch(s))
		assert.Equal(t, bytes.Repeat([]byte{6}, 4096), contents(t, s, to.Span()))
	}
}

func TestCaptureErrors(t *testing.T) {
	d := openGPU(t, 0)
	s, other := newStream(t, d), newStream(t, d)
	_, err := s.EndCapture()
	require.ErrorIs(t, err, cuda.ErrorIllegalState)
	assert.Error(t, s.BeginCapture(cuda.CaptureMode(9)))
	require.ErrorIs(t, d.NullStream().BeginCapture(cuda.CaptureRelaxed), cuda.ErrorStreamCaptureUnsupported)

	// A stream that joined cannot end the capture, and must be joined back.
	e := newEvent(t, d)
	b := alloc(t, d, 64)
	require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed))
	require.NoError(t, e.Record(s))
	_, err = e.Query()
	require.ErrorIs(t, err, cuda.ErrorCapturedEvent)
	require.NoError(t, other.WaitEvent(e))
	require.NoError(t, other.Fill8(b.Span(), 1))
	_, err = other.Query()
	require.ErrorIs(t, err, cuda.ErrorStreamCaptureUnsupported)
	_, err = other.EndCapture()
	require.ErrorIs(t, err, cuda.ErrorStreamCaptureUnmatched)
	_, err = s.EndCapture()
	require.ErrorIs(t, err, cuda.ErrorStreamCaptureUnjoined)
	for _, stream := range []*cuda.Stream{s, other} {
		capturing, err := stream.Capturing()
		require.NoError(t, err)
		assert.False(t, capturing)
		require.NoError(t, stream.Synchronize(patiently(t)))
	}
}

func TestSpoiledCapture(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	onThread(func() {
		if !assert.NoError(t, s.BeginCapture(cuda.CaptureThreadLocal)) {
			return
		}
		_, err := d.Alloc(4096)
		assert.ErrorIs(t, err, cuda.ErrorStreamCaptureUnsupported)
		capturing, err := s.Capturing()
		assert.True(t, capturing)
		assert.ErrorIs(t, err, cuda.ErrorStreamCaptureInvalidated)
		_, err = s.EndCapture()
		assert.ErrorIs(t, err, cuda.ErrorStreamCaptureInvalidated)
		capturing, err = s.Capturing()
		assert.NoError(t, err)
		assert.False(t, capturing)
	})
}

func TestCaptureOfAnotherThread(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	begun, resume, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go onThread(func() {
		defer close(done)
		assert.NoError(t, s.BeginCapture(cuda.CaptureThreadLocal))
		close(begun)
		<-resume
		// Whether the attempt has ended the capture is the driver's choice.
		capturing, err := s.Capturing()
		assert.NoError(t, err)
		t.Log("the capture lives on:", capturing)
		g, err := s.EndCapture()
		if !capturing {
			assert.ErrorIs(t, err, cuda.ErrorIllegalState)
		} else if assert.NoError(t, err) {
			assert.NoError(t, g.Close())
		}
	})
	<-begun
	onThread(func() {
		_, err := s.EndCapture()
		assert.ErrorIs(t, err, cuda.ErrorStreamCaptureWrongThread)
		var op *cuda.OpError
		if assert.ErrorAs(t, err, &op) {
			assert.Contains(t, op.Hint, "CaptureRelaxed")
		}
	})
	close(resume)
	<-done
}

func TestStreamGivesUpItsCapture(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	b := alloc(t, d, 64)
	require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed))
	require.NoError(t, s.Fill8(b.Span(), 1))
	require.ErrorIs(t, s.Close(), cuda.ErrBusy)
	require.NoError(t, s.CloseAll())
}

// owner stands for a communicator.
type owner struct {
	obj life.Object
}

func newOwner(t *testing.T, d *cuda.Device) *owner {
	o := &owner{}
	dev := cudahook.Device(d)
	require.NoError(t, dev.Use())
	defer dev.Done()
	life.Enter(&o.obj, o, "communicator", dev)
	return o
}

func (o *owner) Close() error { return o.obj.Close(func() error { return nil }) }

func (o *owner) CloseAll() error { return errors.Join(o.obj.CloseChildren(), o.Close()) }

// issue does what a collective does before it goes to NCCL.
func (o *owner) issue(t *testing.T, s *cuda.Stream) {
	require.NoError(t, o.obj.Use())
	defer o.obj.Done()
	require.NoError(t, cudahook.HoldCapture(s, &o.obj))
}

func TestGraphKeepsItsCommunicatorsOpen(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	o, idle := newOwner(t, d), newOwner(t, d)
	o.issue(t, s)
	require.NoError(t, idle.Close())
	b := alloc(t, d, 64)
	require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed))
	require.NoError(t, s.Fill8(b.Span(), 8))
	o.issue(t, s)
	o.issue(t, s)
	err := o.Close()
	require.ErrorIs(t, err, cuda.ErrBusy)
	assert.Contains(t, err.Error(), "capture on stream")

	g, err := s.EndCapture()
	require.NoError(t, err)
	err = o.Close()
	require.ErrorIs(t, err, cuda.ErrBusy)
	assert.Contains(t, err.Error(), "graph")
	assert.NotContains(t, err.Error(), "capture")

	x, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, g.Close())
	err = o.Close()
	require.ErrorIs(t, err, cuda.ErrBusy)
	assert.Contains(t, err.Error(), "instantiated graph")
	require.NoError(t, x.Launch(s))
	require.NoError(t, s.Synchronize(patiently(t)))

	require.NoError(t, o.CloseAll(), "as an abort does")
	require.ErrorIs(t, x.Launch(s), cuda.ErrClosed)
}

func TestLaunchInACaptureIsRefusedAndSpoilsNothing(t *testing.T) {
	d := openGPU(t, 0)
	s, outer := newStream(t, d), newStream(t, d)
	b := alloc(t, d, 64)
	require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed))
	require.NoError(t, s.Fill8(b.Span(), 1))
	g, err := s.EndCapture()
	require.NoError(t, err)
	x, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, outer.BeginCapture(cuda.CaptureRelaxed))
	require.ErrorIs(t, x.Launch(outer), cuda.ErrorStreamCaptureUnsupported)
	require.NoError(t, outer.Fill8(b.Span(), 2))
	spared, err := outer.EndCapture()
	require.NoError(t, err)
	require.NoError(t, spared.Close())
	require.NoError(t, x.Close())
	require.NoError(t, g.Close())
}

func TestCommunicatorGivesUpTheCapture(t *testing.T) {
	d := openGPU(t, 0)
	s, joined := newStream(t, d), newStream(t, d)
	a, b := newOwner(t, d), newOwner(t, d)
	e := newEvent(t, d)
	require.NoError(t, s.BeginCapture(cuda.CaptureRelaxed))
	require.NoError(t, e.Record(s))
	require.NoError(t, joined.WaitEvent(e))
	a.issue(t, s)
	b.issue(t, joined)
	require.ErrorIs(t, b.Close(), cuda.ErrBusy, "through a stream that joined")
	require.NoError(t, b.CloseAll())
	_, err := s.EndCapture()
	require.ErrorIs(t, err, cuda.ErrorIllegalState)
	require.NoError(t, a.Close(), "the capture is over for all")
	require.NoError(t, s.Synchronize(patiently(t)))
}
