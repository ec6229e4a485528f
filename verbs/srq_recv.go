package verbs

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// SRQRecvBatch collects receives for a shared receive queue and posts them in
// one crossing into C. It belongs to one goroutine at a time.
type SRQRecvBatch struct {
	side  guard
	srq   *SRQ
	post  func(*cverbs.RecvWR, int) cverbs.Posted
	depth atomic.Uint32 // receives that may be in the queue
	taken counter       // receives that the device took, in all

	// The records that polling keeps. A queue that grows gets another one:
	// receives of the first are in flight. The poster reads it; who changes it
	// or is somebody else has srq.mu.
	recs  []*cverbs.Queue
	slots int // of all records

	rings []unsafe.Pointer // C memory of the requests, of all sizes that the queue ever had
	wrs   []cverbs.RecvWR  // one a place, chained in order
	sges  []cverbs.SGE     // MaxSGE a place
	of    []*cverbs.Queue  // the record that each place's slot is of
	room  int              // receives that surely fit now, those of the batch included
	n     int              // receives in the batch
	err   error            // why the batch cannot be posted
	full  bool             // receives did not fit the batch
}

// RecvBatch returns the queue's batch. There is one: receives added and not
// posted are still in it.
func (srq *SRQ) RecvBatch() *SRQRecvBatch { return &srq.recv }

func (b *SRQRecvBatch) init(srq *SRQ) error {
	b.srq = srq
	if b.post == nil {
		b.post = srq.srq.PostRecv
	}
	if err := b.grow(srq.opts.MaxRecv); err != nil {
		return err
	}
	b.depth.Store(uint32(srq.opts.MaxRecv))
	b.side.open()
	return nil
}

// grow makes room for n receives.
func (b *SRQRecvBatch) grow(n int) error {
	if n > b.slots {
		rec, err := cverbs.NewSharedQueue(n - b.slots)
		if err != nil {
			return err
		}
		b.srq.mu.Lock()
		b.recs = append(b.recs, rec)
		b.srq.mu.Unlock()
		b.slots = n
	}
	if n <= len(b.wrs) {
		return nil
	}
	sges := b.srq.opts.MaxSGE
	ring := cverbs.Alloc(unsafe.Sizeof(cverbs.RecvWR{})*uintptr(n) + unsafe.Sizeof(cverbs.SGE{})*uintptr(n*sges))
	if ring == nil {
		return syscall.ENOMEM
	}
	b.rings = append(b.rings, ring)
	b.wrs, b.sges = recvRing(ring, n, sges)
	b.of = make([]*cverbs.Queue, n)
	return nil
}

// recvRing lays a ring of n requests out in C memory.
func recvRing(ring unsafe.Pointer, n, sges int) ([]cverbs.RecvWR, []cverbs.SGE) {
	wrs := unsafe.Slice((*cverbs.RecvWR)(ring), n)
	pieces := unsafe.Slice((*cverbs.SGE)(unsafe.Add(ring, uintptr(n)*unsafe.Sizeof(cverbs.RecvWR{}))), n*sges)
	for i := range wrs {
		wrs[i].SGList = &pieces[i*sges]
		if i+1 < n {
			wrs[i].Next = &wrs[i+1]
		}
	}
	return wrs, pieces
}

// Len returns how many receives are in the batch.
func (b *SRQRecvBatch) Len() int { return b.n }

// Room returns how many more receives fit before the queue is full.
func (b *SRQRecvBatch) Room() int {
	b.look()
	return max(0, b.room-b.n)
}

// look finds out how much has completed.
func (b *SRQRecvBatch) look() {
	inside := b.taken.load()
	for _, rec := range b.recs {
		inside -= atomic.LoadUint64(&rec.Completed)
	}
	b.room = min(int(b.depth.Load())-int(inside), len(b.wrs))
}

// Recv adds a receive into the local pieces, one after the other, as
// RecvBatch.Recv does.
func (b *SRQRecvBatch) Recv(id uint64, local ...SGE) {
	if b.srq == nil {
		b.fail(ErrClosed) // it was never made
		return
	}
	most := b.srq.opts.MaxSGE
	if len(local) > most {
		b.fail(fmt.Errorf("request %d has %d pieces: the queue was made for %d (MaxSGE)", id, len(local), most))
		return
	}
	if b.n >= b.room {
		b.look()
	}
	place := b.n
	if place >= b.room || !b.take(place, id) {
		b.full = true
		return
	}
	wr := &b.wrs[place]
	b.n++
	wr.NumSGE = int32(len(local))
	for i, s := range local {
		if s.Addr == badAddr {
			b.fail(fmt.Errorf("request %d: piece %d lies outside its memory region", id, i))
		}
		b.sges[place*most+i] = cverbs.SGE(s)
	}
}

// take reserves a slot for the receive at a place of the batch.
func (b *SRQRecvBatch) take(place int, id uint64) bool {
	for _, rec := range b.recs {
		if wrID, ok := rec.Take(id); ok {
			b.wrs[place].WRID, b.of[place] = wrID, rec
			return true
		}
	}
	return false
}

func (b *SRQRecvBatch) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// giveBack frees the slots of the batch from a place on.
func (b *SRQRecvBatch) giveBack(from, n int) {
	for i := from; i < n; i++ {
		b.of[i].GiveBack(b.wrs[i].WRID)
	}
}

// Post posts the batch, which is empty afterwards, and returns how many receives
// the device took, from the first. It treats wrong requests and a full queue as
// RecvBatch.Post does.
//
// Implements: ibv_post_srq_recv.
func (b *SRQRecvBatch) Post() (int, error) {
	const op = "post shared receive"
	if err := b.side.enter(); err != nil {
		return 0, b.srq.err(op, err)
	}
	n, full, err := b.n, b.full, b.err
	b.n, b.full, b.err = 0, false, nil
	posted := 0
	if err == nil && n > 0 {
		r := b.post(&b.wrs[0], n)
		posted, err = int(r.Posted), errnoOrNil(r.RC)
		b.taken.add(uint64(posted))
		b.room -= posted
	}
	b.giveBack(posted, n)
	b.side.exit()
	if err == nil && full {
		err = ErrRecvQueueFull
	}
	if err != nil {
		return posted, b.srq.err(op, err)
	}
	return posted, nil
}

// resize is Resize inside the guard.
func (b *SRQRecvBatch) resize(n int) error {
	if b.n > 0 {
		return fmt.Errorf("the batch has %d receives: post them first", b.n)
	}
	if err := b.grow(n); err != nil {
		return err
	}
	if err := b.srq.srq.Modify(&cverbs.SRQAttr{MaxWR: uint32(n)}, cverbs.IBV_SRQ_MAX_WR); err != nil {
		return err
	}
	b.depth.Store(uint32(n))
	b.look()
	return nil
}

func (b *SRQRecvBatch) stats() QueueStats {
	b.srq.mu.Lock()
	defer b.srq.mu.Unlock()
	s := QueueStats{Posted: b.taken.load()}
	for _, rec := range b.recs {
		s.Completed += atomic.LoadUint64(&rec.Completed)
		s.Failed += atomic.LoadUint64(&rec.Failed)
	}
	return s
}

// discard undoes init for a queue that was never handed out.
func (b *SRQRecvBatch) discard() {
	for _, rec := range b.recs {
		rec.Leave()
	}
	sharedRemains{b.recs, b.rings}.free()
}

// sharedRemains is what is left of a shared receive queue: C memory.
type sharedRemains struct {
	recs  []*cverbs.Queue
	rings []unsafe.Pointer
}

func (r sharedRemains) free() {
	for _, rec := range r.recs {
		rec.Free()
	}
	for _, ring := range r.rings {
		cverbs.Free(ring)
	}
}

// abandon ends the queue after it was destroyed. A goroutine may still be
// building a batch, and a poller may know a record.
func (b *SRQRecvBatch) abandon(cqs []*CQ) {
	for _, rec := range b.recs {
		rec.Leave()
	}
	type end struct {
		cqs []*CQ
		r   sharedRemains
	}
	runtime.AddCleanup(b.srq, func(e end) { afterPolls(e.cqs, e.r.free) }, end{cqs, sharedRemains{b.recs, b.rings}})
}
