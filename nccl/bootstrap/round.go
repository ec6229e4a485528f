package bootstrap

import (
	"context"
	"errors"
)

// round is an operation that some ranks have come to.
type round struct {
	op      operation
	first   int // who came first
	parts   [][]byte
	came    []bool
	count   int
	total   int
	results [][]byte
	done    chan struct{} // closed when results are there
}

// current is the operation that is under way, if one is.
func (h *head) current() operation {
	if h.round != nil {
		return h.round.op
	}
	return operation{}
}

// submit takes a rank's part. Nil: the rank broke the protocol.
func (h *head) submit(rank int, op operation, data []byte) *round {
	if h.failed() {
		return &round{} // it learns of the failure, if it has not yet
	}
	if op.sequence != h.seq+1 {
		return nil
	}
	if h.round == nil {
		h.round = &round{
			op: op, first: rank,
			parts: make([][]byte, h.world.Size), came: make([]bool, h.world.Size), done: make(chan struct{}),
		}
	}
	r := h.round
	switch {
	case r.came[rank]:
		return nil
	case r.op != op:
		h.fail(failure{code: failOrder, op: r.op, first: r.first, by: rank, otherKind: op.kind, other: op.root})
		return r
	}
	for _, m := range h.members {
		if m != nil && m.left {
			h.fail(failure{code: failLeft, op: op, by: -1, left: []int{m.rank}})
			return r
		}
	}
	r.parts[rank], r.came[rank] = data, true
	r.count++
	r.total += len(data)
	if r.total > maxGather {
		h.fail(failure{code: failTooLarge, op: op, by: rank})
		return r
	}
	if r.count == h.world.Size {
		h.deliver(r)
	}
	return r
}

// deliver ends a round that all ranks have come to.
func (h *head) deliver(r *round) {
	switch r.op.kind {
	case opBroadcast:
		r.results = [][]byte{r.parts[r.op.root]}
	case opAllGather:
		r.results = r.parts
	}
	h.seq = r.op.sequence
	h.round = nil
	h.sendAll(frame(kindResult, encodeResult(r.op.sequence, r.results)))
	close(r.done)
}

// missing lists the ranks that have not come to the round.
func (r *round) missing() []int {
	var ranks []int
	for rank, came := range r.came {
		if !came {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// abandon is a rank's word that it no longer waits: for the others to come, or
// for an operation.
func (h *head) abandon(m *member, body []byte) {
	d := decoder{rest: body}
	sequence := d.u32()
	switch {
	case d.done("abandon") != nil:
	case !h.complete():
		h.send(m, frame(kindFailed, h.notAllCame(m.rank).encode()))
	case h.round != nil && h.round.op.sequence == sequence:
		h.fail(failure{code: failGaveUp, op: h.round.op, by: m.rank, missing: h.round.missing()})
	}
}

// collect is rank 0's own part of an operation.
func (h *head) collect(ctx context.Context, op operation, data []byte) ([][]byte, error) {
	h.mu.Lock()
	r := h.submit(0, op, data)
	h.mu.Unlock()
	if r == nil {
		return nil, errors.New("bootstrap: rank 0 counts its operations wrongly")
	}
	select {
	case <-r.done:
		return r.results, nil
	case <-h.broken:
	case <-ctx.Done():
		h.mu.Lock()
		if h.round == r {
			h.fail(failure{code: failGaveUp, op: op, by: 0, missing: r.missing()})
		}
		h.mu.Unlock()
	}
	select {
	case <-r.done: // both at once: the operation succeeded
		return r.results, nil
	default:
		return nil, h.failure.err(ctx, h.world, op, h.peers)
	}
}
