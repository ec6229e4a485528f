package cuda

import (
	"context"
	"unsafe"

	"github.com/gofabric/gofabric/internal/ccuda"
)

// stage is a piece of pinned memory that blocking copies go through. The GPU
// never touches memory of the Go heap, so a copy that its caller gives up cannot
// hurt it: the stage is kept until the GPU is done with it.
type stage struct {
	memory unsafe.Pointer
	event  uintptr
}

const stageBytes = 4 << 20

func (s stage) bytes(n int) []byte { return unsafe.Slice((*byte)(s.memory), n) }

func (s stage) span(n int) Span { return Span{Addr: uint64(uintptr(s.memory)), Len: uint64(n)} }

// takeStage returns a stage and holds the context for it.
func (d *Device) takeStage() (stage, ccuda.Result) {
	d.shared.Lock()
	defer d.shared.Unlock()
	d.reclaim()
	if n := len(d.shared.stages); n > 0 {
		s := d.shared.stages[n-1]
		d.shared.stages = d.shared.stages[:n-1]
		d.shared.references++
		return s, 0
	}
	e, r := d.ctx.CreateEvent(ccuda.CU_EVENT_DISABLE_TIMING)
	if r != 0 {
		return stage{}, r
	}
	p, r := d.ctx.AllocHost(stageBytes, ccuda.CU_MEMHOSTALLOC_PORTABLE)
	if r != 0 {
		d.ctx.DestroyEvent(e)
		return stage{}, r
	}
	d.shared.references++
	return stage{memory: p, event: e}, 0
}

// putStage takes a stage back, which the GPU may still use.
func (d *Device) putStage(s stage) error {
	d.shared.Lock()
	d.shared.given = append(d.shared.given, s)
	d.shared.Unlock()
	return d.drop()
}

// CopyToDevice copies memory of the Go heap to a GPU, behind the work that is on
// the stream, and waits for it. The bytes go through pinned memory: a copy from a
// HostBuffer (Copy) is faster. When ctx ends, CopyToDevice returns, and none, some
// or all of dst may be written later; src is not used any more.
//
// Implements: cuMemcpyAsync, cuEventRecord, cuEventQuery.
func (s *Stream) CopyToDevice(ctx context.Context, dst Span, src []byte) error {
	return s.staged(ctx, "copy to GPU", dst, len(src), func(st stage, off, n int) (to, from Span) {
		copy(st.bytes(n), src[off:off+n])
		return Span{Addr: dst.Addr + uint64(off), Len: uint64(n)}, st.span(n)
	}, nil)
}

// CopyToHost copies from a GPU to memory of the Go heap, behind the work that is
// on the stream, and waits for it. The bytes go through pinned memory: a copy to a
// HostBuffer (Copy) is faster. When ctx ends, CopyToHost returns, and dst is not
// written any more; the beginning of it may have been.
//
// Implements: cuMemcpyAsync, cuEventRecord, cuEventQuery.
func (s *Stream) CopyToHost(ctx context.Context, dst []byte, src Span) error {
	return s.staged(ctx, "copy from GPU", src, len(dst), func(st stage, off, n int) (to, from Span) {
		return st.span(n), Span{Addr: src.Addr + uint64(off), Len: uint64(n)}
	}, func(st stage, off, n int) { copy(dst[off:off+n], st.bytes(n)) })
}

// staged moves size bytes, a stage at a time. begin says what to copy, and after
// runs when that is done.
func (s *Stream) staged(ctx context.Context, op string, device Span, size int, begin func(st stage, off, n int) (to, from Span), after func(st stage, off, n int)) error {
	if err := s.use(); err != nil {
		return s.device().err(op, err)
	}
	if ctx == nil {
		s.life.Done()
		return s.dev.err(op, errNoContext)
	}
	st, err := s.takeStage(op, device, size)
	s.life.Done()
	if err != nil || size == 0 {
		return err
	}
	d := s.dev
	for off := 0; off < size && err == nil; off += stageBytes {
		n := min(stageBytes, size-off)
		to, from := begin(st, off, n)
		if err = s.enqueueStage(op, st, to, from); err != nil {
			break
		}
		err = d.waitPoll(ctx, op, s.String(), func() (bool, error) {
			if err := s.use(); err != nil {
				return false, d.err(op, err)
			}
			defer s.life.Done()
			return d.happened(op, d.ctx.QueryEvent(st.event))
		})
		if err == nil && after != nil {
			after(st, off, n)
		}
	}
	if dropped := d.putStage(st); err == nil {
		err = d.err(op, dropped)
	}
	return err
}

// takeStage checks the copy and takes a stage for it. The stream is in use.
func (s *Stream) takeStage(op string, device Span, size int) (stage, error) {
	d := s.dev
	if device.Len != uint64(size) {
		return stage{}, d.outOfRange(op, "%d bytes of a GPU and %d of Go", device.Len, size)
	}
	if !device.valid() {
		return stage{}, d.outOfRange(op, "%d bytes at %#x", device.Len, device.Addr)
	}
	if err := s.notCapturing(op); err != nil || size == 0 {
		return stage{}, err
	}
	st, r := d.takeStage()
	return st, d.check(op, r)
}

// enqueueStage puts a copy and the stage's event on the stream.
func (s *Stream) enqueueStage(op string, st stage, to, from Span) error {
	if err := s.use(); err != nil {
		return s.dev.err(op, err)
	}
	defer s.life.Done()
	if err := s.notCapturing(op); err != nil {
		return err
	}
	r := s.dev.ctx.Copy(to.Addr, from.Addr, to.Len, s.h)
	if r == 0 {
		r = s.dev.ctx.RecordEvent(st.event, s.h)
	}
	return s.dev.check(op, r)
}

// CopyToDevice is Stream.CopyToDevice on a stream of the device's own: it waits
// for no other work.
//
// Implements: cuMemcpyAsync, cuEventRecord, cuEventQuery.
func (d *Device) CopyToDevice(ctx context.Context, dst Span, src []byte) error {
	s, err := d.sideStream("copy to GPU")
	if err != nil {
		return err
	}
	return s.CopyToDevice(ctx, dst, src)
}

// CopyToHost is Stream.CopyToHost on a stream of the device's own: it waits for
// no other work.
//
// Implements: cuMemcpyAsync, cuEventRecord, cuEventQuery.
func (d *Device) CopyToHost(ctx context.Context, dst []byte, src Span) error {
	s, err := d.sideStream("copy from GPU")
	if err != nil {
		return err
	}
	return s.CopyToHost(ctx, dst, src)
}

// Copy is Stream.Copy on a stream of the device's own, and waits for the copy but
// for no other work. When ctx ends, Copy returns, and the copy goes on: the memory
// must not be freed before the device is synchronized.
//
// Implements: cuMemcpyAsync, cuEventRecord, cuEventQuery.
func (d *Device) Copy(ctx context.Context, dst, src Span) error {
	s, err := d.sideStream("copy")
	if err != nil {
		return err
	}
	if ctx == nil {
		return d.err("copy", errNoContext)
	}
	if err := s.Copy(dst, src); err != nil {
		return err
	}
	return s.finish(ctx, "copy")
}

func (d *Device) sideStream(op string) (*Stream, error) {
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	return d.side(op)
}
