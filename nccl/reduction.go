package nccl

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/gofabric/gofabric/internal/life"
)

// firstCustomOp is the least RedOp of a custom reduction. They are numbered
// through the process, so that one of another communicator is noticed.
const firstCustomOp RedOp = 1 << 16

var lastCustomOp atomic.Int32

// customOps are the open custom reductions of a communicator.
type customOps struct {
	sync.RWMutex
	list []*CustomOp
}

// CustomOp is a reduction that belongs to a communicator and a data type. It is
// safe for concurrent use.
type CustomOp struct {
	obj  life.Object
	comm *Comm
	dt   DataType
	op   RedOp
	code int32 // NCCL's
}

// CreatePreMulSum makes a reduction that multiplies this rank's input by factor
// and then sums over the ranks. factor is rounded to dt; for an integer type it
// must be one that dt can hold.
//
// Implements: ncclRedOpCreatePreMulSum.
func (c *Comm) CreatePreMulSum(ctx context.Context, dt DataType, factor float64) (*CustomOp, error) {
	scalar, err := encodeScalar(dt, factor)
	if err != nil {
		return nil, c.failed("CreatePreMulSum", err)
	}
	return c.createOp(ctx, dt, func(s cnccl.Slot, _ *cnccl.Op) { s.SetScalar(scalar) })
}

// CreatePreMulSumAt is CreatePreMulSum with a factor that stands, as one element
// of dt, in memory that the GPU reads whenever an operation runs.
//
// Implements: ncclRedOpCreatePreMulSum.
func (c *Comm) CreatePreMulSumAt(ctx context.Context, dt DataType, factor cuda.Span) (*CustomOp, error) {
	if !dt.known() {
		return nil, c.failed("CreatePreMulSumAt", badArgument("no data type has the number %d", int(dt)))
	}
	if err := checkSpan("factor's", factor, uint64(dt.Size())); err != nil {
		return nil, c.failed("CreatePreMulSumAt", err)
	}
	return c.createOp(ctx, dt, func(_ cnccl.Slot, op *cnccl.Op) { op.Send = factor.Addr })
}

func (c *Comm) createOp(ctx context.Context, dt DataType, fill func(cnccl.Slot, *cnccl.Op)) (*CustomOp, error) {
	r := &CustomOp{comm: c, dt: dt, op: firstCustomOp + RedOp(lastCustomOp.Add(1))}
	err := c.locked(ctx, "CreatePreMulSum", func() error {
		if since := dt.Since(); since > c.lib.info.Version {
			return c.lib.unsupported(fmt.Sprintf("data type %v", dt), since)
		}
		s := cnccl.NewSlot()
		op := cnccl.Op{Function: cnccl.FnRedOpCreatePreMulSum, Slot: s.Address(), Type: int32(dt)}
		fill(s, &op)
		err := c.control(ctx, op)
		r.code = s.Reduction()
		if c.state.Load() >= broken {
			c.orphans = append(c.orphans, s)
		} else {
			s.Free()
		}
		if err != nil {
			return err
		}
		c.customs.add(r)
		return c.adoptChild(&r.obj, r, fmt.Sprintf("custom reduction %d", r.op-firstCustomOp))
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (o *customOps) add(r *CustomOp) {
	o.Lock()
	defer o.Unlock()
	o.list = append(o.list, r)
}

func (o *customOps) remove(r *CustomOp) {
	o.Lock()
	defer o.Unlock()
	o.list = slices.DeleteFunc(o.list, func(other *CustomOp) bool { return other == r })
}

// custom finds an open custom reduction of c, or nil.
func (c *Comm) custom(op RedOp) *CustomOp {
	c.customs.RLock()
	defer c.customs.RUnlock()
	for _, r := range c.customs.list {
		if r.op == op {
			return r
		}
	}
	return nil
}

// RedOp returns the value to give to operations.
func (r *CustomOp) RedOp() RedOp { return r.op }

// Close destroys the reduction. Operations that were issued with it go on.
//
// Implements: ncclRedOpDestroy.
func (r *CustomOp) Close() error {
	return r.comm.closeChild(&r.obj, "CustomOp.Close", func() cnccl.Op {
		return cnccl.Op{Function: cnccl.FnRedOpDestroy, Reduction: r.code}
	}, func() { r.comm.customs.remove(r) })
}

// CloseAll closes the graphs that captured the communicator's work, and the
// reduction.
func (r *CustomOp) CloseAll() error { return r.comm.closeAfterGraphs(r.Close) }
