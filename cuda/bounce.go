package cuda

import (
	"context"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/gpumem"
)

// bounceDepth is how many pieces are on their way at once.
const bounceDepth = 4

// bounce is pinned memory of the host that stands in for a piece of a buffer. It
// holds nothing open: its owner keeps the buffer.
type bounce struct {
	dev    *Device
	gpu    Span
	memory unsafe.Pointer
	stream uintptr
	events [bounceDepth]uintptr
	turn   chan struct{} // one copy at a time
}

// Stage makes memory of the host for n bytes of the buffer from off.
func (m adapterMemory) Stage(off, n uint64) (gpumem.Stage, error) {
	const op = "make memory to stage in"
	if err := m.use(); err != nil {
		return nil, m.dev.err(op, err)
	}
	defer m.obj.Done()
	d := m.dev
	gpu, err := m.Span().At(off, n)
	switch {
	case err != nil:
		return nil, d.err(op, err)
	case n == 0:
		return nil, d.err(op, errNoBytes)
	case n > math.MaxInt:
		return nil, d.outOfRange(op, "%d bytes are more than a slice can have", n)
	}
	s := &bounce{dev: d, gpu: gpu, turn: make(chan struct{}, 1)}
	if r := s.open(); r != 0 {
		s.release()
		return nil, d.check(op, r)
	}
	clear(s.Bytes())
	return s, nil
}

func (s *bounce) open() (r ccuda.Result) {
	if s.memory, r = s.dev.ctx.AllocHost(s.gpu.Len, ccuda.CU_MEMHOSTALLOC_PORTABLE); r != 0 {
		s.memory = nil
		return r
	}
	if s.stream, r = s.dev.ctx.CreateStream(ccuda.CU_STREAM_NON_BLOCKING, 0); r != 0 {
		s.stream = 0
		return r
	}
	for i := range s.events {
		if s.events[i], r = s.dev.ctx.CreateEvent(ccuda.CU_EVENT_DISABLE_TIMING); r != 0 {
			s.events[i] = 0
			return r
		}
	}
	return 0
}

// release destroys what was made, and returns the first failure.
func (s *bounce) release() (first ccuda.Result) {
	note := func(r ccuda.Result) {
		// What a lost context held is gone with it.
		if first == 0 && r != 0 && !Code(r).gone() {
			first = r
		}
	}
	for _, e := range s.events {
		if e != 0 {
			note(s.dev.ctx.DestroyEvent(e))
		}
	}
	if s.stream != 0 {
		note(s.dev.ctx.DestroyStream(s.stream))
	}
	if s.memory != nil {
		note(s.dev.ctx.FreeHost(s.memory))
	}
	return first
}

func (s *bounce) Bytes() []byte { return unsafe.Slice((*byte)(s.memory), int(s.gpu.Len)) }

func (s *bounce) host() Span { return Span{Addr: uint64(uintptr(s.memory)), Len: s.gpu.Len} }

func (s *bounce) ToHost(ctx context.Context, off, n, piece uint64, done func(off, n uint64) error) error {
	return s.copy(ctx, "copy to the staging memory", s.host(), s.gpu, off, n, piece, done)
}

func (s *bounce) ToGPU(ctx context.Context, off, n, piece uint64, done func(off, n uint64) error) error {
	return s.copy(ctx, "copy from the staging memory", s.gpu, s.host(), off, n, piece, done)
}

// copy keeps the stream supplied with pieces and reports each as it is done.
func (s *bounce) copy(ctx context.Context, op string, to, from Span, off, n, piece uint64, done func(off, n uint64) error) error {
	if ctx == nil {
		return s.dev.err(op, errNoContext)
	}
	if off > s.gpu.Len || n > s.gpu.Len-off {
		return s.dev.outOfRange(op, "%d bytes from %d of %d", n, off, s.gpu.Len)
	}
	if piece == 0 {
		piece = n
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return s.dev.err(op, ctx.Err())
	}
	begun, ended := uint64(0), uint64(0)
	for i, j := 0, 0; ended < n; j++ {
		for ; begun < n && i < j+bounceDepth; i++ {
			size := min(piece, n-begun)
			if err := s.begin(op, to.Addr+off+begun, from.Addr+off+begun, size, i); err != nil {
				return err
			}
			begun += size
		}
		if err := s.await(ctx, op, j); err != nil {
			return err
		}
		size := min(piece, n-ended)
		if done != nil {
			if err := done(off+ended, size); err != nil {
				return err
			}
		}
		ended += size
	}
	return nil
}

func (s *bounce) begin(op string, to, from, size uint64, i int) error {
	r := s.dev.ctx.Copy(to, from, size, s.stream)
	if r == 0 {
		r = s.dev.ctx.RecordEvent(s.events[i%bounceDepth], s.stream)
	}
	return s.dev.check(op, r)
}

func (s *bounce) await(ctx context.Context, op string, i int) error {
	return s.dev.waitPoll(ctx, op, "the staging stream", func() (bool, error) {
		return s.dev.happened(op, s.dev.ctx.QueryEvent(s.events[i%bounceDepth]))
	})
}

// closePatience is how long closing waits for a copy that its caller gave up. What
// can be under way then takes no GPU so long.
var closePatience = 5 * time.Second

// Busy waits for copies that their callers gave up, and fails with ErrBusy if they
// do not end.
func (s *bounce) Busy() error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	err := poll(ctx, func() (bool, error) {
		return s.dev.ctx.QueryStream(s.stream) != ccuda.CUDA_ERROR_NOT_READY, nil
	})
	if err == nil {
		return nil
	}
	return s.dev.err("free staging memory", fmt.Errorf("%w: a copy that was given up has not ended after %v", ErrBusy, closePatience))
}

// Close frees the memory.
func (s *bounce) Close() error {
	if err := s.Busy(); err != nil {
		return err
	}
	return s.dev.check("free staging memory", s.release())
}
