package verbs

import (
	"fmt"
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
	rec   *cverbs.Queue
	ids   []uint64 // rec's ring of the caller's ids
	base  uint64   // rec's, the upper half of the device's ids
	tail  uint32   // sequence number of the next request to be posted
	depth uint32   // requests that may be in flight
	room  int      // requests that surely fit now, those of the batch included
	n     int      // requests in the batch
	err   error    // why the batch cannot be posted
	full  bool     // requests did not fit the batch
}

func (q *queue) init(qp *QP, cq *CQ, depth int) error {
	q.qp, q.cq, q.depth = qp, cq, uint32(depth)
	return q.newRecord()
}

// newRecord enters a fresh record: completions of an older one are dropped.
func (q *queue) newRecord() error {
	// One slot more: the beacon's.
	rec, err := cverbs.NewQueue(int(q.depth) + 1)
	if err != nil {
		return err
	}
	q.rec = rec
	q.ids = unsafe.Slice((*uint64)(rec.IDs), int(rec.Mask)+1)
	q.base, q.tail = rec.Base, 0
	q.room = int(q.depth)
	return nil
}

// outstanding is how many requests have not completed, as far as is known.
func (q *queue) outstanding() uint32 {
	return q.tail - atomic.LoadUint32(&q.rec.Head)
}

// fits reports whether one more request fits, looking at what has completed
// only when it must.
func (q *queue) fits() bool { return q.n < q.room || q.look() }

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
	q.ids[int(seq)&(len(q.ids)-1)] = id
	q.n++
	return q.base | uint64(seq)
}

// fill stores the pieces of a request and returns their bytes.
func (q *queue) fill(sges []cverbs.SGE, id uint64, local []SGE) (total uint64) {
	for i, s := range local {
		if s.Addr == badAddr {
			q.fail(fmt.Errorf("request %d: piece %d lies outside its memory region", id, i))
		}
		sges[i] = cverbs.SGE(s)
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

// clear empties the batch and returns what kept it from being posted.
func (q *queue) clear() error {
	err := q.err
	q.n, q.err, q.full = 0, nil, false
	return err
}

// account notes that the device took n requests.
func (q *queue) account(n int32) {
	q.tail += uint32(n)
	q.room -= int(n)
}

// flushed makes completions for what has not completed. The device does not
// work on it any more.
func (q *queue) flushed() []Completion {
	var list []Completion
	for seq := atomic.LoadUint32(&q.rec.Head); seq != q.tail; seq++ {
		if q.rec.HasBeacon != 0 && seq == q.rec.Beacon {
			continue
		}
		list = append(list, Completion{wc: cverbs.WC{
			WRID:   q.ids[int(seq)&(len(q.ids)-1)],
			Status: cverbs.IBV_WC_WR_FLUSH_ERR,
			QPNum:  q.qp.num,
		}})
	}
	return list
}

// restart begins anew after a reset; the caller is inside the guard.
func (q *queue) restart() error {
	old := q.rec
	list := q.flushed()
	if err := q.newRecord(); err != nil {
		return err
	}
	old.Free()
	_ = q.clear()
	q.cq.deliver(list)
	return nil
}

// abandon frees the record after the queue pair is destroyed.
func (q *queue) abandon() {
	list := q.flushed()
	q.freeRecord()
	q.cq.deliver(list)
}

func (q *queue) freeRecord() {
	if q.rec == nil {
		return
	}
	q.rec.Free()
	q.rec, q.ids = nil, nil
	q.n, q.room, q.err, q.full = 0, 0, nil, false
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
