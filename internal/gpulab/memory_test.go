//go:build linux && cgo

package gpulab

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// ncclMemory is memory of NCCL's allocator for each rank, with the tables' guard.
func (r *rig) ncclMemory(size int) []cuda.Span {
	r.t.Helper()
	var spans []cuda.Span
	for _, dev := range r.devs {
		m, err := nccl.MemAlloc(dev, uint64(size))
		require.NoError(r.t, err)
		spans = append(spans, m.Span())
	}
	return spans
}

// everyCollective is tried at a few sizes, with the memory that the table has.
func (t *table) everyCollective(what string) {
	t.t.Helper()
	for _, dt := range []nccl.DataType{nccl.Float32, nccl.BFloat16} {
		require.NoError(t.t, t.load(dt, forSums))
		for i := range collectives {
			o := &collectives[i]
			for j, size := range []int{256, 64 << 10, t.most} {
				for _, inPlace := range []bool{false, true} {
					if inPlace && !o.inPlace {
						continue
					}
					s := setting{count: size / dt.Size() / o.blocks(len(t.devs)), op: nccl.Sum, inPlace: inPlace, grouped: j%2 == 0}
					require.NoError(t.t, t.try(o, s), "%s: %s of %d bytes of %v, in place %v", what, o.name, size, dt, inPlace)
				}
			}
		}
	}
}

// windowBytes is the size of what is registered.
func windowBytes() int { return min(8<<20, max(largest(), 64<<10)) }

// NCCL's own memory, unregistered, then registered.
func TestMemoryAndRegistration(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newRig(t, n, nccl.Config{})
	tab := newTable(r, windowBytes())
	tab.orig = r.ncclMemory(tab.most)
	tab.work = r.ncclMemory(tab.most + guard)
	tab.everyCollective("memory of NCCL")
	var registrations []*nccl.Registration
	for i, c := range r.comms {
		for _, span := range []cuda.Span{tab.orig[i], tab.work[i]} {
			reg, err := c.Register(r.ctx, span)
			require.NoError(t, err)
			registrations = append(registrations, reg)
		}
	}
	tab.everyCollective("registered memory")
	require.ErrorIs(t, r.comms[0].Close(r.ctx), nccl.ErrBusy)
	for _, reg := range registrations {
		require.NoError(t, reg.Close())
	}
	tab.everyCollective("memory that was registered")

	// Memory of the driver can be registered too.
	plain := newTable(r, windowBytes())
	for i, c := range r.comms {
		_, err := c.Register(r.ctx, plain.work[i])
		require.NoError(t, err)
	}
	plain.everyCollective("registered memory of the driver")
	figure("memory of ncclMemAlloc and registrations on %d GPUs: every collective right, to %d bytes", n, tab.most)
}

// Symmetric windows: every collective from window to window.
func TestSymmetricWindows(t *testing.T) {
	n := begin(t, 1, testLimit)
	kinds := 0
	for _, flags := range []nccl.WindowFlags{0, nccl.WindowSymmetric} {
		r := newRig(t, n, nccl.Config{})
		tab := newTable(r, windowBytes())
		tab.orig = r.ncclMemory(tab.most)
		tab.work = r.ncclMemory(tab.most + guard)
		windows := make([][2]*nccl.Window, n)
		err := each(r.comms, func(i int, c *nccl.Comm) (err error) {
			if windows[i][0], err = c.RegisterWindow(r.ctx, tab.orig[i], flags); err != nil {
				return err
			}
			windows[i][1], err = c.RegisterWindow(r.ctx, tab.work[i], flags)
			return err
		})
		if flags == 0 && errors.Is(err, nccl.ErrNotSupported) {
			// NCCL may give a window that is not symmetric to nobody.
			figure("windows that are not symmetric: %v", err)
			continue
		}
		require.NoError(t, err)
		kinds++
		tab.everyCollective("windows")
		require.NoError(t, each(windows, func(_ int, w [2]*nccl.Window) error {
			if err := w[0].Close(); err != nil {
				return err
			}
			return w[1].Close()
		}))
		tab.everyCollective("memory that was in windows")
	}
	figure("windows on %d GPUs, %d kinds, symmetric ones among them: every collective right, to %d bytes", n, kinds, windowBytes())
}

// What comes from later releases is refused, by name and release.
func TestLaterFunctionsAreRefused(t *testing.T) {
	n := begin(t, 1, testLimit)
	lib, err := nccl.Library()
	require.NoError(t, err)
	r := newRig(t, n, nccl.Config{})
	c := r.comms[0]
	for name, late := range map[string]struct {
		since nccl.Version
		call  func() error
	}{
		"Suspend":    {nccl.MakeVersion(2, 29, 7), func() error { return c.Suspend(r.ctx) }},
		"MemStats":   {nccl.MakeVersion(2, 29, 7), func() error { _, err := c.MemStats(r.ctx); return err }},
		"Properties": {nccl.MakeVersion(2, 29, 2), func() error { _, err := c.Properties(r.ctx); return err }},
		"Signal":     {nccl.MakeVersion(2, 29, 2), func() error { return c.Signal(r.ctx, 0, nccl.SignalOptions{}, r.streams[0]) }},
	} {
		if lib.Version >= late.since {
			continue
		}
		var unsupported *nccl.UnsupportedError
		require.ErrorAs(t, late.call(), &unsupported, name)
		require.Equal(t, late.since, unsupported.Since, name)
	}
	r.sumOnce()
}
