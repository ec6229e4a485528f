package verbs

import (
	"time"

	"github.com/gofabric/gofabric/internal/cverbs"
)

const (
	// drainLimit bounds how long Close waits for the device to flush. Nothing
	// of the queue pair's own queues is lost after it: what is left is
	// delivered as flushed once the queue pair is destroyed.
	drainLimit = time.Second
	// lastReceiveGrace is how long a queue pair may go on completing receives
	// of its SRQ after it went to the error state, on a device that does not
	// tell when it has stopped.
	lastReceiveGrace = 10 * time.Millisecond
	drainPause       = 100 * time.Microsecond
)

// drain moves the queue pair to the error state and waits, within drainLimit,
// until every request has completed. Receives complete one by one; in the send
// queue a request posted last, the beacon, marks the end of those that make no
// completion.
func (qp *QP) drain() {
	own := qp.send.outstanding() > 0 || qp.recv.outstanding() > 0
	if !own && !qp.takesShared() {
		return
	}
	attr := cverbs.QPAttr{State: int32(StateErr)}
	if qp.qp.Modify(&attr, uint32(AttrState)) != nil {
		return
	}
	end := time.Now().Add(drainLimit)
	if own {
		qp.drainOwn(end)
	}
	if qp.takesShared() {
		qp.drainShared(end)
	}
}

func (qp *QP) drainOwn(end time.Time) {
	// What has completed makes room on the CQs for what is flushed.
	qp.drainCQs()
	if qp.send.drained() && qp.recv.drained() {
		return
	}
	qp.send.postBeacon()
	for ; time.Now().Before(end); time.Sleep(drainPause) {
		qp.drainCQs()
		if qp.send.drained() && qp.recv.drained() {
			return
		}
	}
	logWarn("the device did not flush a QP in time", "device", qp.pd.dev.name, "qpn", qp.num,
		"sends", qp.send.outstanding(), "receives", qp.recv.outstanding())
}

func (qp *QP) drainCQs() {
	for _, cq := range qp.opts.cqs() {
		cq.drain()
	}
}

// drained reports whether every request has completed, or cannot be seen to: a
// CQ that overflowed has lost completions for good.
func (q *queue) drained() bool { return q.pending() == 0 || q.cq.overflown.Load() }

// takesShared reports whether the queue pair may have taken receives of an SRQ.
func (qp *QP) takesShared() bool {
	return qp.opts.SRQ != nil && QPState(qp.state.Load()) >= StateRTR
}

// drainShared waits until a queue pair in the error state has completed what it
// took from its SRQ, and takes that off the CQ: destroying a queue pair drops
// what it has there. What it did not take stays in the SRQ.
func (qp *QP) drainShared(end time.Time) {
	grace := time.Now().Add(lastReceiveGrace)
	for !qp.happened.lastReceive.Load() && time.Now().Before(grace) {
		time.Sleep(drainPause)
	}
	qp.opts.RecvCQ.settle(end)
}

// settle waits, until end, for everything that is on the queue now to be taken
// off: by itself, or by the goroutine that polls.
func (cq *CQ) settle(end time.Time) {
	// An empty poll may have begun before; the next one has not.
	enough := cq.counts.empty.load() + 2
	for !cq.drain() && cq.counts.empty.load() < enough && time.Now().Before(end) {
		if cq.events != nil {
			cq.events.wakeUp()
		}
		time.Sleep(drainPause)
	}
}
