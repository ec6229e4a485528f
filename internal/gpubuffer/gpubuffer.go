// Package gpubuffer makes registered buffers on a GPU for the tools, with their
// bytes put in and looked at from the host.
package gpubuffer

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/verbs"
)

// Options choose a GPU and how adapters are let at its memory.
type Options struct {
	// Ordinal is the GPU as CUDA numbers them, from 0.
	Ordinal int
	// BusID is the GPU's PCI address, such as "0000:1b:00.0", in place of its
	// number.
	BusID string
	// Method and AllowStaged are those of verbs.GPUOptions.
	Method      verbs.GPUMethod
	AllowStaged bool
}

// GPU is an opened GPU. It is safe for concurrent use.
type GPU struct {
	dev  *cuda.Device
	opts Options
}

// Open opens the GPU. It fails with cuda.ErrLibraryNotFound where there is no
// driver and with cuda.ErrorInvalidDevice where there is no such GPU.
func Open(opts Options) (*GPU, error) {
	ordinal := opts.Ordinal
	if opts.BusID != "" {
		var err error
		if ordinal, err = find(opts.BusID); err != nil {
			return nil, err
		}
	}
	dev, err := cuda.Open(ordinal)
	if err != nil {
		return nil, err
	}
	return &GPU{dev: dev, opts: opts}, nil
}

func find(busID string) (int, error) {
	n, err := cuda.DeviceCount()
	if err != nil {
		return 0, err
	}
	for ordinal := range n {
		info, err := cuda.Info(ordinal)
		if err != nil {
			return 0, err
		}
		if samePCI(info.PCIAddress, busID) {
			return ordinal, nil
		}
	}
	return 0, fmt.Errorf("%w: no GPU of this process is at %q (CUDA_VISIBLE_DEVICES may hide it)", cuda.ErrorInvalidDevice, busID)
}

// Device returns the GPU.
func (g *GPU) Device() *cuda.Device { return g.dev }

// Close closes the GPU and its buffers.
func (g *GPU) Close() error { return g.dev.CloseAll() }

// ownPages is what the driver gives out by itself, not packed with others.
const ownPages = 2 << 20

// Buffer is memory of the GPU and its region. What a tool does with the region is
// its own care.
type Buffer struct {
	MR  *verbs.MR
	mem *cuda.Buffer
}

// Alloc allocates and registers size bytes. MR.GPUMethod tells how.
func (g *GPU) Alloc(pd *verbs.PD, size int, access verbs.Access) (*Buffer, error) {
	if size < 1 {
		return nil, fmt.Errorf("%w: a buffer of %d bytes", verbs.ErrOutOfRange, size)
	}
	mem, err := g.dev.Alloc((uint64(size) + ownPages - 1) / ownPages * ownPages)
	if err != nil {
		return nil, err
	}
	mr, err := pd.RegisterGPU(mem, verbs.GPUOptions{
		Access: access, Length: uint64(size), Method: g.opts.Method, AllowStaged: g.opts.AllowStaged,
	})
	if err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	return &Buffer{MR: mr, mem: mem}, nil
}

// Store writes bytes to the GPU and makes them known to the adapter.
func (b *Buffer) Store(ctx context.Context, off int, data []byte) error {
	part, err := b.part(off, len(data))
	if err != nil {
		return err
	}
	if err := b.mem.Device().CopyToDevice(ctx, part, data); err != nil {
		return err
	}
	return b.MR.SyncForAdapter(ctx, off, len(data))
}

// Load reads bytes back from the GPU, with what an adapter has written.
func (b *Buffer) Load(ctx context.Context, dst []byte, off int) error {
	part, err := b.part(off, len(dst))
	if err != nil {
		return err
	}
	if err := b.MR.SyncForGPU(ctx, off, len(dst)); err != nil {
		return err
	}
	return b.mem.Device().CopyToHost(ctx, dst, part)
}

func (b *Buffer) part(off, n int) (cuda.Span, error) {
	if off < 0 || n > b.MR.Len() || off > b.MR.Len()-n {
		return cuda.Span{}, fmt.Errorf("%w: %d bytes from %d of %d", verbs.ErrOutOfRange, n, off, b.MR.Len())
	}
	return b.mem.Span().At(uint64(off), uint64(n))
}

// Verify reads bytes back and compares them. It says which byte is the first that
// differs.
func (b *Buffer) Verify(ctx context.Context, off int, want []byte) error {
	got := make([]byte, len(want))
	if err := b.Load(ctx, got, off); err != nil {
		return err
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("byte %d of the GPU's memory is 0x%02x, and 0x%02x was sent", off+i, got[i], want[i])
		}
	}
	return nil
}

// Close ends the registration and frees the memory.
func (b *Buffer) Close() error {
	if err := b.MR.Close(); err != nil {
		return err
	}
	return b.mem.Close()
}
