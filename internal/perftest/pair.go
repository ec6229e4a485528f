package perftest

import "github.com/gofabric/gofabric/verbs"

// pair is a queue pair and what one size of messages has come to on it.
type pair struct {
	config *Config
	index  int // within its lane
	qp     *verbs.QP
	send   *verbs.SendBatch
	recv   *verbs.RecvBatch // nil with a shared queue
	mr     *verbs.MR
	stages bool // messages are copied to mr before they are posted
	slot   int  // bytes of each of its two pieces of mr
	sendAt int  // where they begin
	recvAt int
	remote verbs.RemoteBuffer
	// Of datagrams.
	to        *verbs.AddressHandle
	qpn, qkey uint32

	// Of the current size.
	batch             int // most requests that are posted at once
	schedule          schedule
	steps, recvSteps  stepper
	posted, completed int // sends
	toReceive         int // receives still to be posted; negative for no end
	owed              int // completed, and not yet posted again
}

// The ids of requests are the pair's index, and a bit that tells receives.
const recvBit = 1

func (p *pair) sendID() uint64 { return uint64(p.index) << 1 }
func (p *pair) recvID() uint64 { return uint64(p.index)<<1 | recvBit }

// request adds a message of size bytes to the batch.
func (p *pair) request(off, size, inline int) verbs.Request {
	local := p.mr.SGE(p.sendAt+off, size)
	var r verbs.Request
	switch p.config.Tool.Verb {
	case VerbWrite:
		r = p.send.Write(p.sendID(), p.remote.At(uint64(off), uint64(size)), local)
	case VerbRead:
		return p.send.Read(p.sendID(), p.remote.At(uint64(off), uint64(size)), local)
	case VerbAtomic:
		if p.config.Atomic == CompareAndSwap {
			return p.send.CompareSwap(p.sendID(), p.remote.At(uint64(off), uint64(size)), 0, 0, local)
		}
		return p.send.FetchAdd(p.sendID(), p.remote.At(uint64(off), uint64(size)), 1, local)
	default:
		if p.to != nil {
			r = p.send.SendTo(p.sendID(), p.to, p.qpn, p.qkey, local)
		} else {
			r = p.send.Send(p.sendID(), local)
		}
	}
	if size <= inline {
		r.Inline()
	}
	return r
}

// room is how many requests may be posted now.
func (p *pair) room() int {
	n := p.config.TxDepth - (p.posted - p.completed)
	if p.schedule.total > 0 {
		n = min(n, p.schedule.total-p.posted)
	}
	if list := p.config.PostList; list > 1 && n < list {
		return 0
	}
	return n
}

// next is how many of room are posted at once.
func (p *pair) next(room int) int {
	if list := p.config.PostList; list > 1 {
		return list
	}
	return min(room, p.batch)
}
