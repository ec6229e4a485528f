package verbs

import (
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// QPType is the transport service of a queue pair (enum ibv_qp_type).
type QPType int32

// Transport services. What they carry differs:
//
//	RC         sends, writes, reads and atomics; each is acknowledged, and retried
//	UC         sends and writes; what is lost is lost, and nobody is told
//	UD         sends of one packet, to any peer (SendBatch.SendTo); nobody is told
//	XRCSend    as RC, to any XRC SRQ behind the peer (Request.ToSRQ)
//	XRCRecv    the other end of XRCSend: it posts nothing (XRCD.CreateQP)
//	RawPacket  whole Ethernet frames; what arrives is what rules steer to it
const (
	RC        QPType = cverbs.IBV_QPT_RC         // reliable connection
	UC        QPType = cverbs.IBV_QPT_UC         // unreliable connection
	UD        QPType = cverbs.IBV_QPT_UD         // unreliable datagram
	XRCSend   QPType = cverbs.IBV_QPT_XRC_SEND   // extended reliable connection, initiator
	XRCRecv   QPType = cverbs.IBV_QPT_XRC_RECV   // extended reliable connection, target
	RawPacket QPType = cverbs.IBV_QPT_RAW_PACKET // Ethernet
)

// String names the service: RC, UC, UD, XRC_SEND, XRC_RECV or RAW_PACKET.
func (t QPType) String() string {
	switch t {
	case RC:
		return "RC"
	case UC:
		return "UC"
	case UD:
		return "UD"
	case XRCSend:
		return "XRC_SEND"
	case XRCRecv:
		return "XRC_RECV"
	case RawPacket:
		return "RAW_PACKET"
	}
	return fmt.Sprintf("QP type %d", int32(t))
}

// connects reports whether a queue pair of the type has one peer.
func (t QPType) connects() bool { return t != UD && t != RawPacket }

// sends reports whether the queue pair has a send queue.
func (o *QPOptions) sends() bool { return o.Type != XRCRecv && !o.spreads }

// receives reports whether the queue pair has a receive queue of its own.
func (o *QPOptions) receives() bool {
	return o.SRQ == nil && o.Type != XRCSend && o.Type != XRCRecv && !o.spreads
}

// cqs returns the queues that completions go to, each once: to be in use twice
// by one goroutine would meet a Close in between.
func (o *QPOptions) cqs() []*CQ {
	var list []*CQ
	if o.SendCQ != nil {
		list = append(list, o.SendCQ)
	}
	if o.RecvCQ != nil && o.RecvCQ != o.SendCQ {
		list = append(list, o.RecvCQ)
	}
	return list
}

func (o *QPOptions) checkCQs() error {
	switch {
	case o.Type == XRCSend:
		if o.SendCQ == nil || o.RecvCQ != nil || o.SRQ != nil {
			return fmt.Errorf("a queue pair of type %v needs a SendCQ, and takes no RecvCQ and no SRQ", o.Type)
		}
	case o.Type == XRCRecv || o.spreads:
		if o.SendCQ != nil || o.RecvCQ != nil || o.SRQ != nil {
			return errors.New("the queue pair posts nothing: it takes no CQs and no SRQ")
		}
	case o.SendCQ == nil || o.RecvCQ == nil:
		return errors.New("SendCQ and RecvCQ are needed")
	}
	return nil
}

// Requests by opcode, a bit each.
const (
	twoSided = 1<<cverbs.IBV_WR_SEND | 1<<cverbs.IBV_WR_SEND_WITH_IMM
	written  = 1<<cverbs.IBV_WR_RDMA_WRITE | 1<<cverbs.IBV_WR_RDMA_WRITE_WITH_IMM
	answered = 1<<cverbs.IBV_WR_RDMA_READ | 1<<cverbs.IBV_WR_ATOMIC_CMP_AND_SWP |
		1<<cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD
	keys = 1<<cverbs.IBV_WR_LOCAL_INV | 1<<cverbs.IBV_WR_BIND_MW
)

// requests returns the requests without an address that a service carries.
// Datagrams have one each.
func (t QPType) requests() uint32 {
	switch t {
	case RC, XRCSend:
		return twoSided | written | answered | keys | 1<<cverbs.IBV_WR_SEND_WITH_INV
	case UC:
		return twoSided | written | keys | 1<<cverbs.IBV_WR_SEND_WITH_INV
	case RawPacket:
		return 1<<cverbs.IBV_WR_SEND | 1<<cverbs.IBV_WR_TSO
	}
	return 0
}

// access is QPOptions.Access's default.
func (t QPType) access(attr *DeviceAttr) Access {
	switch t {
	case RC, XRCSend, XRCRecv:
		all := AccessLocalWrite | AccessRemoteWrite | AccessRemoteRead
		if attr.AtomicCap != AtomicNone {
			all |= AccessRemoteAtomic
		}
		return all
	case UC:
		return AccessLocalWrite | AccessRemoteWrite
	}
	return AccessLocalWrite
}

// refuse keeps the batch from being posted because of a request that the
// service does not carry, or that the queue pair was not made for.
func (b *SendBatch) refuse(op int32, id uint64) Request {
	if b.qp == nil {
		b.fail(ErrClosed) // it was never made
		return Request{b, &b.spare}
	}
	kind := b.qp.opts.Type
	switch {
	case kind == UD:
		b.fail(fmt.Errorf("request %d: a UD queue pair carries only what SendTo and SendImmTo add", id))
	case b.ex != nil && (kind.requests()|beyondClassic)>>uint(op)&1 != 0:
		b.fail(fmt.Errorf("request %d: the queue pair was made without %s (SendOps)", id, requestName(op)))
	case b.ex == nil && beyondClassic>>uint(op)&1 != 0:
		b.fail(fmt.Errorf("request %d: only a queue pair that was made for it (CreateQPEx, SendOps) carries %s: %w", id,
			requestName(op), ErrNotSupported))
	default:
		b.fail(fmt.Errorf("request %d: a queue pair of type %v carries no %s", id, kind, requestName(op)))
	}
	return Request{b, &b.spare}
}

func requestName(op int32) string {
	switch op {
	case cverbs.IBV_WR_SEND, cverbs.IBV_WR_SEND_WITH_IMM, cverbs.IBV_WR_SEND_WITH_INV:
		return "sends"
	case cverbs.IBV_WR_RDMA_WRITE, cverbs.IBV_WR_RDMA_WRITE_WITH_IMM:
		return "RDMA writes"
	case cverbs.IBV_WR_RDMA_READ:
		return "RDMA reads"
	case cverbs.IBV_WR_LOCAL_INV:
		return "invalidations"
	case cverbs.IBV_WR_BIND_MW:
		return "bindings of memory windows"
	case cverbs.IBV_WR_TSO:
		return "segmented messages"
	case cverbs.IBV_WR_FLUSH:
		return "flushes"
	case cverbs.IBV_WR_ATOMIC_WRITE:
		return "atomic writes"
	}
	return "atomics"
}
