package rdmacm

import (
	"github.com/gofabric/gofabric/verbs"
)

// reads are the RDMA reads and atomics that each direction may have under way.
type reads struct{ serve, start uint8 }

// reads returns what this end allows.
func (o EndpointOptions) reads(dev *verbs.Device) reads {
	attr := dev.Attributes()
	clamp := func(n int) uint8 { return uint8(max(0, min(n, int(orDefault(o.MaxReads, 255)), 255))) }
	return reads{serve: clamp(attr.MaxQPReads), start: clamp(attr.MaxQPInitReads)}
}

// initQP brings the queue pair to INIT on the connection's port and partition.
func (id *ID) initQP(qp *verbs.QP) error {
	state, err := qp.State()
	if err != nil {
		return err
	}
	if state == verbs.StateReset {
		if err := qp.Init(); err != nil {
			return err
		}
	}
	attr, _, err := id.InitQPAttr(verbs.StateInit)
	if err != nil {
		return err
	}
	mask := verbs.AttrState | verbs.AttrPKeyIndex | verbs.AttrPort
	if qp.Type() == verbs.UD {
		mask |= verbs.AttrQKey
	}
	// The rights of peers are those that the queue pair was made with.
	return qp.Modify(attr, mask)
}

// connectQP brings the queue pair from INIT to RTS, connected to the id's peer.
func (id *ID) connectQP(qp *verbs.QP, o EndpointOptions, r reads) error {
	attr, mask, err := id.InitQPAttr(verbs.StateRTR)
	if err != nil {
		return err
	}
	// The access that the kernel allows is everything; the program's stands.
	mask &^= verbs.AttrAccess
	attr.MaxDestReads = r.serve
	attr.MinRNRTimer = orDefault(o.MinRNRTimer, 12)
	if err := qp.Modify(attr, mask); err != nil {
		return err
	}
	if attr, mask, err = id.InitQPAttr(verbs.StateRTS); err != nil {
		return err
	}
	mask &^= verbs.AttrAccess
	attr.MaxReads = r.start
	attr.RetryCount = o.retries()
	attr.RNRRetry = o.rnrRetries()
	if o.Timeout != 0 {
		attr.Timeout = uint8(o.Timeout)
	}
	return qp.Modify(attr, mask)
}

func (o EndpointOptions) retries() uint8    { return orDefault(o.Retries, 6) }
func (o EndpointOptions) rnrRetries() uint8 { return orDefault(o.RNRRetries, verbs.InfiniteRNRRetry) }

func (o EndpointOptions) connParam(qp *verbs.QP, data []byte, r reads) ConnParam {
	return ConnParam{
		PrivateData: data, ResponderResources: r.serve, InitiatorDepth: r.start,
		RetryCount: o.retries(), RNRRetryCount: o.rnrRetries(), QPN: qp.Num(),
	}
}
