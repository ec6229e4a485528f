package verbs

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// RecvBatch collects requests for a queue pair's receive queue and posts them
// in one crossing into C. It is the receive side of its queue pair and belongs
// to one goroutine at a time.
type RecvBatch struct {
	queue
	wrs  []cverbs.RecvWR // one a place, chained in order
	sges []cverbs.SGE    // MaxRecvSGE a place
}

// RecvBatch returns the queue pair's batch. There is one: requests added and
// not posted are still in it.
func (qp *QP) RecvBatch() *RecvBatch { return &qp.recv }

func (b *RecvBatch) init(qp *QP) error {
	n, sges := qp.opts.MaxRecv, qp.opts.MaxRecvSGE // none with an SRQ
	size := unsafe.Sizeof(cverbs.RecvWR{})*uintptr(n) + unsafe.Sizeof(cverbs.SGE{})*uintptr(n*sges)
	ring, err := b.queue.init(qp, qp.opts.RecvCQ, n, sges, max(size, 1))
	if err != nil {
		return err
	}
	b.wrs, b.sges = recvRing(ring, n, sges)
	return nil
}

// Len returns how many requests are in the batch.
func (b *RecvBatch) Len() int { return b.n }

// Room returns how many more requests fit before the receive queue is full.
func (b *RecvBatch) Room() int {
	b.look()
	return b.room - b.n
}

// Recv adds a receive into the local pieces, one after the other. They need
// AccessLocalWrite. A receive for an RDMA write with immediate needs no piece.
func (b *RecvBatch) Recv(id uint64, local ...SGE) {
	if !b.fits(id, len(local), "MaxRecvSGE") {
		switch {
		case b.qp == nil:
			b.fail(ErrClosed) // it was never made
		case b.qp.opts.SRQ != nil:
			b.fail(errors.New("the queue pair has no receive queue: its receives come from its SRQ"))
		case b.depth == 0:
			b.fail(fmt.Errorf("a queue pair of type %v has no receive queue", b.qp.opts.Type))
		}
		return
	}
	wr := &b.wrs[b.n]
	wr.WRID = b.next(id)
	wr.NumSGE = int32(len(local))
	b.fill(wr.SGList, id, local)
	runtime.KeepAlive(b) // and with it the memory that wr lies in
}

// Post posts the batch, which is empty afterwards, and returns how many requests
// the device took, from the first. It treats wrong requests and a full queue as
// SendBatch.Post does; the error of a full queue is ErrRecvQueueFull.
//
// Implements: ibv_post_recv.
func (b *RecvBatch) Post() (int, error) {
	if err := b.side.enter(); err != nil {
		return 0, b.qp.err("post receive", err)
	}
	n, full := b.n, b.full
	err := b.clear(StateInit)
	posted := 0
	if err == nil && n > 0 {
		r := b.qp.qp.PostRecv(&b.wrs[0], n)
		b.account(r.Posted)
		posted, err = int(r.Posted), errnoOrNil(r.RC)
	}
	b.side.exit()
	if err == nil && full {
		err = ErrRecvQueueFull
	}
	if err != nil {
		return posted, b.qp.err("post receive", err)
	}
	return posted, nil
}
