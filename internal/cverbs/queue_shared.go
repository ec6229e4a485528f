package cverbs

import (
	"sync/atomic"
	"unsafe"
)

// Take reserves a slot of a shared queue for a receive and returns the wr_id to
// post it with; false says that the queue is full. Take and GiveBack belong to
// the goroutine that posts; polling gives slots back from wherever it runs.
func (q *Queue) Take(id uint64) (wrID uint64, ok bool) {
	if q.Own == 0 {
		q.Own = atomic.SwapUint32(&q.Returned, 0)
		if q.Own == 0 {
			return 0, false
		}
	}
	slot := q.Own - 1
	q.Own = *q.next(slot)
	*(*uint64)(unsafe.Add(q.IDs, uintptr(slot)*8)) = id
	return q.Base | uint64(slot), true
}

// GiveBack undoes Take for a receive that the device did not take.
func (q *Queue) GiveBack(wrID uint64) {
	slot := uint32(wrID)
	*q.next(slot) = q.Own
	q.Own = slot + 1
}

func (q *Queue) next(slot uint32) *uint32 {
	return (*uint32)(unsafe.Add(q.Next, uintptr(slot)*4))
}
