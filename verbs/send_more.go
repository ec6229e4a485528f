package verbs

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// AtomicWrite adds a request that writes 8 bytes of remote memory, aligned to 8,
// at once: who reads them sees all of the value or nothing. The value is in the
// byte order of this machine. The queue pair must have been made for it
// (OpAtomicWrite, rdma-core 44).
//
// Implements: ibv_wr_atomic_write.
func (b *SendBatch) AtomicWrite(id uint64, remote RemoteBuffer, value uint64) Request {
	r := b.add(cverbs.IBV_WR_ATOMIC_WRITE, id, anywhere, nil)
	if r.wr == &b.spare {
		return r
	}
	switch {
	case remote.Len < atomicLen || remote.Addr == badAddr:
		b.failRemote(id, remote, atomicLen)
	case remote.Addr%atomicLen != 0:
		b.fail(fmt.Errorf("request %d: the remote address 0x%x of an atomic write is not a multiple of %d", id, remote.Addr, atomicLen))
	}
	r.wr.SetAtomic(remote.Addr, remote.RKey, value, 0)
	runtime.KeepAlive(b)
	return r
}

// FlushTypes says how far earlier writes have come when a flush completes (enum
// ibv_placement_type).
type FlushTypes uint8

// How far writes have come. Who owns the memory must have allowed it, in the
// region (AccessFlushGlobal, AccessFlushPersistent) and in the queue pair.
const (
	FlushGlobal     FlushTypes = cverbs.IBV_FLUSH_GLOBAL     // everybody sees them
	FlushPersistent FlushTypes = cverbs.IBV_FLUSH_PERSISTENT // they outlive a loss of power
)

// FlushLevel says which memory is flushed (enum ibv_selectivity_level).
type FlushLevel uint8

// Which memory is flushed.
const (
	FlushRange  FlushLevel = cverbs.IBV_FLUSH_RANGE // the remote buffer
	FlushRegion FlushLevel = cverbs.IBV_FLUSH_MR    // the whole region that it lies in
)

// Rights that let peers flush memory. Kernels before 6.2 do not know them.
const (
	AccessFlushGlobal     Access = cverbs.IBV_ACCESS_FLUSH_GLOBAL
	AccessFlushPersistent Access = cverbs.IBV_ACCESS_FLUSH_PERSISTENT
)

// Flush adds a request that completes when the writes before it have come as
// far as asked. The queue pair must have been made for it (OpFlush, rdma-core
// 45).
//
// Implements: ibv_wr_flush.
func (b *SendBatch) Flush(id uint64, remote RemoteBuffer, types FlushTypes, level FlushLevel) Request {
	r := b.add(cverbs.IBV_WR_FLUSH, id, anywhere, nil)
	if r.wr == &b.spare {
		return r
	}
	switch {
	case remote.Addr == badAddr || remote.Len > maxSGE:
		b.failRemote(id, remote, remote.Len)
	case types == 0 || types&^(FlushGlobal|FlushPersistent) != 0:
		b.fail(fmt.Errorf("request %d: flush types 0x%x: it takes FlushGlobal, FlushPersistent or both", id, uint8(types)))
	case level > FlushRegion:
		b.fail(fmt.Errorf("request %d: flush level %d: it is FlushRange or FlushRegion", id, level))
	}
	r.wr.SetFlush(remote.Addr, remote.RKey, remote.Len, uint8(types), uint8(level))
	runtime.KeepAlive(b)
	return r
}

// SendSegmented adds a message that the device cuts into frames of segment bytes
// each, and puts the header in front of every one. The queue pair must be of type
// RawPacket, and made for it (OpSegmentedSend, MaxTSOHeader).
//
// Implements: ibv_wr_send_tso.
func (b *SendBatch) SendSegmented(id uint64, header []byte, segment uint16, local ...SGE) Request {
	most := 0
	if b.ex != nil {
		most = b.ex.maxHeader
	}
	if b.carries>>cverbs.IBV_WR_TSO&1 != 0 && len(header) > most {
		b.fail(fmt.Errorf("request %d has a header of %d bytes: the queue pair was made for %d (MaxTSOHeader)", id, len(header), most))
		return Request{b, &b.spare}
	}
	place := b.n
	r := b.add(cverbs.IBV_WR_TSO, id, anywhere, local)
	if r.wr == &b.spare {
		return r
	}
	var at unsafe.Pointer
	if most > 0 {
		own := b.ex.headers[place*most : (place+1)*most]
		copy(own, header)
		at = unsafe.Pointer(unsafe.SliceData(own))
	}
	r.wr.SetTSO(at, uint16(len(header)), segment)
	runtime.KeepAlive(b)
	return r
}

// IPChecksum has the device fill in the checksums of a frame's IP and TCP or UDP
// headers.
func (r Request) IPChecksum() Request {
	r.wr.Flags |= cverbs.IBV_SEND_IP_CSUM
	runtime.KeepAlive(r.b)
	return r
}

// ToSRQ names the peer's shared receive queue (SRQ.Number) that the request of an
// XRC queue pair is for. Requests without data there need it too: it decides
// which memory they may reach.
//
// Implements: ibv_wr_set_xrc_srqn.
func (r Request) ToSRQ(number uint32) Request {
	if r.b.qp.opts.Type != XRCSend {
		r.b.fail(fmt.Errorf("a queue pair of type %v names no SRQ of its peer", r.b.qp.opts.Type))
	}
	r.wr.SetRemoteSRQN(number)
	runtime.KeepAlive(r.b)
	return r
}
