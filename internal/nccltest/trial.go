package nccltest

import (
	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
)

// trial is one half of a row: a collective, a size, out of place or in place.
type trial struct {
	ranks   int
	dt      nccl.DataType
	op      values.Op
	root    int
	counts  counts
	inPlace bool
	pattern *pattern
	// rep chooses the data of the check.
	rep uint64
	how how
}

// how the operations of a trial are issued.
type how struct {
	graph    int // launches of a graph of all iterations; 0 is no graph
	register int // -R
}

func (t *trial) element() uint64 { return uint64(t.dt.Size()) }

func (t *trial) paramBytes() float64 { return float64(t.counts.param) * float64(t.element()) }

// bytes is what the row calls its size: the greater of what a rank sends and
// receives.
func (t *trial) bytes() uint64 { return max(t.counts.send, t.counts.recv) * t.element() }

// inPlaceAt is an in-place offset of a rank in elements, or 0.
func (t *trial) inPlaceAt(offset uint64, rank int) uint64 {
	if !t.inPlace {
		return 0
	}
	return offset * uint64(rank)
}

// call is one rank's part of one operation, to be recorded.
type call struct {
	trial   *trial
	release nccl.Version
	group   *nccl.Group
	comm    *nccl.Comm
	stream  *cuda.Stream
	// send and recv begin where the operation's buffers do and end with the
	// memory.
	send, recv cuda.Span
	count      int
	dt         nccl.DataType
	redop      nccl.RedOp
	root       int
	rank       int
	ranks      int
	inPlace    bool
	// copies go before the first stage.
	copies []copying
}

// copying is a copy along a stream.
type copying struct {
	to, from cuda.Span
	stream   *cuda.Stream
}

func (c *call) sendBlock(peer int, block uint64) error {
	return c.sendPart(peer, block*uint64(c.count), uint64(c.count))
}

func (c *call) recvBlock(peer int, block uint64) error {
	return c.recvPart(peer, block*uint64(c.count), uint64(c.count))
}

// sendPart records a send of count elements from the element at.
func (c *call) sendPart(peer int, at, count uint64) error {
	span, err := c.send.At(at*c.trial.element(), count*c.trial.element())
	if err != nil {
		return err
	}
	return c.group.Send(c.comm, span, int(count), c.dt, peer, c.stream)
}

func (c *call) recvPart(peer int, at, count uint64) error {
	span, err := c.recv.At(at*c.trial.element(), count*c.trial.element())
	if err != nil {
		return err
	}
	return c.group.Recv(c.comm, span, int(count), c.dt, peer, c.stream)
}
