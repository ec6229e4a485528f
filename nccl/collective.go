package nccl

import (
	"context"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
)

// enqueue checks one operation and issues it. Nothing here allocates unless
// something is wrong.
func (c *Comm) enqueue(ctx context.Context, o *operation, s *cuda.Stream) error {
	if err := c.issue(ctx, o, s); err != nil {
		return c.failed(shapes[o.function].name, err)
	}
	return nil
}

func (c *Comm) issue(ctx context.Context, o *operation, s *cuda.Stream) error {
	if err := c.lock(ctx); err != nil {
		return c.late(err)
	}
	defer c.unlock()
	if err := c.usable(); err != nil {
		return err
	}
	if err := c.checkOperation(o, s); err != nil {
		return err
	}
	if err := c.beginUse(s); err != nil {
		return err
	}
	defer endUse(s)
	b := c.batch
	op := b.Op(0)
	c.record(o, s, op)
	if len(o.waits) > 0 {
		b.ResetWaits()
		recordWaits(b, op, o.waits)
	}
	if b.Run(cnccl.Alone, spinsInC) == cnccl.Success {
		return nil
	}
	if err := settle(ctx, c.self, b); err != nil {
		c.keepStream(s)
		return err
	}
	return c.judge(b)
}

// AllReduce combines count elements of every rank with op and leaves the result
// on all of them. send and recv hold count elements; they may be the same.
//
// Like every operation it returns when the work is in the stream: Comm.Wait, or
// the stream's events, tell when it is done. ctx ends the call and not the work.
//
// Implements: ncclAllReduce.
func (c *Comm) AllReduce(ctx context.Context, send, recv cuda.Span, count int, dt DataType, op RedOp, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnAllReduce, send: send, recv: recv, count: count, dt: dt, op: op}, s)
}

// Broadcast copies count elements from root's send to everybody's recv. send is
// not looked at on other ranks; they may be the same.
//
// Implements: ncclBroadcast, ncclBcast.
func (c *Comm) Broadcast(ctx context.Context, send, recv cuda.Span, count int, dt DataType, root int, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnBroadcast, send: send, recv: recv, count: count, dt: dt, peer: root}, s)
}

// Reduce combines count elements of every rank with op and leaves the result in
// root's recv, which is not looked at on other ranks. They may be the same.
//
// Implements: ncclReduce.
func (c *Comm) Reduce(ctx context.Context, send, recv cuda.Span, count int, dt DataType, op RedOp, root int, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnReduce, send: send, recv: recv, count: count, dt: dt, op: op, peer: root}, s)
}

// AllGather puts count elements of every rank, in rank order, into everybody's
// recv, which holds count times Size. In place, send is this rank's block of
// recv.
//
// Implements: ncclAllGather.
func (c *Comm) AllGather(ctx context.Context, send, recv cuda.Span, count int, dt DataType, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnAllGather, send: send, recv: recv, count: count, dt: dt}, s)
}

// ReduceScatter combines the ranks' send, of count times Size elements, with op
// and leaves block i of count elements in recv of rank i. In place, recv is this
// rank's block of send.
//
// Implements: ncclReduceScatter.
func (c *Comm) ReduceScatter(ctx context.Context, send, recv cuda.Span, count int, dt DataType, op RedOp, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnReduceScatter, send: send, recv: recv, count: count, dt: dt, op: op}, s)
}

// AllToAll sends block i of count elements to rank i and puts what came from
// rank i into block i of recv. Both hold count times Size; they must not
// overlap. NCCL 2.28.3.
//
// Implements: ncclAlltoAll.
func (c *Comm) AllToAll(ctx context.Context, send, recv cuda.Span, count int, dt DataType, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnAlltoAll, send: send, recv: recv, count: count, dt: dt}, s)
}

// Gather puts count elements of every rank, in rank order, into root's recv,
// which holds count times Size and is not looked at on other ranks. In place,
// root's send is its block of recv. NCCL 2.28.3.
//
// Implements: ncclGather.
func (c *Comm) Gather(ctx context.Context, send, recv cuda.Span, count int, dt DataType, root int, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnGather, send: send, recv: recv, count: count, dt: dt, peer: root}, s)
}

// Scatter sends block i of root's send, which holds count times Size and is not
// looked at on other ranks, to recv of rank i. In place, root's recv is its block
// of send. NCCL 2.28.3.
//
// Implements: ncclScatter.
func (c *Comm) Scatter(ctx context.Context, send, recv cuda.Span, count int, dt DataType, root int, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnScatter, send: send, recv: recv, count: count, dt: dt, peer: root}, s)
}

// Send sends count elements to peer, which must call Recv with the same count
// and type. Sends and receives that depend on each other belong in one Group.
//
// Implements: ncclSend.
func (c *Comm) Send(ctx context.Context, send cuda.Span, count int, dt DataType, peer int, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnSend, send: send, count: count, dt: dt, peer: peer}, s)
}

// Recv receives count elements from peer, which must call Send with the same
// count and type.
//
// Implements: ncclRecv.
func (c *Comm) Recv(ctx context.Context, recv cuda.Span, count int, dt DataType, peer int, s *cuda.Stream) error {
	return c.enqueue(ctx, &operation{function: cnccl.FnRecv, recv: recv, count: count, dt: dt, peer: peer}, s)
}
