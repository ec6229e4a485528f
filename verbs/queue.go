package verbs

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// queue is what both sides of a queue pair have in common: the guard, the
// record that polling keeps, and how many requests fit.
type queue struct {
	side  guard
	qp    *QP
	cq    *CQ
	ring  unsafe.Pointer // C memory of the requests
	rec   *cverbs.Queue
	ids   unsafe.Pointer // rec's ring of the caller's ids
	mask  uint32         // rec's: slots of that ring, less one
	base  uint64         // rec's: the upper half of the device's ids
	tail  uint32         // sequence number of the next request to be posted
	extra uint32         // beacons behind it; only whoever drains looks at them
	depth uint32         // requests that may be in flight

	maxSGE int   // pieces that a place has
	room   int   // requests that surely fit now, those of the batch included
	n      int   // requests in the batch
	err    error // why the batch cannot be posted
	full   bool  // requests did not fit the batch

	taken counter // requests that the device took, in all
}

// init enters the queue's record and allocates the ring of requests, of
// ringSize bytes.
func (q *queue) init(qp *QP, cq *CQ, depth, maxSGE int, ringSize uintptr) (ring unsafe.Pointer, err error) {
	q.qp, q.cq, q.depth, q.maxSGE = qp, cq, uint32(depth), maxSGE
	if q.ring = cverbs.Alloc(ringSize); q.ring == nil {
		return nil, syscall.ENOMEM
	}
	// One slot more: the beacon's.
	if q.rec, err = cverbs.NewQueue(depth + 1); err != nil {
		return nil, err
	}
	q.ids, q.mask, q.base = q.rec.IDs, q.rec.Mask, q.rec.Base
	q.room = depth
	q.side.open()
	return q.ring, nil
}

// discard undoes init for a queue pair that was never handed out.
func (q *queue) discard() {
	if q.rec != nil {
		q.rec.Leave()
		q.rec.Free()
	}
	cverbs.Free(q.ring)
}

// outstanding is how many requests have not completed, as far as is known. A
// provider may complete a request that it refused: that counts for nothing.
func (q *queue) outstanding() uint32 {
	return uint32(max(0, int32(q.tail-atomic.LoadUint32(&q.rec.Head))))
}

// pending is outstanding, the beacon included.
func (q *queue) pending() uint32 {
	return uint32(max(0, int32(q.tail+q.extra-atomic.LoadUint32(&q.rec.Head))))
}

// fits reports whether a request of so many pieces fits the queue and a place;
// option is what the latter was set by.
func (q *queue) fits(id uint64, pieces int, option string) bool {
	if q.n >= q.room && !q.look() {
		q.full = true
		return false
	}
	if pieces > q.maxSGE {
		q.fail(fmt.Errorf("request %d has %d pieces: the queue pair was made for %d (%s)", id, pieces, q.maxSGE, option))
		return false
	}
	return true
}

// look counts the room anew from what has completed, and reports whether one
// more request fits.
func (q *queue) look() bool {
	if q.rec == nil {
		return false
	}
	q.room = int(q.depth - q.outstanding())
	return q.n < q.room
}

// next takes the next place in the batch for the caller's id and returns the
// device's. There is room.
func (q *queue) next(id uint64) uint64 {
	seq := q.tail + uint32(q.n)
	*(*uint64)(unsafe.Add(q.ids, uintptr(seq&q.mask)*8)) = id
	q.n++
	return q.base | uint64(seq)
}

// fill stores the pieces of a request, no more than its place has, and returns
// their bytes.
func (q *queue) fill(place *cverbs.SGE, id uint64, local []SGE) (total uint64) {
	for i, s := range local {
		if s.Addr == badAddr {
			q.fail(fmt.Errorf("request %d: piece %d lies outside its memory region", id, i))
		}
		*(*SGE)(unsafe.Add(unsafe.Pointer(place), uintptr(i)*unsafe.Sizeof(s))) = s
		total += uint64(s.Length)
	}
	return total
}

// fail keeps the batch from being posted, for the first reason given.
func (q *queue) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// clear empties the batch and returns what keeps it from being posted; least is
// the state that the queue pair must have reached.
func (q *queue) clear(least QPState) error {
	err := q.err
	if err == nil && q.n > 0 {
		err = q.qp.needState(least)
	}
	q.n, q.err, q.full = 0, nil, false
	return err
}

// account notes that the device took n requests.
func (q *queue) account(n int32) {
	q.tail += uint32(n)
	q.room -= int(n)
	q.taken.add(uint64(n))
}

// flushed makes completions for what has not completed. The device does not
// work on it any more.
func (q *queue) flushed() []Completion {
	var list []Completion
	for seq := q.tail - q.outstanding(); seq != q.tail; seq++ {
		list = append(list, Completion{wc: cverbs.WC{
			WRID:   *(*uint64)(unsafe.Add(q.ids, uintptr(seq&q.mask)*8)),
			Status: cverbs.IBV_WC_WR_FLUSH_ERR,
			QPNum:  q.qp.num,
		}})
	}
	return list
}

// restart begins anew after a reset; the caller is inside the guard.
func (q *queue) restart() error {
	list := q.flushed()
	if err := q.rec.Renew(); err != nil {
		return err
	}
	q.rec.HasBeacon = 0
	q.base, q.tail, q.extra, q.room = q.rec.Base, 0, 0, int(q.depth)
	q.n, q.err, q.full = 0, nil, false
	q.cq.deliver(list)
	return nil
}

// abandon ends the queue after its queue pair is destroyed. A goroutine may
// still be building a batch, so the memory that it writes to stays until the
// queue pair is unreachable.
func (q *queue) abandon() {
	list := q.flushed()
	q.rec.Leave()
	runtime.AddCleanup(q.qp, func(r remains) { r.bury() }, remains{q.cq, q.rec, q.ring})
	q.cq.deliver(list)
}

// remains is what is left of a queue: C memory.
type remains struct {
	cq   *CQ
	rec  *cverbs.Queue
	ring unsafe.Pointer
}

func (r remains) bury() {
	if r.cq == nil {
		r.free() // nobody's polling knows it
		return
	}
	r.cq.bury(r.free)
}

func (r remains) free() {
	r.rec.Free()
	cverbs.Free(r.ring)
}

// setBeacon marks the next request as the one whose completion nobody sees.
func (q *queue) setBeacon() (wrID uint64) {
	q.rec.Beacon, q.rec.HasBeacon = q.tail, 1
	return q.base | uint64(q.tail)
}

func errnoOrNil(rc int32) error {
	if rc == 0 {
		return nil
	}
	return syscall.Errno(rc)
}
