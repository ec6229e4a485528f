//go:build linux && cgo

package cuda_test

import (
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cudahook"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEnqueueAllocatesNothing(t *testing.T) {
	d := openGPU(t, 0)
	e := makeEverything(t, d)
	o := newOwner(t, d)
	require.NoError(t, o.obj.Use())
	defer o.obj.Done()
	half := at(t, e.buffer.Span(), 0, 2048)
	rest := at(t, e.buffer.Span(), 2048, 2048)
	var args cuda.Args
	args.Pointer(half).Uint64(1).Uint32(1)
	for name, call := range map[string]func() error{
		"Copy":        func() error { return e.stream.Copy(rest, half) },
		"Fill8":       func() error { return e.stream.Fill8(half, 1) },
		"Fill16":      func() error { return e.stream.Fill16(half, 1) },
		"Fill32":      func() error { return e.stream.Fill32(half, 1) },
		"Record":      func() error { return e.event.Record(e.stream) },
		"WaitEvent":   func() error { return e.stream.WaitEvent(e.event) },
		"Query":       func() error { _, err := e.stream.Query(); return err },
		"Event.Query": func() error { _, err := e.event.Query(); return err },
		"Graph":       func() error { return e.exec.Launch(e.stream) },
		"HoldCapture": func() error { return cudahook.HoldCapture(e.stream, &o.obj) },
		"Launch": func() error {
			args.Reset().Pointer(half).Uint64(1).Uint32(1)
			return e.kernel.Launch(e.stream, cuda.Grid{}, &args)
		},
		"At": func() error { _, err := e.buffer.Span().At(1, 2); return err },
	} {
		var failed error
		allocs := testing.AllocsPerRun(100, func() {
			if err := call(); err != nil {
				failed = err
			}
		})
		require.NoError(t, failed, name)
		assert.Zero(t, allocs, name)
	}
	require.NoError(t, e.stream.Synchronize(patiently(t)))
}
