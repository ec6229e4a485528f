package main

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/gofabric/gofabric/verbs"
)

// Ring is one rank's place in a ring all-reduce: it sends to its right neighbour
// and receives from its left one.
//
// The data is cut into as many segments as there are ranks. In step s a rank
// sends segment rank-s to the right, and so receives segment rank-s-1 from the
// left. For the first ranks-1 steps it adds what it receives to its own data
// (reduce-scatter), after which it has one segment with the sum of all; for as
// many steps again the finished segments go round (all-gather).
//
// A step is done in chunks, and a chunk is sent on as soon as it was received in
// the step before, so that all links are busy all the time.
type Ring struct {
	rank, ranks int
	data        []float32
	dataMR      *verbs.MR // holds data
	inbox       *verbs.MR // slots for chunks that are still to be added
	slots, slot int       // how many, and the bytes of each
	perStep     int       // chunks of a step

	cq          *verbs.CQ
	left, right *verbs.QP
	rightData   verbs.RemoteBuffer // the right neighbour's
	rightInbox  verbs.RemoteBuffer

	arrived int    // chunks that have come and were not looked at yet
	number  uint32 // of the next chunk to come, over all runs
	sentAll uint32 // chunks that earlier runs sent
}

// Flow control. A chunk takes a receive and, to be added, a slot of the peer's
// inbox. Both were there before the peer knew of us, `slots` of each; the peer
// gives a credit (an empty message) for each chunk that it is done with, after
// it has posted the receive anew. So no more than `slots` chunks are under way,
// and no chunk ever finds its slot taken or no receive posted. Credits need
// receives too: as there are never more of them than chunks without credit,
// `slots` of those are enough.

// progress is how far a run is, in chunks.
type progress struct {
	sent     int
	written  int // sent and completed: our adapter is done with the data
	credited int // and so is the peer
	received int
	owed     int // received, and the credit not given yet
}

// AllReduce replaces the data of every rank by the sum over all ranks.
func (r *Ring) AllReduce(ctx context.Context) error {
	chunks := 2 * (r.ranks - 1) * r.perStep
	var p progress
	done := make([]verbs.Completion, 64)
	for {
		// A chunk may go if the same one of the step before is here, the peer
		// has room for it, and so has our send queue.
		right, left := r.right.SendBatch(), r.left.SendBatch()
		for p.sent < chunks && p.sent-r.perStep < p.received && p.sent-p.credited < r.slots && right.Room() > 0 {
			r.send(right, p.sent)
			p.sent++
		}
		for p.owed > 0 && left.Room() > 0 {
			left.Send(0) // a credit
			p.owed--
		}
		if err := post(right, left); err != nil {
			return err
		}
		if p == (progress{sent: chunks, written: chunks, credited: chunks, received: chunks}) {
			r.sentAll += uint32(chunks)
			return nil
		}
		n, err := r.cq.Wait(ctx, done)
		if err != nil {
			return err
		}
		for i := range done[:n] {
			if err := r.completed(&done[i], &p); err != nil {
				return err
			}
		}
		// A neighbour that has finished may be in the next run already: its
		// chunks wait for ours.
		for ; r.arrived > 0 && p.received < chunks; r.arrived-- {
			r.take(p.received)
			r.left.RecvBatch().Recv(0)
			p.received++
			p.owed++
		}
		if err := post(r.left.RecvBatch(), r.right.RecvBatch()); err != nil {
			return err
		}
	}
}

// send adds a chunk to the batch: to the peer's inbox if it is to be added
// there, to its place if it is a sum. The place may be written: what the peer
// had there has been through the whole ring, so its adapter has read it.
func (r *Ring) send(batch *verbs.SendBatch, chunk int) {
	off, n := r.place(r.rank, chunk)
	to := r.rightInbox.At(uint64(chunk%r.slots*r.slot), uint64(n))
	if chunk >= (r.ranks-1)*r.perStep {
		to = r.rightData.At(uint64(off), uint64(n))
	}
	var pieces []verbs.SGE // none if the data does not reach to all ranks
	if n > 0 {
		pieces = append(pieces, r.dataMR.SGE(off, n))
	}
	batch.WriteImm(0, r.sentAll+uint32(chunk), to, pieces...)
}

// completed looks at the end of a request.
func (r *Ring) completed(c *verbs.Completion, p *progress) error {
	if err := c.Err(); err != nil {
		return err
	}
	switch op, _ := c.Opcode(); op {
	case verbs.WCRecvRDMAWithImm:
		if imm, _ := c.Imm(); imm != r.number {
			return fmt.Errorf("chunk %d came where %d was due", imm, r.number)
		}
		r.number++
		r.arrived++
	case verbs.WCRecv:
		r.right.RecvBatch().Recv(0)
		p.credited++
	case verbs.WCRDMAWrite:
		p.written++
	}
	return nil
}

// take adds a chunk that came to the inbox to the data.
func (r *Ring) take(chunk int) {
	if chunk >= (r.ranks-1)*r.perStep {
		return // it came to its place
	}
	off, n := r.place(r.rank-1, chunk)
	from := floats(r.inbox.Bytes()[chunk%r.slots*r.slot:][:n])
	to := floats(r.dataMR.Bytes()[off:][:n])
	for i, v := range from {
		to[i] += v
	}
}

// place is where a chunk that a rank sends lies in the data, in bytes.
func (r *Ring) place(rank, chunk int) (off, n int) {
	step, part := chunk/r.perStep, chunk%r.perStep
	segment := ((rank-step)%r.ranks + r.ranks) % r.ranks
	first, end := share(len(r.data), r.ranks, segment)
	from, to := share(end-first, r.perStep, part)
	return 4 * (first + from), 4 * (to - from)
}

// share cuts n things into parts that differ by one at most.
func share(n, parts, part int) (first, end int) {
	return n * part / parts, n * (part + 1) / parts
}

// floats is the same memory, as numbers.
func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

func post(batches ...interface{ Post() (int, error) }) error {
	var errs []error
	for _, b := range batches {
		_, err := b.Post()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
