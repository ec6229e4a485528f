package verbs

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// QPType is the transport service of a queue pair (enum ibv_qp_type).
type QPType int32

// Transport services. What they carry differs:
//
//	RC  sends, writes, reads and atomics; each is acknowledged, and retried
//	UC  sends and writes; what is lost is lost, and nobody is told
//	UD  sends of one packet, to any peer (SendBatch.SendTo); nobody is told
const (
	RC QPType = cverbs.IBV_QPT_RC // reliable connection
	UC QPType = cverbs.IBV_QPT_UC // unreliable connection
	UD QPType = cverbs.IBV_QPT_UD // unreliable datagram
)

// String names the service: RC, UC or UD.
func (t QPType) String() string {
	switch t {
	case RC:
		return "RC"
	case UC:
		return "UC"
	case UD:
		return "UD"
	}
	return fmt.Sprintf("QP type %d", int32(t))
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
	case RC:
		return twoSided | written | answered | keys | 1<<cverbs.IBV_WR_SEND_WITH_INV
	case UC:
		return twoSided | written | keys | 1<<cverbs.IBV_WR_SEND_WITH_INV
	}
	return 0
}

// access is QPOptions.Access's default.
func (t QPType) access(attr *DeviceAttr) Access {
	switch t {
	case RC:
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
// service does not carry.
func (b *SendBatch) refuse(op int32, id uint64) Request {
	if b.qp.opts.Type == UD {
		b.fail(fmt.Errorf("request %d: a UD queue pair carries only what SendTo and SendImmTo add", id))
	} else {
		b.fail(fmt.Errorf("request %d: a queue pair of type %v carries no %s", id, b.qp.opts.Type, requestName(op)))
	}
	return Request{b, &b.spare}
}

func requestName(op int32) string {
	if op == cverbs.IBV_WR_RDMA_READ {
		return "RDMA reads"
	}
	return "atomics"
}
