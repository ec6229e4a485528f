package nccl

import (
	"fmt"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
)

// operation is one transfer, as it was asked for. It stays on the stack: neither
// a check nor a record keeps it.
type operation struct {
	function   int32
	send, recv cuda.Span
	count      int
	dt         DataType
	op         RedOp
	custom     *CustomOp // found by the check, if op is one
	peer       int       // or root
	window     *Window
	offset     uint64
	signal     SignalOptions
	waits      []SignalWait
}

// shape is what each function needs: how many elements it reads and writes, in
// units of count, and on which ranks.
type shape struct {
	name    string
	send    int // 1: count; perRank: count for each rank; 0: nothing
	recv    int
	root    bool // peer is a root
	sendAt  int  // everywhere, or at the root only
	recvAt  int
	reduces bool
	typed   bool // has count and data type
	peer    bool // peer is another rank
	// inPlace says where, for an operation in place, one buffer stands in the
	// other: at the beginning, or at the block of this rank or of the root.
	inPlace int
}

const (
	perRank = -1

	everywhere = 0
	atRoot     = 1

	sameAddress = 0
	rankBlock   = 1 // the smaller buffer is this rank's block of the larger
	never       = 2
)

// shapes is indexed by function.
var shapes = [cnccl.FnCount]shape{
	cnccl.FnAllReduce:     {name: "AllReduce", send: 1, recv: 1, reduces: true, typed: true},
	cnccl.FnReduce:        {name: "Reduce", send: 1, recv: 1, root: true, recvAt: atRoot, reduces: true, typed: true},
	cnccl.FnBroadcast:     {name: "Broadcast", send: 1, recv: 1, root: true, sendAt: atRoot, typed: true},
	cnccl.FnAllGather:     {name: "AllGather", send: 1, recv: perRank, typed: true, inPlace: rankBlock},
	cnccl.FnReduceScatter: {name: "ReduceScatter", send: perRank, recv: 1, reduces: true, typed: true, inPlace: rankBlock},
	cnccl.FnAlltoAll:      {name: "AllToAll", send: perRank, recv: perRank, typed: true, inPlace: never},
	cnccl.FnGather:        {name: "Gather", send: 1, recv: perRank, root: true, recvAt: atRoot, typed: true, inPlace: rankBlock},
	cnccl.FnScatter:       {name: "Scatter", send: perRank, recv: 1, root: true, sendAt: atRoot, typed: true, inPlace: rankBlock},
	cnccl.FnSend:          {name: "Send", send: 1, typed: true, peer: true},
	cnccl.FnRecv:          {name: "Recv", recv: 1, typed: true, peer: true},
	cnccl.FnPutSignal:     {name: "PutSignal", send: 1, typed: true, peer: true},
	cnccl.FnSignal:        {name: "Signal", peer: true},
	cnccl.FnWaitSignal:    {name: "WaitSignal"},
}

// perThreadStream is CUDA's handle for "this thread's stream".
const perThreadStream = 0x2

// checkOperation refuses what NCCL, or the GPU, would do wrong with. It needs
// no turn.
func (c *Comm) checkOperation(o *operation, s *cuda.Stream) error {
	sh := &shapes[o.function]
	if !c.lib.supported[o.function] {
		return c.lib.need(int(o.function))
	}
	if err := c.checkStream(s); err != nil {
		return err
	}
	if sh.typed {
		if err := c.checkBuffers(o, sh); err != nil {
			return err
		}
	}
	if (sh.root || sh.peer) && (o.peer < 0 || o.peer >= c.size) {
		what := "peer"
		if sh.root {
			what = "root"
		}
		return badArgument("%s is %d: the ranks are 0 to %d", what, o.peer, c.size-1)
	}
	if sh.reduces {
		if err := c.checkRedOp(o); err != nil {
			return err
		}
	}
	switch o.function {
	case cnccl.FnPutSignal, cnccl.FnSignal, cnccl.FnWaitSignal:
		return c.checkSignals(o)
	}
	return nil
}

func (c *Comm) checkStream(s *cuda.Stream) error {
	switch {
	case s == nil:
		return badArgument("the stream is nil: Device.CreateStream makes one, Device.NullStream is CUDA's default")
	case s.Handle() == perThreadStream:
		return badArgument("the stream is cudaStreamPerThread: it means another stream on each thread, NCCL launches from threads of its own, and data would be corrupted; use a stream of Device.CreateStream")
	case s.Device() == nil || s.Device().Ordinal() != c.dev.Ordinal():
		return badArgument("the stream is not on device %d, where the communicator is", c.dev.Ordinal())
	}
	return nil
}

func (c *Comm) checkBuffers(o *operation, sh *shape) error {
	if !o.dt.known() {
		return badArgument("no data type has the number %d", int(o.dt))
	}
	if since := o.dt.Since(); since > c.lib.info.Version {
		return c.lib.unsupported(fmt.Sprintf("data type %v", o.dt), since)
	}
	if o.count < 0 {
		return badArgument("count is %d", o.count)
	}
	send, sendOK := bytesOf(o.count, o.dt, c.times(sh.send))
	recv, recvOK := bytesOf(o.count, o.dt, c.times(sh.recv))
	if !sendOK || !recvOK {
		return badArgument("%d elements of %v for %d ranks are more bytes than 64 bits count", o.count, o.dt, c.size)
	}
	if sh.sendAt == atRoot && o.peer != c.rank {
		send = 0
	}
	if sh.recvAt == atRoot && o.peer != c.rank {
		recv = 0
	}
	if err := checkSpan("send", o.send, send); err != nil {
		return err
	}
	if err := checkSpan("receive", o.recv, recv); err != nil {
		return err
	}
	return c.checkOverlap(o, sh, send, recv)
}

func (c *Comm) times(units int) int {
	if units == perRank {
		return c.size
	}
	return units
}

func checkSpan(what string, span cuda.Span, need uint64) error {
	if span.Len < need {
		return badArgument("the %s span has %d bytes and the operation needs %d", what, span.Len, need)
	}
	if need > 0 && span.Addr == 0 {
		return badArgument("the %s span has no address", what)
	}
	if span.Addr+need < span.Addr {
		return badArgument("the %s span ends beyond the address space", what)
	}
	return nil
}

// checkOverlap lets the buffers be the same memory only where NCCL knows the
// operation in place.
func (c *Comm) checkOverlap(o *operation, sh *shape, send, recv uint64) error {
	if send == 0 || recv == 0 || o.send.Addr+send <= o.recv.Addr || o.recv.Addr+recv <= o.send.Addr {
		return nil
	}
	want := o.recv.Addr
	switch sh.inPlace {
	case never:
		return badArgument("the buffers overlap, and %s does not work in place", sh.name)
	case rankBlock:
		block := min(send, recv) * uint64(c.rank)
		if send < recv {
			want = o.recv.Addr + block
		} else {
			want = o.recv.Addr - block
		}
	}
	if o.send.Addr != want {
		return badArgument("the buffers overlap: in place, the send buffer of %s on rank %d begins at 0x%x, not 0x%x",
			sh.name, c.rank, want, o.send.Addr)
	}
	return nil
}

func (c *Comm) checkRedOp(o *operation) error {
	op := o.op
	switch {
	case op >= firstCustomOp:
		o.custom = c.custom(op)
		if o.custom == nil {
			return badArgument("the reduction is a custom one that was closed, or belongs to another communicator")
		}
		if o.custom.dt != o.dt {
			return badArgument("the custom reduction is for %v, not %v", o.custom.dt, o.dt)
		}
		return nil
	case op < 0 || op > Avg:
		return badArgument("no reduction has the number %d", int(op))
	case op == Avg && c.lib.info.Version < avgSince:
		return c.lib.unsupported("reduction avg", avgSince)
	}
	return nil
}

// record writes the operation down for NCCL.
func (c *Comm) record(o *operation, s *cuda.Stream, op *cnccl.Op) {
	op.Send, op.Recv, op.Count = o.send.Addr, o.recv.Addr, uint64(o.count)
	op.Comm, op.Context, op.Stream = c.handle, c.context, uint64(s.Handle())
	op.Function, op.Type, op.Peer = o.function, int32(o.dt), int32(o.peer)
	op.Reduction = int32(o.op)
	if o.op >= firstCustomOp {
		op.Reduction = o.custom.code
	}
	op.Offset, op.Signal, op.RMAContext, op.Flags = o.offset, int32(o.signal.Index), int32(o.signal.Context), o.signal.Flags
	op.Handle = 0
	if o.window != nil {
		op.Handle = o.window.handle.Load()
	}
	op.WaitCount = int32(len(o.waits))
}
