package nccl

import (
	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
)

// AllReduce records Comm.AllReduce.
//
// Implements: ncclAllReduce.
func (g *Group) AllReduce(c *Comm, send, recv cuda.Span, count int, dt DataType, op RedOp, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnAllReduce, send: send, recv: recv, count: count, dt: dt, op: op}, s)
}

// Broadcast records Comm.Broadcast.
//
// Implements: ncclBroadcast.
func (g *Group) Broadcast(c *Comm, send, recv cuda.Span, count int, dt DataType, root int, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnBroadcast, send: send, recv: recv, count: count, dt: dt, peer: root}, s)
}

// Reduce records Comm.Reduce.
//
// Implements: ncclReduce.
func (g *Group) Reduce(c *Comm, send, recv cuda.Span, count int, dt DataType, op RedOp, root int, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnReduce, send: send, recv: recv, count: count, dt: dt, op: op, peer: root}, s)
}

// AllGather records Comm.AllGather.
//
// Implements: ncclAllGather.
func (g *Group) AllGather(c *Comm, send, recv cuda.Span, count int, dt DataType, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnAllGather, send: send, recv: recv, count: count, dt: dt}, s)
}

// ReduceScatter records Comm.ReduceScatter.
//
// Implements: ncclReduceScatter.
func (g *Group) ReduceScatter(c *Comm, send, recv cuda.Span, count int, dt DataType, op RedOp, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnReduceScatter, send: send, recv: recv, count: count, dt: dt, op: op}, s)
}

// AllToAll records Comm.AllToAll.
//
// Implements: ncclAlltoAll.
func (g *Group) AllToAll(c *Comm, send, recv cuda.Span, count int, dt DataType, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnAlltoAll, send: send, recv: recv, count: count, dt: dt}, s)
}

// Gather records Comm.Gather.
//
// Implements: ncclGather.
func (g *Group) Gather(c *Comm, send, recv cuda.Span, count int, dt DataType, root int, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnGather, send: send, recv: recv, count: count, dt: dt, peer: root}, s)
}

// Scatter records Comm.Scatter.
//
// Implements: ncclScatter.
func (g *Group) Scatter(c *Comm, send, recv cuda.Span, count int, dt DataType, root int, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnScatter, send: send, recv: recv, count: count, dt: dt, peer: root}, s)
}

// Send records Comm.Send.
//
// Implements: ncclSend.
func (g *Group) Send(c *Comm, send cuda.Span, count int, dt DataType, peer int, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnSend, send: send, count: count, dt: dt, peer: peer}, s)
}

// Recv records Comm.Recv.
//
// Implements: ncclRecv.
func (g *Group) Recv(c *Comm, recv cuda.Span, count int, dt DataType, peer int, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnRecv, recv: recv, count: count, dt: dt, peer: peer}, s)
}

// PutSignal records Comm.PutSignal.
//
// Implements: ncclPutSignal.
func (g *Group) PutSignal(c *Comm, send cuda.Span, count int, dt DataType, peer int, window *Window, offset uint64, signal SignalOptions, s *cuda.Stream) error {
	return g.add(c, &operation{
		function: cnccl.FnPutSignal, send: send, count: count, dt: dt, peer: peer, window: window, offset: offset, signal: signal,
	}, s)
}

// Signal records Comm.Signal.
//
// Implements: ncclSignal.
func (g *Group) Signal(c *Comm, peer int, signal SignalOptions, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnSignal, peer: peer, signal: signal}, s)
}

// WaitSignal records Comm.WaitSignal.
//
// Implements: ncclWaitSignal.
func (g *Group) WaitSignal(c *Comm, waits []SignalWait, s *cuda.Stream) error {
	return g.add(c, &operation{function: cnccl.FnWaitSignal, waits: waits}, s)
}
