package verbs

import "sync/atomic"

// QueueStats counts what one queue did since it was made.
type QueueStats struct {
	Posted    uint64 // requests that the device took
	Completed uint64 // completions seen; unsignalled requests that succeed make none
	Failed    uint64 // those of them that failed, the flushed ones included
}

// QPStats counts what a queue pair did since it was made. With an SRQ, Recv is
// zero: SRQ.Stats has it.
type QPStats struct {
	Send, Recv QueueStats
}

// Stats returns the queue pair's counts. They are this process's own; reading
// them asks no device. It is safe beside posting and polling.
func (qp *QP) Stats() QPStats {
	if qp.obj.Use() != nil {
		return QPStats{}
	}
	defer qp.obj.Done()
	return QPStats{Send: qp.send.stats(), Recv: qp.recv.stats()}
}

func (q *queue) stats() QueueStats {
	s := QueueStats{
		Posted:    q.taken.load(),
		Completed: atomic.LoadUint64(&q.rec.Completed),
		Failed:    atomic.LoadUint64(&q.rec.Failed),
	}
	if q.rec.HasBeacon != 0 {
		s.Posted--
	}
	return s
}

// CQStats counts what a completion queue's polling did since it was made.
type CQStats struct {
	Completions uint64 // that were handed to the caller
	Polls       uint64 // crossings into C, a slice of Spin counting as one
	EmptyPolls  uint64 // those of them that found nothing
	Waits       uint64 // times that Wait went to sleep
	Events      uint64 // completion events that came
}

// Stats returns the queue's counts. It is safe beside polling.
func (cq *CQ) Stats() CQStats {
	s := CQStats{
		Completions: cq.counts.found.load(),
		Polls:       cq.counts.polls.load(),
		EmptyPolls:  cq.counts.empty.load(),
		Waits:       cq.counts.waits.load(),
	}
	if cq.events != nil {
		s.Events = cq.events.taken.Load()
	}
	return s
}

// cqCounts belongs to whoever is inside the CQ's guard.
type cqCounts struct{ polls, empty, found, waits counter }

func (c *cqCounts) polled(n int) {
	c.polls.add(1)
	if n == 0 {
		c.empty.add(1)
		return
	}
	c.found.add(uint64(n))
}

// DeviceStats counts what a device told since it was opened.
type DeviceStats struct {
	AsyncEvents uint64 // events that were not completions
	LostEvents  uint64 // those that an EventQueue had no room for, once for each
}

// Stats returns the device's counts.
func (d *Device) Stats() DeviceStats {
	if d.async == nil {
		return DeviceStats{} // it was never opened
	}
	return DeviceStats{AsyncEvents: d.async.taken.Load(), LostEvents: d.async.lost.Load()}
}
