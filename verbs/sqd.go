package verbs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// drainQuery is how often a device is asked whether it has drained, in case it
// raises no event.
const drainQuery = 10 * time.Millisecond

// DrainSends brings the queue pair from RTS to SQD and waits until no request
// is under way: those that the device had begun are done, and it begins no
// other. Requests may still be posted; they wait for Resume. In SQD, attributes
// can be changed that cannot be changed in RTS. It returns the context's error
// when that ends while it waits; the queue pair is in SQD then too.
//
// Implements: ibv_modify_qp.
func (qp *QP) DrainSends(ctx context.Context) error {
	const op = "drain sends"
	if ctx == nil {
		return qp.err(op, errNoContext)
	}
	if err := ctx.Err(); err != nil {
		return qp.err(op, err)
	}
	select {
	case <-qp.happened.drained: // of an earlier time
	default:
	}
	err := qp.Modify(QPAttr{State: StateSQD, EnSQDAsyncNotify: true}, AttrState|AttrEnSQDAsyncNotify)
	if err != nil {
		return err
	}
	ask := time.NewTicker(drainQuery)
	defer ask.Stop()
	for {
		select {
		case <-qp.happened.drained:
			return nil
		case <-ctx.Done():
			return qp.err(op, ctx.Err())
		case <-ask.C:
		}
		attr, err := qp.Query(AttrState)
		switch {
		case err != nil:
			return err
		case attr.State == StateErr:
			return qp.err(op, errors.New("the queue pair is in state ERR"))
		case attr.State == StateSQD && !attr.SQDraining:
			return nil
		}
	}
}

// Resume brings the send queue back to RTS: from SQD after DrainSends, or from
// SQE, where a queue pair of type UC or UD goes when a send fails.
//
// Implements: ibv_modify_qp.
func (qp *QP) Resume() error {
	state, err := qp.State()
	if err != nil {
		return err
	}
	if state != StateSQD && state != StateSQE {
		return qp.err("resume QP", fmt.Errorf("the queue pair is in state %v: it resumes from SQD and SQE", state))
	}
	return qp.Modify(QPAttr{State: StateRTS, CurState: state}, AttrState|AttrCurState)
}
