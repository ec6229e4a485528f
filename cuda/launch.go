package cuda

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/ccuda"
)

// Dim is a number of things in up to three directions; 0 counts as 1.
type Dim struct{ X, Y, Z uint32 }

func (d Dim) raw() [3]uint32 { return [3]uint32{max(d.X, 1), max(d.Y, 1), max(d.Z, 1)} }

// Grid is the shape of a launch.
type Grid struct {
	Blocks  Dim
	Threads Dim // in each block
	// SharedMemory is how many bytes each block has beyond what the kernel
	// declares.
	SharedMemory uint32
}

// Launch puts the kernel on the stream. args may be nil for a kernel without
// parameters, and may be changed as soon as Launch returns. With CUDA 12.4 and
// later, arguments whose number or sizes are not the kernel's are refused; before,
// the kernel gets what is there. It allocates nothing.
//
// Implements: cuLaunchKernel.
func (f *Function) Launch(s *Stream, grid Grid, args *Args) error {
	const op = "launch kernel"
	if f == nil {
		return failed(op, ErrClosed)
	}
	if err := f.mod.use(); err != nil {
		return f.mod.device().err(op, err)
	}
	defer f.mod.obj.Done()
	if err := s.use(); err != nil {
		return f.mod.dev.err(op, err)
	}
	defer s.life.Done()
	if s.dev.ctx != f.mod.dev.ctx {
		return s.dev.code(op, ErrorInvalidHandle, "the kernel was loaded on another GPU")
	}
	if err := f.accept(args); err != nil {
		return s.dev.err(op, err)
	}
	g := ccuda.Grid{Grid: grid.Blocks.raw(), Block: grid.Threads.raw(), Shared: grid.SharedMemory}
	return s.dev.check(op, s.dev.ctx.Launch(f.h, &g, s.h, args.bytes()))
}

// accept compares the arguments with what the kernel takes.
func (f *Function) accept(args *Args) error {
	if !f.known {
		return nil
	}
	places := args.list()
	if len(places) != len(f.params) {
		return fmt.Errorf("kernel %s takes %d arguments, not %d", f.name, len(f.params), len(places))
	}
	for i, p := range f.params {
		if places[i].Size != p.Size {
			return fmt.Errorf("argument %d of kernel %s has %d bytes, not %d", i, f.name, p.Size, places[i].Size)
		}
		if places[i].Offset != p.Offset {
			return fmt.Errorf("argument %d of kernel %s lies at byte %d, not %d: its alignment is another", i, f.name, p.Offset, places[i].Offset)
		}
	}
	return nil
}
