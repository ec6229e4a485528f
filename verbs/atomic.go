package verbs

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// atomicLen is how many bytes atomics work on.
const atomicLen = 8

// CompareSwap adds an atomic request: if the 8 bytes of remote memory hold
// compare, they become swap. What they held before is stored in the local
// piece, in the byte order of this machine; so are compare and swap. Both places
// are 8 bytes, and the remote one is aligned to 8. How far it is atomic says
// DeviceAttr.AtomicCap of the peer's device.
//
// Implements: ibv_wr_atomic_cmp_swp.
func (b *SendBatch) CompareSwap(id uint64, remote RemoteBuffer, compare, swap uint64, local SGE) Request {
	return b.atomic(cverbs.IBV_WR_ATOMIC_CMP_AND_SWP, id, remote, compare, swap, local)
}

// FetchAdd adds an atomic request that adds to the 8 bytes of remote memory,
// and is otherwise as CompareSwap.
//
// Implements: ibv_wr_atomic_fetch_add.
func (b *SendBatch) FetchAdd(id uint64, remote RemoteBuffer, add uint64, local SGE) Request {
	return b.atomic(cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD, id, remote, add, 0, local)
}

func (b *SendBatch) atomic(op int32, id uint64, remote RemoteBuffer, compareAdd, swap uint64, local SGE) Request {
	r := b.add(op, id, anywhere, []SGE{local})
	if r.wr == &b.spare {
		return r
	}
	switch {
	case b.qp.pd.dev.attr.AtomicCap == AtomicNone:
		b.fail(fmt.Errorf("request %d: the device has no atomics: %w", id, ErrNotSupported))
	case local.Length != atomicLen:
		b.fail(fmt.Errorf("request %d: the local piece of an atomic has %d bytes: it needs %d", id, local.Length, atomicLen))
	case remote.Len < atomicLen:
		b.failRemote(id, remote, atomicLen)
	case remote.Addr%atomicLen != 0:
		b.fail(fmt.Errorf("request %d: the remote address 0x%x of an atomic is not a multiple of %d", id, remote.Addr, atomicLen))
	}
	r.wr.SetAtomic(remote.Addr, remote.RKey, compareAdd, swap)
	return r
}
