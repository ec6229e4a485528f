package rdmacm

import (
	"context"
	"fmt"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/verbs"
)

// ConnParam are the parameters of a connection (struct rdma_conn_param).
type ConnParam struct {
	// PrivateData goes to the peer, padded with zeros.
	PrivateData []byte
	// ResponderResources and InitiatorDepth are how many RDMA reads and atomics
	// this end serves at once, and has under way at once.
	ResponderResources, InitiatorDepth uint8
	// RetryCount and RNRRetryCount are what the queue pairs of both ends do, up
	// to 7, as they stand: 7 of RNRRetryCount is for ever.
	RetryCount, RNRRetryCount uint8
	// QPN is the own queue pair, and SRQ whether it has a shared receive queue.
	QPN uint32
	SRQ bool
}

func (p *ConnParam) raw() crdmacm.ConnParam {
	return crdmacm.ConnParam{
		PrivateData: p.PrivateData, ResponderResources: p.ResponderResources, InitiatorDepth: p.InitiatorDepth,
		RetryCount: p.RetryCount, RNRRetryCount: p.RNRRetryCount, QPNum: p.QPN, SRQ: p.SRQ, FlowControl: true,
	}
}

// Connect asks the peer, to which the route was resolved, for a connection, and
// returns its answer: EventConnectResponse. The queue pair is then brought to RTS
// (InitQPAttr) and Establish tells the peer. In the port spaces of UD it asks
// for the peer's datagram service and returns EventEstablished, which names it.
//
// It fails with a *RejectError if the peer refuses, and with ErrUnreachable if
// it does not answer, which takes the kernel about a minute to know.
//
// Implements: rdma_connect.
func (id *ID) Connect(ctx context.Context, p ConnParam) (Event, error) {
	const op = "connect to"
	if err := id.begin(ctx); err != nil {
		return Event{}, id.err(op, err)
	}
	defer id.finish()
	if len(p.PrivateData) > crdmacm.PrivateMost {
		return Event{}, id.inUse(op, fmt.Errorf("%d bytes of private data: at most %d can be sent", len(p.PrivateData), crdmacm.PrivateMost))
	}
	if err := id.raw.Connect(p.raw()); err != nil {
		return Event{}, id.inUse(op, err)
	}
	ev, err := id.await(ctx, EventConnectResponse, EventEstablished, EventConnectError, EventUnreachable,
		EventRejected, EventDisconnected)
	return ev, id.inUse(op, err)
}

// Establish tells the peer that this end has taken its answer: the connection
// stands.
//
// Implements: rdma_establish.
func (id *ID) Establish() error { return id.call("establish connection to", crdmacm.ID.Establish) }

// Accept accepts the request that the id came with, and returns EventEstablished
// once the peer has taken the answer. In the port spaces of UD it returns at
// once, with the zero Event.
//
// Implements: rdma_accept.
func (id *ID) Accept(ctx context.Context, p ConnParam) (Event, error) {
	const op = "accept connection of"
	if err := id.begin(ctx); err != nil {
		return Event{}, id.err(op, err)
	}
	defer id.finish()
	if err := id.raw.Accept(p.raw()); err != nil {
		return Event{}, id.inUse(op, err)
	}
	if id.opts.PortSpace.datagrams() {
		return Event{}, nil
	}
	ev, err := id.await(ctx, EventEstablished, EventConnectError, EventUnreachable, EventRejected, EventDisconnected)
	return ev, id.inUse(op, err)
}

// Reject refuses the request that the id came with. data goes to the peer, as
// RejectError.Data.
//
// Implements: rdma_reject.
func (id *ID) Reject(data []byte) error {
	return id.call("reject connection of", func(raw crdmacm.ID) error { return raw.Reject(data, false) })
}

// RejectECE refuses the request because of the vendor options that came with it.
//
// Implements: rdma_reject_ece.
func (id *ID) RejectECE(data []byte) error {
	return id.call("reject connection of", func(raw crdmacm.ID) error { return raw.Reject(data, true) })
}

// Disconnect ends the connection, or answers the peer that ended it. It does not
// wait: Disconnected tells when the peer has answered, or the kernel has given
// up.
//
// Implements: rdma_disconnect.
func (id *ID) Disconnect() error { return id.call("disconnect from", crdmacm.ID.Disconnect) }

// Notify tells the connection manager of an asynchronous event of the queue
// pair: of EventCommEstablished, which means that the peer's last message of the
// connection's set-up was lost, but data came.
//
// Implements: rdma_notify.
func (id *ID) Notify(event verbs.EventType) error {
	return id.call("notify", func(raw crdmacm.ID) error { return raw.Notify(int32(event)) })
}

// WriteEvent puts an EventUser with arg on the id's channel; Next returns it. It
// fails with ErrNotSupported before rdma-core 60.
//
// Implements: rdma_write_cm_event.
func (id *ID) WriteEvent(status int, arg uint64) error {
	return id.call("write event", func(raw crdmacm.ID) error { return raw.WriteEvent(status, arg) })
}

// call does what the kernel answers at once.
func (id *ID) call(op string, do func(crdmacm.ID) error) error {
	if err := id.obj.Use(); err != nil {
		return id.err(op, err)
	}
	defer id.obj.Done()
	return id.inUse(op, do(id.raw))
}

// ECE are options that a vendor's devices agree on when a connection is made
// (enhanced connection establishment).
type ECE struct {
	VendorID uint32 // IEEE OUI
	Options  uint32
}

// SetECE sets the options that Connect or Accept offers.
//
// Implements: rdma_set_local_ece.
func (id *ID) SetECE(e ECE) error {
	return id.call("set vendor options", func(raw crdmacm.ID) error {
		return raw.SetECE(crdmacm.ECE{VendorID: e.VendorID, Options: e.Options})
	})
}

// RemoteECE returns the options that the peer offered; zero if it offered none.
//
// Implements: rdma_get_remote_ece.
func (id *ID) RemoteECE() (ECE, error) {
	var e ECE
	err := id.call("get vendor options", func(raw crdmacm.ID) error {
		r, err := raw.RemoteECE()
		e = ECE{VendorID: r.VendorID, Options: r.Options}
		return err
	})
	return e, err
}

// InitQPAttr returns the attributes that bring the connection's queue pair to a
// state, and which of them count, for QP.Modify.
//
// Implements: rdma_init_qp_attr.
func (id *ID) InitQPAttr(state verbs.QPState) (verbs.QPAttr, verbs.AttrMask, error) {
	const op = "get queue pair attributes"
	if err := id.obj.Use(); err != nil {
		return verbs.QPAttr{}, 0, id.err(op, err)
	}
	defer id.obj.Done()
	raw, mask, err := id.raw.InitQPAttr(int32(state))
	if err != nil {
		return verbs.QPAttr{}, 0, id.inUse(op, err)
	}
	// Kernels set bits of their own above those of libibverbs.
	const known = verbs.AttrDestQPN<<1 - 1
	return qpAttr(&raw), verbs.AttrMask(mask) & known, nil
}

func qpAttr(a *cverbs.QPAttr) verbs.QPAttr {
	return verbs.QPAttr{
		State: verbs.QPState(a.State), PathMTU: verbs.MTU(a.PathMTU), QKey: a.QKey,
		RQPSN: a.RQPSN, SQPSN: a.SQPSN, DestQPN: a.DestQPNum, Access: verbs.Access(a.AccessFlags),
		AV: addressVector(&a.AH), AltAV: addressVector(&a.AltAH),
		PKeyIndex: a.PKeyIndex, AltPKeyIndex: a.AltPKeyIndex, PathMigState: a.PathMigState,
		MaxReads: a.MaxRdAtomic, MaxDestReads: a.MaxDestRdAtomic, MinRNRTimer: a.MinRNRTimer,
		Port: a.PortNum, Timeout: a.Timeout, RetryCount: a.RetryCnt, RNRRetry: a.RNRRetry,
		AltPort: a.AltPortNum, AltTimeout: a.AltTimeout,
	}
}

func addressVector(a *cverbs.AHAttr) verbs.AddressVector {
	return verbs.AddressVector{
		DLID: a.DLID, ServiceLevel: a.SL, SrcPathBits: a.SrcPathBits, StaticRate: a.StaticRate, Port: a.PortNum,
		Global: a.IsGlobal != 0, DGID: a.DGID, FlowLabel: a.FlowLabel, SGIDIndex: a.SGIDIndex,
		HopLimit: a.HopLimit, TrafficClass: a.TrafficClass,
	}
}
