package verbs

import (
	"runtime"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// SendInv adds a message that also invalidates a key of the peer: that of a
// memory window of type 2, or of a region that the kernel made for it.
//
// Implements: ibv_wr_send_inv.
func (b *SendBatch) SendInv(id uint64, rkey uint32, local ...SGE) Request {
	r := b.add(cverbs.IBV_WR_SEND_WITH_INV, id, anywhere, local)
	r.wr.Imm = rkey
	runtime.KeepAlive(b)
	return r
}

// LocalInv adds a request that invalidates a key of this side, that of a memory
// window of type 2.
//
// Implements: ibv_wr_local_inv.
func (b *SendBatch) LocalInv(id uint64, rkey uint32) Request {
	r := b.add(cverbs.IBV_WR_LOCAL_INV, id, anywhere, nil)
	r.wr.Imm = rkey
	runtime.KeepAlive(b)
	return r
}

// InvalidatedRKey returns the key of this side that a message received made
// invalid; ok is false if it did not. MW.Invalidated takes it.
func (c *Completion) InvalidatedRKey() (rkey uint32, ok bool) {
	if !c.ok() || c.wc.Flags&cverbs.IBV_WC_WITH_INV == 0 {
		return 0, false
	}
	return c.wc.Imm, true
}
