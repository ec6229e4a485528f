//go:build linux && cgo

package cuda_test

import (
	"bytes"
	"runtime"
	"sync"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/stretchr/testify/assert"
)

// onThread runs a test on a thread of its own, which ends with it.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

// TestThreadKeepsItsContext runs everything on a thread that has the context of
// another GPU, or none, and looks at it after each call.
func TestThreadKeepsItsContext(t *testing.T) {
	d, other := openGPU(t, 0), openGPU(t, 1)
	for name, ctx := range map[string]ccuda.Context{
		"none": 0, "another GPU's": ccuda.Context(other.Context()), "the same": ccuda.Context(d.Context()),
	} {
		t.Run(name, func(t *testing.T) {
			onThread(func() {
				same := func(what string) {
					now, r := ccuda.Current()
					assert.Zero(t, r)
					assert.Equal(t, ctx, now, "after %s", what)
				}
				if !assert.Zero(t, ccuda.SetCurrent(ctx)) {
					return
				}
				e := makeEverything(t, d)
				same("making everything")
				for range 2 {
					for name, err := range e.calls(patiently(t)) {
						assert.NoError(t, err, name)
					}
					same("using everything")
					for name, err := range e.deviceCalls(patiently(t)) {
						assert.NoError(t, err, name)
					}
					same("using the device")
				}
				_, err := d.LoadModule([]byte("not PTX"))
				assert.Error(t, err)
				same("a call that fails")
				for _, c := range e.children() {
					assert.NoError(t, c.Close())
					same("closing")
				}
			})
		})
	}
}

// TestGoroutinesMove has goroutines that change threads all the time work on two
// GPUs.
func TestGoroutinesMove(t *testing.T) {
	devices := []*cuda.Device{openGPU(t, 0), openGPU(t, 1)}
	const goroutines, rounds, size = 16, 40, 4096
	control := fake(t)
	var foreign int64
	if control != nil {
		foreign = control.Count(fakegpu.ForeignStreamUses)
	}
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Add(1)
		go func() {
			defer wg.Done()
			d := devices[i%len(devices)]
			for round := range rounds {
				if !work(t, d, byte(i*rounds+round), size) {
					return
				}
			}
		}()
	}
	wg.Wait()
	if control != nil {
		assert.Equal(t, foreign, control.Count(fakegpu.ForeignStreamUses))
	}
}

// work makes objects, uses and closes them, and gives up its thread in between.
func work(t *testing.T, d *cuda.Device, value byte, size int) bool {
	s, err := d.CreateStream(cuda.StreamOptions{})
	if !assert.NoError(t, err) {
		return false
	}
	runtime.Gosched()
	b, err := d.Alloc(uint64(size))
	if !assert.NoError(t, err) {
		return false
	}
	e, err := d.CreateEvent(cuda.EventOptions{})
	if !assert.NoError(t, err) {
		return false
	}
	runtime.Gosched()
	ok := assert.NoError(t, s.Fill8(b.Span(), value))
	runtime.Gosched()
	ok = ok && assert.NoError(t, e.Record(s)) && assert.NoError(t, e.Synchronize(patiently(t)))
	got := make([]byte, size)
	ok = ok && assert.NoError(t, s.CopyToHost(patiently(t), got, b.Span()))
	ok = ok && assert.True(t, bytes.Equal(bytes.Repeat([]byte{value}, size), got))
	for _, close := range []func() error{e.Close, b.Close, s.Close} {
		runtime.Gosched()
		ok = assert.NoError(t, close()) && ok
	}
	return ok
}
