package verbs

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// SendBatch collects requests for a queue pair's send queue and posts them in
// one crossing into C. It is the send side of its queue pair and belongs to one
// goroutine at a time.
//
// Each request is signalled unless Request.Unsignaled is called: it makes a
// completion. At least one request in as many as the queue holds must be
// signalled, because only a completion frees places.
type SendBatch struct {
	queue
	carries uint32 // requests that add takes, a bit an opcode

	wrs   []cverbs.SendWR // one a place, chained in order
	sges  []cverbs.SGE    // MaxSendSGE a place
	spare cverbs.SendWR   // takes what does not fit

	targets []*AddressHandle // of datagrams, one a place; nil but on UD
	ex      *builders        // nil where requests are posted in the classic form

	binds     []pendingBind  // of the requests in the batch
	bindsHeld []*life.Object // theirs, while they are posted
}

// Request is a request in a batch. Its methods change it until Post.
type Request struct {
	b  *SendBatch // keeps the memory that wr lies in
	wr *cverbs.SendWR
}

// SendBatch returns the queue pair's batch. There is one: requests added and
// not posted are still in it.
func (qp *QP) SendBatch() *SendBatch { return &qp.send }

func (b *SendBatch) init(qp *QP) error {
	n, sges := qp.opts.MaxSend, qp.opts.MaxSendSGE
	size := unsafe.Sizeof(cverbs.SendWR{})*uintptr(n) + unsafe.Sizeof(cverbs.SGE{})*uintptr(n*sges)
	headers := 0
	if b.ex != nil {
		headers = b.ex.maxHeader * n
	}
	ring, err := b.queue.init(qp, qp.opts.SendCQ, n, sges, max(size+uintptr(headers), 1))
	if err != nil {
		return err
	}
	b.carries = qp.opts.Type.requests()
	if b.ex != nil {
		b.ex.headers = unsafe.Slice((*byte)(unsafe.Add(ring, size)), headers)
		b.carries = b.carries&b.ex.ops.requests() | beyondClassic&b.ex.ops.requests()
	}
	if qp.opts.Type == UD {
		b.targets = make([]*AddressHandle, n)
	}
	b.wrs = unsafe.Slice((*cverbs.SendWR)(ring), n)
	b.sges = unsafe.Slice((*cverbs.SGE)(unsafe.Add(ring, uintptr(n)*unsafe.Sizeof(cverbs.SendWR{}))), n*sges)
	for i := range b.wrs {
		b.wrs[i].SGList = &b.sges[i*sges]
		if i+1 < n {
			b.wrs[i].Next = &b.wrs[i+1]
		}
	}
	return nil
}

// Len returns how many requests are in the batch.
func (b *SendBatch) Len() int { return b.n }

// Room returns how many more requests fit before the send queue is full.
func (b *SendBatch) Room() int {
	b.look()
	return b.room - b.n
}

// Write adds an RDMA write of the local pieces, one after the other, to remote
// memory.
//
// Implements: ibv_wr_rdma_write.
func (b *SendBatch) Write(id uint64, remote RemoteBuffer, local ...SGE) Request {
	return b.add(cverbs.IBV_WR_RDMA_WRITE, id, remote, local)
}

// WriteImm adds an RDMA write that also completes a receive of the peer, which
// gets imm.
//
// Implements: ibv_wr_rdma_write_imm.
func (b *SendBatch) WriteImm(id uint64, imm uint32, remote RemoteBuffer, local ...SGE) Request {
	r := b.add(cverbs.IBV_WR_RDMA_WRITE_WITH_IMM, id, remote, local)
	r.wr.Imm = swap32(imm)
	runtime.KeepAlive(b)
	return r
}

// Read adds an RDMA read of remote memory into the local pieces, one after the
// other. They need AccessLocalWrite.
//
// Implements: ibv_wr_rdma_read.
func (b *SendBatch) Read(id uint64, remote RemoteBuffer, local ...SGE) Request {
	return b.add(cverbs.IBV_WR_RDMA_READ, id, remote, local)
}

// anywhere is the remote buffer of a request that has none.
var anywhere = RemoteBuffer{Len: math.MaxUint64}

// Send adds a message of the local pieces, one after the other. It fills a
// receive of the peer.
//
// Implements: ibv_wr_send.
func (b *SendBatch) Send(id uint64, local ...SGE) Request {
	return b.add(cverbs.IBV_WR_SEND, id, anywhere, local)
}

// SendImm adds a message whose receive gets imm too.
//
// Implements: ibv_wr_send_imm.
func (b *SendBatch) SendImm(id uint64, imm uint32, local ...SGE) Request {
	r := b.add(cverbs.IBV_WR_SEND_WITH_IMM, id, anywhere, local)
	r.wr.Imm = swap32(imm)
	runtime.KeepAlive(b)
	return r
}

// add stores a request in the batch's next place. The common case, one piece
// that is right, makes no call and keeps everything in registers.
func (b *SendBatch) add(op int32, id uint64, remote RemoteBuffer, local []SGE) Request {
	if b.n < b.room && b.carries>>uint(op)&1 != 0 && len(local) == 1 && local[0].Addr != badAddr &&
		uint64(local[0].Length) <= remote.Len && remote.Addr != badAddr {
		wr := b.place(op, id, remote, 1)
		*(*SGE)(unsafe.Pointer(wr.SGList)) = local[0]
		runtime.KeepAlive(b) // and with it the memory that wr lies in
		return Request{b, wr}
	}
	return b.addCarefully(op, id, remote, local)
}

// addCarefully is add for every case.
func (b *SendBatch) addCarefully(op int32, id uint64, remote RemoteBuffer, local []SGE) Request {
	if b.carries>>uint(op)&1 == 0 {
		return b.refuse(op, id)
	}
	if !b.fits(id, len(local), "MaxSendSGE") {
		return Request{b, &b.spare}
	}
	wr := b.place(op, id, remote, len(local))
	if total := b.fill(wr.SGList, id, local); total > remote.Len || remote.Addr == badAddr {
		b.failRemote(id, remote, total)
	}
	runtime.KeepAlive(b)
	return Request{b, wr}
}

// place takes the batch's next place, which there is, and writes those of its
// fields that can have changed.
func (b *SendBatch) place(op int32, id uint64, remote RemoteBuffer, pieces int) *cverbs.SendWR {
	wr := &b.wrs[b.n]
	wr.WRID = b.next(id)
	wr.NumSGE, wr.Opcode = int32(pieces), op
	wr.Flags = cverbs.IBV_SEND_SIGNALED
	wr.RemoteAddr, wr.RKey = remote.Addr, remote.RKey
	return wr
}

func (b *SendBatch) failRemote(id uint64, remote RemoteBuffer, total uint64) {
	if remote.Addr == badAddr {
		b.fail(fmt.Errorf("request %d: the remote piece lies outside its buffer", id))
		return
	}
	b.fail(fmt.Errorf("request %d moves %d bytes: the remote buffer has %d", id, total, remote.Len))
}

// Unsignaled keeps the request from making a completion if it succeeds.
func (r Request) Unsignaled() Request {
	r.wr.Flags &^= cverbs.IBV_SEND_SIGNALED
	runtime.KeepAlive(r.b)
	return r
}

// Fence holds the request back until the RDMA reads before it are done.
func (r Request) Fence() Request {
	r.wr.Flags |= cverbs.IBV_SEND_FENCE
	runtime.KeepAlive(r.b)
	return r
}

// Solicited wakes a peer that waits on a CQ with SolicitedOnly.
func (r Request) Solicited() Request {
	r.wr.Flags |= cverbs.IBV_SEND_SOLICITED
	runtime.KeepAlive(r.b)
	return r
}

// Inline copies the data when the request is posted: the memory may be changed
// at once, and need not be registered. The queue pair must have been made for
// so many bytes (MaxInline). Reads and atomics cannot be inline, nor
// can memory that this process does not see (MR.Bytes is nil).
//
// Implements: ibv_wr_set_inline_data, ibv_wr_set_inline_data_list.
func (r Request) Inline() Request {
	if r.wr == &r.b.spare || r.wr.Flags&cverbs.IBV_SEND_INLINE != 0 {
		return r
	}
	var total int
	pieces := unsafe.Slice(r.wr.SGList, r.wr.NumSGE)
	for i := range pieces {
		total += int(pieces[i].Length)
		if err := r.b.qp.pd.dev.elsewhere.bring(&pieces[i]); err != nil {
			r.b.fail(err)
		}
	}
	if most := r.b.qp.opts.MaxInline; total > most {
		r.b.fail(fmt.Errorf("a request of %d bytes cannot be inline: the queue pair was made for %d (MaxInline)", total, most))
	}
	if answered>>uint(r.wr.Opcode)&1 != 0 {
		r.b.fail(errors.New("an RDMA read or an atomic cannot be inline: it brings data"))
	}
	if keys>>uint(r.wr.Opcode)&1 != 0 {
		r.b.fail(errors.New("what changes a key cannot be inline: it has no data"))
	}
	if beyondClassic>>uint(r.wr.Opcode)&1 != 0 {
		r.b.fail(errors.New("a flush or an atomic write cannot be inline: it has no pieces"))
	}
	r.wr.Flags |= cverbs.IBV_SEND_INLINE
	runtime.KeepAlive(r.b)
	return r
}

// Post posts the batch, which is empty afterwards, and returns how many requests
// the device took, from the first.
//
// A request that is wrong in itself keeps the whole batch from being posted. If
// not all requests fitted the queue, those that did are posted and the error is
// ErrSendQueueFull: poll, and add the others again.
//
// On a queue pair with builders (CreateQPEx, SendOps) the device takes all
// requests or none.
//
// Implements: ibv_post_send, ibv_wr_start, ibv_wr_complete, ibv_wr_set_sge,
// ibv_wr_set_sge_list.
func (b *SendBatch) Post() (int, error) {
	if err := b.side.enter(); err != nil {
		return 0, b.qp.err("post send", err)
	}
	n, full := b.n, b.full
	err := b.clear(StateRTS)
	if err == nil {
		err = b.hold(n)
	}
	if err != nil || n == 0 {
		b.settleBinds(0)
		b.side.exit()
		return 0, b.posted(err, full)
	}
	r := b.cross(n)
	b.side.exit()
	return int(r.Posted), b.posted(errnoOrNil(r.RC), full)
}

// cross hands the first n requests to the device.
func (b *SendBatch) cross(n int) (r cverbs.Posted) {
	if b.ex != nil {
		r = b.ex.qp.PostSend(&b.wrs[0], n, b.ex.detours)
	} else {
		r = b.qp.qp.PostSend(&b.wrs[0], n)
	}
	b.release(n)
	b.account(r.Posted)
	return r
}

func (b *SendBatch) posted(err error, full bool) error {
	if err == nil && full {
		err = ErrSendQueueFull
	}
	if err == nil {
		return nil
	}
	return b.qp.err("post send", err)
}

// PostAndPoll posts the batch as Post does and then polls the send CQ into dst,
// in one crossing. It returns how many requests were posted and how many
// completions stored. It needs the CQ's polling side too.
//
// Implements: ibv_post_send, ibv_poll_cq.
func (b *SendBatch) PostAndPoll(dst []Completion) (posted, polled int, err error) {
	if err := b.side.enter(); err != nil {
		return 0, 0, b.qp.err("post send", err)
	}
	if b.cq == nil {
		b.side.exit()
		return 0, 0, b.qp.err("post send", errors.New("the queue pair has no send queue"))
	}
	if err := b.cq.side.enter(); err != nil {
		b.side.exit()
		return 0, 0, b.cq.err("poll CQ", err)
	}
	posted, polled, err = b.postAndPoll(dst)
	b.cq.side.exit()
	b.side.exit()
	return posted, polled, err
}

func (b *SendBatch) postAndPoll(dst []Completion) (posted, polled int, err error) {
	n, full := b.n, b.full
	err = b.clear(StateRTS)
	if err == nil {
		err = b.hold(n)
	}
	if err != nil {
		b.settleBinds(0)
		return 0, 0, b.posted(err, full)
	}
	if b.ex != nil || b.cq.ex != nil {
		return b.postThenPoll(n, full, dst)
	}
	var wr *cverbs.SendWR
	if n > 0 {
		wr = &b.wrs[0]
	}
	var wc *cverbs.WC
	entries := len(dst)
	if polled = b.cq.stash.take(dst); polled > 0 {
		entries = 0
	}
	if entries > 0 {
		wc = &dst[0].wc
	}
	r := b.qp.qp.PostAndPoll(wr, n, b.cq.cq, wc, entries)
	b.release(n)
	b.account(r.Posted)
	b.cq.counts.polled(polled + int(r.Polled))
	err = b.posted(errnoOrNil(r.RC), full)
	if r.PollRC != 0 {
		err = errors.Join(err, b.cq.err("poll CQ", syscall.Errno(r.PollRC)))
	}
	return int(r.Posted), polled + int(r.Polled), err
}

// postThenPoll is postAndPoll in two crossings, where one does not serve.
func (b *SendBatch) postThenPoll(n int, full bool, dst []Completion) (posted, polled int, err error) {
	var r cverbs.Posted
	if n > 0 {
		r = b.cross(n)
	}
	polled, perr := b.cq.poll(dst)
	return int(r.Posted), polled, errors.Join(b.posted(errnoOrNil(r.RC), full), perr)
}

// postBeacon posts the request that marks the end of the flushing. Its memory
// is the batch's first place, which closing no longer needs.
func (b *SendBatch) postBeacon() {
	if b.outstanding() == 0 {
		return
	}
	wr := &b.wrs[0]
	if b.targets != nil {
		// Providers look at a datagram's address even if it is only to be flushed.
		av := b.qp.route(Endpoint{LID: b.qp.port.LID, GID: b.qp.gid.GID}, ConnectOptions{HopLimit: 1})
		raw := av.raw()
		ah, err := b.qp.pd.pd.CreateAH(&raw)
		if err != nil {
			return
		}
		wr.SetUD(ah, b.qp.num, b.qp.opts.QKey)
		// Nothing is to be done about a handle that stays.
		defer func() { _ = ah.Destroy() }()
	}
	wr.WRID = b.setBeacon()
	wr.Opcode, wr.Flags, wr.NumSGE = cverbs.IBV_WR_SEND, cverbs.IBV_SEND_SIGNALED, 0
	b.extra = uint32(b.qp.qp.PostSend(wr, 1).Posted)
}
