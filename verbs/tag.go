package verbs

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// tagList is what a shared receive queue with tag matching has more than others.
type tagList struct {
	mu  sync.Mutex
	rec *cverbs.Queue
}

func newTagList() (*tagList, error) {
	rec, err := cverbs.NewPassingQueue()
	if err != nil {
		return nil, err
	}
	return &tagList{rec: rec}, nil
}

// TagReceive is a receive for messages of one tag.
type TagReceive struct {
	// ID and RecvID are what the completions of adding it and of the message
	// carry.
	ID, RecvID uint32
	// Tag is what messages must have in the bits that Mask names.
	Tag, Mask uint64
	// Local are the pieces that the message fills, one after the other.
	Local []SGE
	// Unexpected is how many messages without a receive the program has seen so
	// far: the device adds nothing while it has seen more.
	Unexpected uint32
}

var errNoTags = errors.New("the queue was made without tag matching (CreateSRQEx, MaxTags)")

// AddTag adds a receive for messages of one tag and returns its handle, by which
// RemoveTag takes it away again. It completes twice: as WCTagAdd when it is in the
// list, and as WCTagRecv when a message has come.
//
// Implements: ibv_post_srq_ops.
func (srq *SRQ) AddTag(r TagReceive) (handle uint32, err error) {
	op := cverbs.TagOp{
		WRID: uint64(r.ID), RecvWRID: uint64(r.RecvID), Opcode: cverbs.IBV_WR_TAG_ADD, Unexpected: r.Unexpected,
		Flags: cverbs.IBV_OPS_SIGNALED | cverbs.IBV_OPS_TM_SYNC, Tag: r.Tag, Mask: r.Mask,
	}
	for i, s := range r.Local {
		if s.Addr == badAddr {
			return 0, srq.err("add tag", fmt.Errorf("request %d: piece %d lies outside its memory region", r.ID, i))
		}
		op.SGEs = append(op.SGEs, cverbs.SGE(s))
	}
	err = srq.tagOp("add tag", &op)
	return op.Handle, err
}

// RemoveTag takes a receive away that AddTag added. It completes as WCTagDel, and
// fails if a message has come for it.
//
// Implements: ibv_post_srq_ops.
func (srq *SRQ) RemoveTag(id, handle uint32) error {
	return srq.tagOp("remove tag", &cverbs.TagOp{
		WRID: uint64(id), Opcode: cverbs.IBV_WR_TAG_DEL, Flags: cverbs.IBV_OPS_SIGNALED, Handle: handle,
	})
}

// SyncTags tells the device how many messages without a receive the program has
// seen: it then adds tags again. It completes as WCTagSync.
//
// Implements: ibv_post_srq_ops.
func (srq *SRQ) SyncTags(id, unexpected uint32) error {
	return srq.tagOp("synchronise tags", &cverbs.TagOp{
		WRID: uint64(id), Opcode: cverbs.IBV_WR_TAG_SYNC, Unexpected: unexpected,
		Flags: cverbs.IBV_OPS_SIGNALED | cverbs.IBV_OPS_TM_SYNC,
	})
}

func (srq *SRQ) tagOp(what string, op *cverbs.TagOp) error {
	if err := srq.obj.Use(); err != nil {
		return srq.err(what, err)
	}
	defer srq.obj.Done()
	if srq.tags == nil {
		return srq.err(what, errNoTags)
	}
	srq.tags.mu.Lock()
	defer srq.tags.mu.Unlock()
	op.WRID |= srq.tags.rec.Base
	op.RecvWRID |= srq.tags.rec.Base
	if err := srq.srq.PostTagOp(op); err != nil {
		return srq.err(what, err)
	}
	return nil
}
