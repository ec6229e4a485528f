//go:build linux && cgo

package loopdev_test

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/stretchr/testify/require"
)

// deviceNumber makes every test's devices its own: loop0 is left to the tests
// that are about it.
var deviceNumber atomic.Int32

// addDevice makes a device that goes when the test ends.
func addDevice(t testing.TB, o loopdev.DeviceOptions) string {
	t.Helper()
	for {
		o.Name = fmt.Sprintf("loop%d", 1+deviceNumber.Add(1)%255)
		err := loopdev.AddDevice(o)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, syscall.EEXIST)
	}
	t.Cleanup(func() { _ = loopdev.RemoveDevice(o.Name) })
	return o.Name
}

func openDevice(t testing.TB, name string) cverbs.Context {
	t.Helper()
	ctx, err := cverbs.OpenDevice(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ctx.Close()) })
	require.NoError(t, syscall.SetNonblock(ctx.AsyncFD(), true))
	return ctx
}

// endOptions describes an end; zero values are RC, 16 requests, 4 pieces, all
// rights and CQs of 64.
type endOptions struct {
	kind      int32
	sendWR    uint32
	recvWR    uint32
	inline    uint32
	cqe       int
	signalAll bool
	channel   bool
	srq       *sharedQueue
	access    *uint32 // of the queue pair
	memAccess *uint32
	port      uint8
	size      int
	device    string // a device of its own by default
	ctx       *cverbs.Context
	pd        *cverbs.PD
}

// end is a queue pair with what it needs, on a device of its own or a shared one.
type end struct {
	t       testing.TB
	device  string
	ctx     cverbs.Context
	pd      cverbs.PD
	channel cverbs.Channel
	send    cverbs.CQ
	recv    cverbs.CQ
	qp      cverbs.QP
	kind    int32
	port    uint8
	access  uint32
	caps    cverbs.QPCap
	sq, rq  *cverbs.Queue
	sqTail  uint32 // sequence numbers of the next requests
	rqTail  uint32
	srq     *sharedQueue
	mem     []byte
	mr      cverbs.MR
	lkey    uint32
	rkey    uint32
	wrs     unsafe.Pointer
	handles []cverbs.AH
	gone    bool
}

const allAccess = cverbs.IBV_ACCESS_LOCAL_WRITE | cverbs.IBV_ACCESS_REMOTE_WRITE |
	cverbs.IBV_ACCESS_REMOTE_READ | cverbs.IBV_ACCESS_REMOTE_ATOMIC

func u32(v uint32) *uint32 { return &v }

func newEnd(t testing.TB, o endOptions) *end {
	t.Helper()
	e := &end{t: t, device: o.device, kind: o.kind, port: max(o.port, 1), srq: o.srq}
	if e.kind == 0 {
		e.kind = cverbs.IBV_QPT_RC
	}
	switch {
	case o.srq != nil:
		e.ctx, e.pd, e.device = o.srq.ctx, o.srq.pd, o.srq.device
	case o.ctx != nil:
		e.ctx = *o.ctx
	default:
		if e.device == "" {
			e.device = addDevice(t, loopdev.DeviceOptions{})
		}
		e.ctx = openDevice(t, e.device)
	}
	var err error
	if o.srq == nil {
		if o.pd != nil {
			e.pd = *o.pd
		} else {
			e.pd, err = e.ctx.AllocPD()
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, e.pd.Dealloc()) })
		}
	}
	e.mem, e.mr = newMemory(t, e.pd, max(o.size, 4096), o.memAccess)
	e.lkey, e.rkey = e.mr.Keys()
	if o.channel {
		e.channel, err = e.ctx.CreateChannel()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.channel.Destroy()) })
		require.NoError(t, syscall.SetNonblock(e.channel.FD(), true))
	}
	cqe := o.cqe
	if cqe == 0 {
		cqe = 64
	}
	for _, cq := range []*cverbs.CQ{&e.send, &e.recv} {
		*cq, err = e.ctx.CreateCQ(cqe, e.channel, 0)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, cq.Destroy()) })
	}
	e.caps = cverbs.QPCap{MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 4, MaxRecvSGE: 4, MaxInlineData: o.inline}
	if o.sendWR != 0 {
		e.caps.MaxSendWR = o.sendWR
	}
	if o.recvWR != 0 {
		e.caps.MaxRecvWR = o.recvWR
	}
	srq := cverbs.SRQ{}
	if o.srq != nil {
		srq = o.srq.srq
	}
	e.qp, err = e.pd.CreateQPOn(srq, e.send, e.recv, e.kind, &e.caps, o.signalAll)
	require.NoError(t, err)
	e.access = allAccess
	if o.access != nil {
		e.access = *o.access
	}
	e.sq, err = cverbs.NewQueue(1024)
	require.NoError(t, err)
	e.rq, err = cverbs.NewQueue(1024)
	require.NoError(t, err)
	e.wrs = cverbs.Alloc(1 << 14)
	t.Cleanup(func() {
		e.destroyQP()
		for _, q := range []*cverbs.Queue{e.sq, e.rq} {
			q.Leave()
			q.Free()
		}
		cverbs.Free(e.wrs)
	})
	return e
}

func (e *end) destroyQP() {
	if e.gone {
		return
	}
	e.gone = true
	e.drainAsync()
	for _, ah := range e.handles {
		require.NoError(e.t, ah.Destroy())
	}
	require.NoError(e.t, e.qp.Destroy())
}

// newMemory makes registered C memory.
func newMemory(t testing.TB, pd cverbs.PD, size int, access *uint32) ([]byte, cverbs.MR) {
	t.Helper()
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	rights := uint32(allAccess)
	if access != nil {
		rights = *access
	}
	mr, err := pd.RegMR(unsafe.Pointer(&mem[0]), size, rights)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, mr.Dereg())
		require.NoError(t, syscall.Munmap(mem))
	})
	return mem, mr
}

func (e *end) addr(off int) uint64 { return uint64(uintptr(unsafe.Pointer(&e.mem[off]))) }

func (e *end) sge(off, n int) cverbs.SGE {
	return cverbs.SGE{Addr: e.addr(off), Length: uint32(n), LKey: e.lkey}
}

// work is one send request.
type work struct {
	id                   uint64
	op                   int32
	flags                uint32
	sges                 []cverbs.SGE
	remote               uint64
	rkey                 uint32
	imm                  uint32
	compareAdd, swap     uint64
	ah                   cverbs.AH
	remoteQPN, remoteKey uint32
}

const signaled = cverbs.IBV_SEND_SIGNALED

const (
	wrStride  = 1024
	sgeOffset = 512
)

// build chains requests into C memory.
func (e *end) build(ws []work) *cverbs.SendWR {
	require.LessOrEqual(e.t, len(ws)*wrStride, 1<<14)
	return e.buildAt(e.wrs, ws)
}

func (e *end) buildAt(mem unsafe.Pointer, ws []work) *cverbs.SendWR {
	sendWRs := unsafe.Slice((*cverbs.SendWR)(mem), len(ws))
	sges := unsafe.Add(mem, len(ws)*int(unsafe.Sizeof(cverbs.SendWR{})))
	for i, w := range ws {
		wr := &sendWRs[i]
		*wr = cverbs.SendWR{Opcode: w.op, Flags: w.flags, Imm: w.imm, RemoteAddr: w.remote, RKey: w.rkey}
		if w.op >= cverbs.IBV_WR_ATOMIC_CMP_AND_SWP {
			wr.SetAtomic(w.remote, w.rkey, w.compareAdd, w.swap)
		}
		if e.kind == cverbs.IBV_QPT_UD {
			wr.SetUD(w.ah, w.remoteQPN, w.remoteKey)
		}
		seq := e.sqTail + uint32(i)
		*(*uint64)(unsafe.Add(e.sq.IDs, uintptr(seq&e.sq.Mask)*8)) = w.id
		wr.WRID = e.sq.Base | uint64(seq)
		wr.NumSGE = int32(len(w.sges))
		wr.SGList = (*cverbs.SGE)(sges)
		copy(unsafe.Slice(wr.SGList, len(w.sges)), w.sges)
		sges = unsafe.Add(sges, len(w.sges)*int(unsafe.Sizeof(cverbs.SGE{})))
		if i+1 < len(ws) {
			wr.Next = &sendWRs[i+1]
		}
	}
	return &sendWRs[0]
}

// tryPost posts requests and returns how many the device took.
func (e *end) tryPost(ws ...work) (int, error) {
	r := e.qp.PostSend(e.build(ws), len(ws))
	e.sqTail += uint32(r.Posted)
	if r.RC != 0 {
		return int(r.Posted), syscall.Errno(r.RC)
	}
	return int(r.Posted), nil
}

func (e *end) post(ws ...work) {
	e.t.Helper()
	n, err := e.tryPost(ws...)
	require.NoError(e.t, err)
	require.Equal(e.t, len(ws), n)
}

func (e *end) buildRecv(id uint64, sges []cverbs.SGE) *cverbs.RecvWR {
	wr := (*cverbs.RecvWR)(e.wrs)
	*wr = cverbs.RecvWR{NumSGE: int32(len(sges)), SGList: (*cverbs.SGE)(unsafe.Add(e.wrs, sgeOffset))}
	copy(unsafe.Slice(wr.SGList, len(sges)), sges)
	*(*uint64)(unsafe.Add(e.rq.IDs, uintptr(e.rqTail&e.rq.Mask)*8)) = id
	wr.WRID = e.rq.Base | uint64(e.rqTail)
	return wr
}

func (e *end) tryReceive(id uint64, sges ...cverbs.SGE) error {
	r := e.qp.PostRecv(e.buildRecv(id, sges), 1)
	if r.RC != 0 {
		return syscall.Errno(r.RC)
	}
	e.rqTail++
	return nil
}

func (e *end) receive(id uint64, sges ...cverbs.SGE) {
	e.t.Helper()
	require.NoError(e.t, e.tryReceive(id, sges...))
}

// patience is how long a test waits for what must come; it is no measure.
const patience = 20 * time.Second

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(50 * time.Microsecond) {
		require.True(t, time.Now().Before(end), "%s did not come", what)
	}
}

func pollOnce(t testing.TB, cq cverbs.CQ, n int) []cverbs.WC {
	t.Helper()
	wcs := make([]cverbs.WC, n)
	got, err := cq.Poll(&wcs[0], n)
	require.NoError(t, err)
	return wcs[:got]
}

// completions waits for n completions.
func completions(t testing.TB, cq cverbs.CQ, n int) []cverbs.WC {
	t.Helper()
	var wcs []cverbs.WC
	eventually(t, fmt.Sprintf("completion %d of %d", len(wcs)+1, n), func() bool {
		wcs = append(wcs, pollOnce(t, cq, n-len(wcs)+1)...)
		return len(wcs) >= n
	})
	require.Len(t, wcs, n)
	return wcs
}

func completion(t testing.TB, cq cverbs.CQ) cverbs.WC {
	t.Helper()
	return completions(t, cq, 1)[0]
}

func ids(wcs []cverbs.WC) (list []uint64) {
	for _, wc := range wcs {
		list = append(list, wc.WRID)
	}
	return list
}

func statuses(wcs []cverbs.WC) (list []int32) {
	for _, wc := range wcs {
		list = append(list, wc.Status)
	}
	return list
}

// asyncEvents takes what is there, acknowledges it and returns the types.
func (e *end) asyncEvents() (types []int32) {
	for {
		ev, err := e.ctx.NextAsyncEvent()
		if err != nil {
			require.ErrorIs(e.t, err, syscall.EAGAIN)
			return types
		}
		types = append(types, ev.Type())
		require.NoError(e.t, ev.Ack())
	}
}

func (e *end) drainAsync() { e.asyncEvents() }

// sharedQueue is an SRQ with a device and a domain of its own.
type sharedQueue struct {
	t      testing.TB
	device string
	ctx    cverbs.Context
	pd     cverbs.PD
	srq    cverbs.SRQ
	attr   cverbs.SRQAttr
	queue  *cverbs.Queue
	wrs    unsafe.Pointer
}

func newSharedQueue(t testing.TB, depth uint32) *sharedQueue {
	t.Helper()
	s := &sharedQueue{t: t, device: addDevice(t, loopdev.DeviceOptions{})}
	s.ctx = openDevice(t, s.device)
	var err error
	s.pd, err = s.ctx.AllocPD()
	require.NoError(t, err)
	s.attr = cverbs.SRQAttr{MaxWR: depth, MaxSGE: 2}
	s.srq, err = s.pd.CreateSRQ(&s.attr)
	require.NoError(t, err)
	s.queue, err = cverbs.NewSharedQueue(int(depth))
	require.NoError(t, err)
	s.wrs = cverbs.Alloc(wrStride)
	t.Cleanup(func() {
		require.NoError(t, s.srq.Destroy())
		require.NoError(t, s.pd.Dealloc())
		s.queue.Leave()
		s.queue.Free()
		cverbs.Free(s.wrs)
	})
	return s
}

func (s *sharedQueue) tryReceive(id uint64, sges ...cverbs.SGE) error {
	wrID, ok := s.queue.Take(id)
	if !ok {
		return syscall.ENOMEM
	}
	wr := (*cverbs.RecvWR)(s.wrs)
	*wr = cverbs.RecvWR{WRID: wrID, NumSGE: int32(len(sges)), SGList: (*cverbs.SGE)(unsafe.Add(s.wrs, sgeOffset))}
	copy(unsafe.Slice(wr.SGList, len(sges)), sges)
	if r := s.srq.PostRecv(wr, 1); r.RC != 0 {
		s.queue.GiveBack(wrID)
		return syscall.Errno(r.RC)
	}
	return nil
}
