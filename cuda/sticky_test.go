//go:build linux && cgo

package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/stretchr/testify/assert"
)

func init() { children["sticky"] = stickyChild }

// TestIllegalAddressIsTyped runs in a child, which loses its context.
func TestIllegalAddressIsTyped(t *testing.T) {
	fake(t)
	assert.Contains(t, runChild(t, "sticky", nil), "start a new process")
}

// stickyChild has a kernel write where nothing is.
func stickyChild(ctx context.Context) error {
	d, err := cuda.Open(0)
	if err != nil {
		return err
	}
	s, err := d.CreateStream(cuda.StreamOptions{})
	if err != nil {
		return err
	}
	b, err := d.Alloc(4096)
	if err != nil {
		return err
	}
	m, err := d.LoadModule([]byte(kernels))
	if err != nil {
		return err
	}
	f, err := m.Function("gf1_fill_u32")
	if err != nil {
		return err
	}
	var args cuda.Args
	args.Uint64(0x10).Uint64(1).Uint32(1)
	if err := f.Launch(s, cuda.Grid{}, &args); err != nil {
		return fmt.Errorf("the launch itself succeeds, but: %w", err)
	}
	waited := s.Synchronize(ctx)
	_, alloc := d.Alloc(64)
	for what, err := range map[string]error{
		"Synchronize": waited, "AsyncError": d.AsyncError(), "Alloc": alloc, "Fill8": s.Fill8(b.Span(), 1),
		"CopyToHost": d.CopyToHost(ctx, make([]byte, 4096), b.Span()), "Device.Synchronize": d.Synchronize(ctx),
	} {
		var e *cuda.Error
		if !errors.Is(err, cuda.ErrorIllegalAddress) || !errors.As(err, &e) || !e.Code.Sticky() {
			return fmt.Errorf("%s does not answer ErrorIllegalAddress: %w", what, err)
		}
	}
	fmt.Println(waited)
	// All of it is gone: it closes, and closing says once why.
	if err := d.CloseAll(); err != nil && !errors.Is(err, cuda.ErrorIllegalAddress) {
		return err
	}
	if _, err := s.Query(); !errors.Is(err, cuda.ErrClosed) {
		return fmt.Errorf("the stream is not closed: %w", err)
	}
	return d.Close()
}
