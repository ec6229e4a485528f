package main

import (
	"context"
	"fmt"

	"github.com/gofabric/gofabric/verbs"
)

// RingOptions are the sizes of a ring.
type RingOptions struct {
	Elements int // of each rank's data
	Chunk    int // bytes of a chunk at most; a multiple of 4
	Slots    int // chunks that may be under way between two neighbours
	GIDIndex *int
}

// rankInfo is what a rank's neighbours must know of it.
type rankInfo struct {
	Elements, Chunk, Slots int
	Left, Right            verbs.Endpoint // of the queue pairs to those neighbours
	Data, Inbox            verbs.RemoteBuffer
}

// NewRing makes a rank's queue pairs and memory on a device, and connects them
// to the neighbours'. Closing the device with CloseAll ends all of it.
func NewRing(ctx context.Context, dev *verbs.Device, g *Group, o RingOptions) (*Ring, error) {
	most := (o.Elements + g.ranks - 1) / g.ranks // elements of a segment
	r := &Ring{rank: g.rank, ranks: g.ranks, slots: o.Slots, slot: min(o.Chunk, 4*most)}
	r.perStep = max(1, (4*most+r.slot-1)/r.slot)
	pd, err := dev.AllocPD()
	if err != nil {
		return nil, err
	}
	const rights = verbs.AccessLocalWrite | verbs.AccessRemoteWrite
	if r.dataMR, err = pd.AllocMR(4*o.Elements, verbs.MROptions{Access: rights}); err != nil {
		return nil, err
	}
	r.data = floats(r.dataMR.Bytes())
	if r.inbox, err = pd.AllocMR(r.slots*r.slot, verbs.MROptions{Access: rights}); err != nil {
		return nil, err
	}
	if r.cq, err = dev.CreateCQ(verbs.CQOptions{Depth: 4 * r.slots, Events: true}); err != nil {
		return nil, err
	}
	if r.left, err = r.neighbour(pd, o); err != nil {
		return nil, err
	}
	if r.right, err = r.neighbour(pd, o); err != nil {
		return nil, err
	}
	own := rankInfo{Elements: o.Elements, Chunk: o.Chunk, Slots: o.Slots, Data: r.dataMR.Remote(), Inbox: r.inbox.Remote()}
	if own.Left, err = r.left.Endpoint(); err != nil {
		return nil, err
	}
	if own.Right, err = r.right.Endpoint(); err != nil {
		return nil, err
	}
	all, err := gather(g, own)
	if err != nil {
		return nil, err
	}
	for i, other := range all {
		if other.Elements != o.Elements || other.Chunk != o.Chunk || other.Slots != o.Slots {
			return nil, fmt.Errorf("rank %d was started with other sizes", i)
		}
	}
	after, before := all[(r.rank+1)%r.ranks], all[(r.rank+r.ranks-1)%r.ranks]
	r.rightData, r.rightInbox = after.Data, after.Inbox
	// The receives are there before the neighbours can know of us, so that
	// nobody ever has to try again: asking for no retry proves it.
	opts := verbs.ConnectOptions{RNRRetries: verbs.None}
	if err := r.right.Connect(ctx, after.Left, opts); err != nil {
		return nil, err
	}
	if err := r.left.Connect(ctx, before.Right, opts); err != nil {
		return nil, err
	}
	return r, g.Barrier()
}

// neighbour makes a queue pair with its receives posted.
func (r *Ring) neighbour(pd *verbs.PD, o RingOptions) (*verbs.QP, error) {
	qp, err := pd.CreateQP(verbs.QPOptions{
		SendCQ: r.cq, RecvCQ: r.cq, MaxSend: r.slots, MaxRecv: r.slots, GIDIndex: o.GIDIndex,
	})
	if err != nil {
		return nil, err
	}
	if err := qp.Init(); err != nil {
		return nil, err
	}
	for range r.slots {
		qp.RecvBatch().Recv(0)
	}
	return qp, post(qp.RecvBatch())
}
