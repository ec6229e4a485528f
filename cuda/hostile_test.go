//go:build linux && cgo

package cuda_test

import (
	"context"
	"math"
	"reflect"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noContext is what a program passes that forgot its context.
var noContext context.Context

// Every method of everything that was never made answers, and nothing panics.
func TestZeroValuesAnswer(t *testing.T) {
	fake(t)
	zeroes := []any{
		&cuda.Device{}, &cuda.Stream{}, &cuda.Event{}, &cuda.Buffer{}, &cuda.HostBuffer{},
		&cuda.Module{}, &cuda.Function{}, &cuda.Graph{}, &cuda.GraphExec{},
	}
	for _, zero := range zeroes {
		v := reflect.ValueOf(zero)
		for i := range v.NumMethod() {
			name := v.Type().Elem().Name() + "." + v.Type().Method(i).Name
			for _, ctx := range []context.Context{context.Background(), noContext} {
				args := make([]reflect.Value, v.Method(i).Type().NumIn())
				for k := range args {
					in := v.Method(i).Type().In(k)
					args[k] = reflect.Zero(in)
					if in == reflect.TypeFor[context.Context]() && ctx != nil {
						args[k] = reflect.ValueOf(ctx)
					}
				}
				assert.NotPanics(t, func() { v.Method(i).Call(args) }, name)
			}
		}
	}
}

func TestWaitsWithoutAContextAreRefused(t *testing.T) {
	d := openGPU(t, 0)
	s, e := newStream(t, d), newEvent(t, d)
	release := keepBusy(t, s)
	defer release()
	require.NoError(t, e.Record(s))
	b := alloc(t, d, 16)
	for name, wait := range map[string]func() error{
		"Device.Synchronize":  func() error { return d.Synchronize(noContext) },
		"Stream.Synchronize":  func() error { return s.Synchronize(noContext) },
		"Event.Synchronize":   func() error { return e.Synchronize(noContext) },
		"Stream.CopyToDevice": func() error { return s.CopyToDevice(noContext, b.Span(), make([]byte, 16)) },
		"Stream.CopyToHost":   func() error { return s.CopyToHost(noContext, make([]byte, 16), b.Span()) },
		"Device.CopyToDevice": func() error { return d.CopyToDevice(noContext, b.Span(), make([]byte, 16)) },
		"Device.CopyToHost":   func() error { return d.CopyToHost(noContext, make([]byte, 16), b.Span()) },
		"Device.Copy":         func() error { return d.Copy(noContext, b.Span(), b.Span()) },
	} {
		assert.NotPanics(t, func() { assert.ErrorIs(t, wait(), cuda.ErrorInvalidValue, name) }, name)
	}
}

// The driver's numbers have 32 bits.
func TestNumbersBeyondTheDriversAreRefused(t *testing.T) {
	d := openGPU(t, 0)
	const big = 1 << 32
	_, err := cuda.Open(big)
	require.ErrorIs(t, err, cuda.ErrorInvalidDevice)
	_, err = cuda.Info(big)
	require.ErrorIs(t, err, cuda.ErrorInvalidDevice)
	_, err = cuda.Info(-1)
	require.ErrorIs(t, err, cuda.ErrorInvalidDevice)
	_, err = d.Attribute(big + cuda.AttributeWarpSize)
	require.ErrorIs(t, err, cuda.ErrorInvalidValue)
	m, err := d.LoadModule([]byte(kernels))
	require.NoError(t, err)
	f, err := m.Function("gf1_fill_u32")
	require.NoError(t, err)
	require.ErrorIs(t, f.AllowSharedMemory(big+1024), cuda.ErrorInvalidValue)
	require.ErrorIs(t, f.AllowSharedMemory(math.MinInt), cuda.ErrorInvalidValue)
}

func TestKernelNameIsTakenWhole(t *testing.T) {
	d := openGPU(t, 0)
	m, err := d.LoadModule([]byte(kernels))
	require.NoError(t, err)
	_, err = m.Function("gf1_fill_u32\x00and more")
	require.ErrorIs(t, err, cuda.ErrorNotFound)
}

// A device that was closed, or never opened, is no peer.
func TestPeersThatAreNotOpen(t *testing.T) {
	d := openGPU(t, 0)
	closed, err := cuda.Open(0)
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for _, peer := range []*cuda.Device{{}, closed} {
		_, err := d.CanAccessPeer(peer)
		assert.ErrorIs(t, err, cuda.ErrClosed)
		assert.ErrorIs(t, d.EnablePeerAccess(peer), cuda.ErrClosed)
		_, err = d.AllocVMM(1<<21, cuda.VMMOptions{Peers: []*cuda.Device{peer}})
		assert.ErrorIs(t, err, cuda.ErrClosed)
	}
}
