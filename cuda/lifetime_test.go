//go:build linux && cgo

package cuda_test

import (
	"context"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everything is one of each object.
type everything struct {
	dev    *cuda.Device
	stream *cuda.Stream
	event  *cuda.Event
	buffer *cuda.Buffer
	host   *cuda.HostBuffer
	module *cuda.Module
	kernel *cuda.Function
	graph  *cuda.Graph
	exec   *cuda.GraphExec
}

func makeEverything(t testing.TB, d *cuda.Device) everything {
	t.Helper()
	e := everything{dev: d, stream: newStream(t, d), event: newEvent(t, d), buffer: alloc(t, d, 4096)}
	var err error
	e.host, err = d.AllocHost(4096)
	require.NoError(t, err)
	e.module, err = d.LoadModule([]byte(kernels))
	require.NoError(t, err)
	e.kernel, err = e.module.Function("gf1_fill_u32")
	require.NoError(t, err)
	require.NoError(t, e.stream.BeginCapture(cuda.CaptureRelaxed))
	require.NoError(t, e.stream.Fill8(e.buffer.Span(), 1))
	e.graph, err = e.stream.EndCapture()
	require.NoError(t, err)
	e.exec, err = e.graph.Instantiate()
	require.NoError(t, err)
	return e
}

// calls runs every method that needs its object open, and returns the errors.
func (e everything) calls(ctx context.Context) map[string]error {
	errs := map[string]error{}
	call := func(name string, err error) { errs[name] = err }
	one := make([]byte, 1)
	first := cuda.Span{Addr: e.buffer.DevicePointer(), Len: 1}
	var args cuda.Args
	args.Pointer(e.buffer.Span()).Uint64(1).Uint32(1)

	_, err := e.stream.Query()
	call("Stream.Query", err)
	call("Stream.Synchronize", e.stream.Synchronize(ctx))
	call("Stream.WaitEvent", e.stream.WaitEvent(e.event))
	call("Stream.Copy", e.stream.Copy(e.host.Span(), e.buffer.Span()))
	call("Stream.Fill8", e.stream.Fill8(first, 1))
	call("Stream.CopyToDevice", e.stream.CopyToDevice(ctx, first, one))
	call("Stream.CopyToHost", e.stream.CopyToHost(ctx, one, first))
	_, err = e.stream.Capturing()
	call("Stream.Capturing", err)
	err = e.stream.BeginCapture(cuda.CaptureRelaxed)
	call("Stream.BeginCapture", err)
	var g *cuda.Graph
	g, err = e.stream.EndCapture()
	call("Stream.EndCapture", err)
	if err == nil {
		call("Graph.Close", g.Close())
	}
	call("Event.Record", e.event.Record(e.stream))
	_, err = e.event.Query()
	call("Event.Query", err)
	call("Event.Synchronize", e.event.Synchronize(ctx))
	_, err = e.event.Elapsed(e.event)
	call("Event.Elapsed", err)
	call("Function.Launch", e.kernel.Launch(e.stream, cuda.Grid{}, &args))
	_, err = e.module.Function("gf1_fill_u32")
	call("Module.Function", err)
	_, err = e.graph.Nodes()
	call("Graph.Nodes", err)
	x, err := e.graph.Instantiate()
	call("Graph.Instantiate", err)
	if err == nil {
		call("GraphExec.Close", x.Close())
	}
	call("GraphExec.Launch", e.exec.Launch(e.stream))
	// What was launched must be done before another call frees what it uses.
	call("Stream.Synchronize again", e.stream.Synchronize(ctx))
	return errs
}

// deviceCalls are those of the device.
func (e everything) deviceCalls(ctx context.Context) map[string]error {
	errs := map[string]error{}
	call := func(name string, err error) { errs[name] = err }
	one := make([]byte, 1)
	first := cuda.Span{Addr: e.buffer.DevicePointer(), Len: 1}
	d := e.dev
	_, _, err := d.MemInfo()
	call("MemInfo", err)
	_, err = d.Attribute(cuda.AttributeECC)
	call("Attribute", err)
	call("Synchronize", d.Synchronize(ctx))
	call("AsyncError", d.AsyncError())
	_, _, err = d.StreamPriorities()
	call("StreamPriorities", err)
	_, _, err = d.PointerAttributes(e.buffer.DevicePointer())
	call("PointerAttributes", err)
	_, err = d.CanAccessPeer(d)
	call("CanAccessPeer", err)
	call("EnablePeerAccess", d.EnablePeerAccess(d))
	call("CopyToDevice", d.CopyToDevice(ctx, first, one))
	call("CopyToHost", d.CopyToHost(ctx, one, first))
	call("Copy", d.Copy(ctx, first, first))
	_, err = d.NullStream().Query()
	call("NullStream", err)
	s, err := d.CreateStream(cuda.StreamOptions{Priority: 0})
	call("CreateStream", err)
	ev, err := d.CreateEvent(cuda.EventOptions{})
	call("CreateEvent", err)
	b, err := d.Alloc(1)
	call("Alloc", err)
	h, err := d.AllocHost(1)
	call("AllocHost", err)
	v, err := d.AllocVMM(1, cuda.VMMOptions{})
	call("AllocVMM", err)
	w, err := d.WrapStream(0)
	call("WrapStream", err)
	m, err := d.LoadModule([]byte(kernels))
	call("LoadModule", err)
	for name, close := range map[string]func() error{
		"Stream": s.Close, "Event": ev.Close, "Buffer": b.Close, "Host": h.Close, "VMM": v.Close, "Wrapped": w.Close, "Module": m.Close,
	} {
		if err := close(); err != nil {
			call(name+".Close", err)
		}
	}
	return errs
}

func (e everything) children() []interface {
	Close() error
	CloseAll() error
} {
	return []interface {
		Close() error
		CloseAll() error
	}{e.exec, e.graph, e.module, e.host, e.buffer, e.event, e.stream}
}

func TestEverythingWorksAndThenIsClosed(t *testing.T) {
	d := openGPU(t, 0)
	e := makeEverything(t, d)
	for name, err := range e.calls(patiently(t)) {
		assert.NoError(t, err, name)
	}
	for name, err := range e.deviceCalls(patiently(t)) {
		assert.NoError(t, err, name)
	}
	for _, c := range e.children() {
		require.ErrorIs(t, d.Close(), cuda.ErrBusy)
		require.NoError(t, c.Close())
		require.NoError(t, c.Close(), "closing twice is harmless")
		require.NoError(t, c.CloseAll())
	}
	for name, err := range e.calls(patiently(t)) {
		assert.ErrorIs(t, err, cuda.ErrClosed, name)
	}
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	require.NoError(t, d.CloseAll())
	for name, err := range e.deviceCalls(patiently(t)) {
		assert.ErrorIs(t, err, cuda.ErrClosed, name)
	}
}

func TestBusyNamesTheChildren(t *testing.T) {
	d := openGPU(t, 0)
	e := makeEverything(t, d)
	err := d.Close()
	require.ErrorIs(t, err, cuda.ErrBusy)
	var busy *life.BusyError
	require.ErrorAs(t, err, &busy)
	assert.Len(t, busy.Children, len(e.children()))
	assert.Contains(t, err.Error(), "graph")
	require.NoError(t, d.CloseAll())
	assert.ErrorIs(t, e.buffer.Close(), nil)
	_, err = e.stream.Query()
	assert.ErrorIs(t, err, cuda.ErrClosed)
}

func TestNothingOfTheDriverIsLeft(t *testing.T) {
	c := needFake(t)
	alive := []fakegpu.Counter{
		fakegpu.LiveStreams, fakegpu.LiveEvents, fakegpu.LiveDeviceMemory, fakegpu.LiveHostMemory, fakegpu.LiveModules,
		fakegpu.LiveGraphs, fakegpu.LiveExecs, fakegpu.LiveReservations, fakegpu.ContextsLive(0),
	}
	var before []int64
	for _, n := range alive {
		before = append(before, c.Count(n))
	}
	// Another reference keeps the context, or its end would clean up for us.
	keeper := openGPU(t, 0)
	d, err := cuda.Open(0)
	require.NoError(t, err)
	e := makeEverything(t, d)
	for name, err := range e.calls(patiently(t)) {
		assert.NoError(t, err, name)
	}
	for name, err := range e.deviceCalls(patiently(t)) {
		assert.NoError(t, err, name)
	}
	require.NoError(t, d.CloseAll())
	for i, n := range alive[:len(alive)-1] {
		assert.Equal(t, before[i], c.Count(n), "counter %d", n)
	}
	require.NoError(t, keeper.Close())
	assert.Equal(t, before[len(alive)-1], c.Count(fakegpu.ContextsLive(0)))
}

func TestFailedCloseStaysOpen(t *testing.T) {
	c := needFake(t)
	d := openGPU(t, 0)
	b := alloc(t, d, 64)
	require.NoError(t, c.Fail("cuMemFree_v2", int(cuda.ErrorStreamCaptureUnsupported), 0, 1))
	require.ErrorIs(t, b.Close(), cuda.ErrorStreamCaptureUnsupported)
	require.ErrorIs(t, d.Close(), cuda.ErrBusy)
	require.NoError(t, b.Close())
}

func TestWhatWasNeverMade(t *testing.T) {
	fake(t)
	var (
		d *cuda.Device
		s *cuda.Stream
		e *cuda.Event
		b *cuda.Buffer
		h *cuda.HostBuffer
		m *cuda.Module
		f *cuda.Function
		g *cuda.Graph
		x *cuda.GraphExec
	)
	for _, c := range []interface{ CloseAll() error }{d, s, e, b, h, m, g, x, &cuda.Stream{}, &cuda.Buffer{}} {
		assert.NoError(t, c.CloseAll())
	}
	_, err := d.Alloc(1)
	require.ErrorIs(t, err, cuda.ErrClosed)
	require.ErrorIs(t, d.Synchronize(patiently(t)), cuda.ErrClosed)
	require.ErrorIs(t, s.Fill8(cuda.Span{}, 0), cuda.ErrClosed)
	require.ErrorIs(t, (&cuda.Stream{}).Fill8(cuda.Span{}, 0), cuda.ErrClosed)
	require.ErrorIs(t, s.Synchronize(patiently(t)), cuda.ErrClosed)
	require.ErrorIs(t, e.Record(s), cuda.ErrClosed)
	require.ErrorIs(t, e.Synchronize(patiently(t)), cuda.ErrClosed)
	require.ErrorIs(t, f.Launch(s, cuda.Grid{}, nil), cuda.ErrClosed)
	require.ErrorIs(t, x.Launch(s), cuda.ErrClosed)
	_, err = g.Instantiate()
	require.ErrorIs(t, err, cuda.ErrClosed)
	_, _, err = b.DMABuf(0, 1)
	require.ErrorIs(t, err, cuda.ErrClosed)
	_, err = e.Elapsed(nil)
	require.ErrorIs(t, err, cuda.ErrClosed)
	require.ErrorIs(t, d.EnablePeerAccess(nil), cuda.ErrClosed)
	_, err = d.AllocVMM(1, cuda.VMMOptions{})
	require.ErrorIs(t, err, cuda.ErrClosed)
}
