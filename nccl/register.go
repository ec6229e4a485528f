package nccl

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/gofabric/gofabric/internal/life"
)

// adoptChild registers something that belongs to c and that captured graphs may
// use. The turn is taken.
func (c *Comm) adoptChild(obj *life.Object, owner life.Closer, name string) error {
	if err := c.obj.Use(); err != nil {
		return err
	}
	defer c.obj.Done()
	life.Enter(obj, owner, fmt.Sprintf("%s of %v", name, c), &c.obj)
	return nil
}

// closeChild closes something that belongs to c and that graphs may use. After an
// abort NCCL has freed it, and during one it is about to.
func (c *Comm) closeChild(obj *life.Object, name string, op func() cnccl.Op, forget func()) error {
	ctx := context.Background()
	if err := c.lock(ctx); err != nil {
		return c.failed(name, obj.Close(func() error { return nil }))
	}
	defer c.unlock()
	return c.failed(name, obj.Close(func() error {
		switch state := c.state.Load(); state {
		case ready, revoked:
			err := c.withoutGraphs(func() error { return c.control(ctx, op()) })
			if err != nil {
				return err
			}
		case suspended:
			return c.refusal(state)
		}
		forget()
		return nil
	}))
}

// closeAfterGraphs closes what graphs may use, and the graphs first.
func (c *Comm) closeAfterGraphs(close func() error) error {
	if !c.made() {
		return nil
	}
	return errors.Join(c.closeGraphs(), close())
}

// Registration is memory that NCCL was told about, so that it moves data there
// without a copy. It is safe for concurrent use. The memory must stay until Close.
type Registration struct {
	obj    life.Object
	comm   *Comm
	handle uint64
}

// Register tells NCCL about memory that operations of this communicator will
// use. NCCL 2.19.1.
//
// Implements: ncclCommRegister.
func (c *Comm) Register(ctx context.Context, span cuda.Span) (*Registration, error) {
	r := &Registration{comm: c}
	err := c.locked(ctx, "Register", func() error {
		if err := checkRegion(span); err != nil {
			return err
		}
		s, err := c.filled(ctx, cnccl.Op{Function: cnccl.FnCommRegister, Send: span.Addr, Count: span.Len})
		if err != nil {
			return err
		}
		r.handle = s.Handle()
		s.Free()
		return c.adoptChild(&r.obj, r, fmt.Sprintf("registration of %d bytes", span.Len))
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func checkRegion(span cuda.Span) error {
	if span.Len == 0 || span.Addr == 0 {
		return badArgument("the span is empty")
	}
	return nil
}

// filled runs an operation that answers in a slot, which the caller frees. The
// turn is taken.
func (c *Comm) filled(ctx context.Context, op cnccl.Op) (cnccl.Slot, error) {
	s := cnccl.NewSlot()
	return s, c.fill(ctx, s, op)
}

// fill is filled with a slot of the caller's, which it frees after an error.
func (c *Comm) fill(ctx context.Context, s cnccl.Slot, op cnccl.Op) error {
	op.Slot = s.Address()
	err := c.control(ctx, op)
	switch {
	case err == nil:
	case c.state.Load() >= broken:
		// NCCL may still write there.
		c.orphans = append(c.orphans, s)
	default:
		s.Free()
	}
	return err
}

// Close takes the memory back from NCCL. It answers ErrBusy while graphs that
// may use it are open.
//
// Implements: ncclCommDeregister.
func (r *Registration) Close() error {
	return r.comm.closeChild(&r.obj, "Registration.Close", func() cnccl.Op {
		return cnccl.Op{Function: cnccl.FnCommDeregister, Handle: r.handle}
	}, func() {})
}

// CloseAll closes the graphs that captured the communicator's work, and the
// registration.
func (r *Registration) CloseAll() error { return r.comm.closeAfterGraphs(r.Close) }
