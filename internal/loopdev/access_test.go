//go:build linux && cgo

package loopdev_test

import (
	"encoding/binary"
	"math"
	"syscall"
	"testing"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wrong is a request that must fail, and how.
type wrong struct {
	name   string
	o      endOptions // of the responder
	local  endOptions
	work   func(a, b *end) work
	status int32
	events []int32 // at the responder
}

func writeTo(b *end, sge cverbs.SGE, off int) work {
	return work{op: cverbs.IBV_WR_RDMA_WRITE, sges: []cverbs.SGE{sge}, remote: b.addr(off), rkey: b.rkey}
}

func TestKeysBoundsAndRights(t *testing.T) {
	local := u32(cverbs.IBV_ACCESS_LOCAL_WRITE)
	accessErr := []int32{cverbs.IBV_EVENT_QP_ACCESS_ERR}
	requestErr := []int32{cverbs.IBV_EVENT_QP_REQ_ERR}
	cases := []wrong{
		{name: "unknown rkey", status: cverbs.IBV_WC_REM_ACCESS_ERR, events: accessErr,
			work: func(a, b *end) work { w := writeTo(b, a.sge(0, 8), 0); w.rkey ^= 1 << 31; return w }},
		{name: "lkey in the place of the rkey", status: cverbs.IBV_WC_REM_ACCESS_ERR, events: accessErr,
			work: func(a, b *end) work { w := writeTo(b, a.sge(0, 8), 0); w.rkey = b.lkey; return w }},
		{name: "one byte past the end", status: cverbs.IBV_WC_REM_ACCESS_ERR, events: accessErr,
			work: func(a, b *end) work { return writeTo(b, a.sge(0, 8), 4096-7) }},
		{name: "one byte before the start", status: cverbs.IBV_WC_REM_ACCESS_ERR, events: accessErr,
			work: func(a, b *end) work { w := writeTo(b, a.sge(0, 8), 0); w.remote--; return w }},
		{name: "address that wraps", status: cverbs.IBV_WC_REM_ACCESS_ERR, events: accessErr,
			work: func(a, b *end) work { w := writeTo(b, a.sge(0, 8), 0); w.remote = math.MaxUint64 - 3; return w }},
		{name: "write without the region's right", o: endOptions{memAccess: u32(cverbs.IBV_ACCESS_LOCAL_WRITE | cverbs.IBV_ACCESS_REMOTE_READ)},
			status: cverbs.IBV_WC_REM_ACCESS_ERR, events: accessErr,
			work: func(a, b *end) work { return writeTo(b, a.sge(0, 8), 0) }},
		{name: "read without the region's right", o: endOptions{memAccess: u32(cverbs.IBV_ACCESS_LOCAL_WRITE | cverbs.IBV_ACCESS_REMOTE_WRITE)},
			status: cverbs.IBV_WC_REM_ACCESS_ERR, events: accessErr,
			work: func(a, b *end) work { w := writeTo(b, a.sge(0, 8), 0); w.op = cverbs.IBV_WR_RDMA_READ; return w }},
		{name: "atomic without the region's right", o: endOptions{memAccess: u32(cverbs.IBV_ACCESS_LOCAL_WRITE | cverbs.IBV_ACCESS_REMOTE_WRITE)},
			status: cverbs.IBV_WC_REM_ACCESS_ERR, events: accessErr,
			work: func(a, b *end) work {
				w := writeTo(b, a.sge(0, 8), 0)
				w.op = cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD
				return w
			}},
		{name: "write that the queue pair forbids", o: endOptions{access: local},
			status: cverbs.IBV_WC_REM_INV_REQ_ERR, events: requestErr,
			work: func(a, b *end) work { return writeTo(b, a.sge(0, 8), 0) }},
		{name: "read that the queue pair forbids", o: endOptions{access: local},
			status: cverbs.IBV_WC_REM_INV_REQ_ERR, events: requestErr,
			work: func(a, b *end) work { w := writeTo(b, a.sge(0, 8), 0); w.op = cverbs.IBV_WR_RDMA_READ; return w }},
		{name: "misaligned atomic", status: cverbs.IBV_WC_REM_INV_REQ_ERR, events: requestErr,
			work: func(a, b *end) work {
				w := writeTo(b, a.sge(0, 8), 4)
				w.op = cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD
				return w
			}},
		{name: "atomic of another length", status: cverbs.IBV_WC_LOC_LEN_ERR,
			work: func(a, b *end) work {
				w := writeTo(b, a.sge(0, 16), 0)
				w.op = cverbs.IBV_WR_ATOMIC_CMP_AND_SWP
				return w
			}},
		{name: "unknown lkey", status: cverbs.IBV_WC_LOC_PROT_ERR,
			work: func(a, b *end) work { s := a.sge(0, 8); s.LKey = 0; return writeTo(b, s, 0) }},
		{name: "rkey in the place of the lkey", status: cverbs.IBV_WC_LOC_PROT_ERR,
			work: func(a, b *end) work { s := a.sge(0, 8); s.LKey = a.rkey; return writeTo(b, s, 0) }},
		{name: "local bounds", status: cverbs.IBV_WC_LOC_PROT_ERR,
			work: func(a, b *end) work { return writeTo(b, a.sge(4090, 7), 0) }},
		{name: "read into memory that may not be written", local: endOptions{memAccess: u32(0)}, status: cverbs.IBV_WC_LOC_PROT_ERR,
			work: func(a, b *end) work { w := writeTo(b, a.sge(0, 8), 0); w.op = cverbs.IBV_WR_RDMA_READ; return w }},
		{name: "longer than a message can be", status: cverbs.IBV_WC_LOC_LEN_ERR,
			work: func(a, b *end) work {
				w := writeTo(b, a.sge(0, 1<<31), 0)
				w.sges = append(w.sges, a.sge(0, 1))
				return w
			}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, b := newEnd(t, c.local), newEnd(t, c.o)
			connect(a, b)
			w := c.work(a, b)
			w.id = 5
			a.post(w) // not signaled: a failure completes all the same
			wc := completion(t, a.send)
			assert.Equal(t, c.status, wc.Status)
			assert.Equal(t, uint64(5), wc.WRID)
			assert.Equal(t, int32(cverbs.IBV_QPS_ERR), a.state())
			want := int32(cverbs.IBV_QPS_RTS)
			if c.events != nil {
				want = cverbs.IBV_QPS_ERR
			}
			assert.Equal(t, want, b.state())
			assert.Equal(t, c.events, b.asyncEvents())
			for _, v := range b.mem[:64] {
				require.Zero(t, v, "nothing was moved")
			}
		})
	}
}

func TestStaleKeyIsRefused(t *testing.T) {
	a, b := pair(t, endOptions{})
	mem := make([]byte, 0)
	mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	first, err := b.pd.RegMR(unsafe.Pointer(&mem[0]), len(mem), allAccess)
	require.NoError(t, err)
	lkey, stale := first.Keys()
	require.NoError(t, first.Dereg())
	second, err := b.pd.RegMR(unsafe.Pointer(&mem[0]), len(mem), allAccess)
	require.NoError(t, err)
	again, fresh := second.Keys()
	t.Cleanup(func() { require.NoError(t, second.Dereg()) })
	assert.NotEqual(t, lkey, again)
	assert.NotEqual(t, stale, fresh)
	a.post(work{op: cverbs.IBV_WR_RDMA_WRITE, sges: []cverbs.SGE{a.sge(0, 8)},
		remote: uint64(uintptr(unsafe.Pointer(&mem[0]))), rkey: stale})
	assert.Equal(t, int32(cverbs.IBV_WC_REM_ACCESS_ERR), completion(t, a.send).Status)
}

func TestRegionOfAnotherDomain(t *testing.T) {
	a, b := pair(t, endOptions{})
	other, err := b.ctx.AllocPD()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Dealloc()) })
	mem, mr := newMemory(t, other, 4096, nil)
	_, rkey := mr.Keys()
	a.post(work{op: cverbs.IBV_WR_RDMA_WRITE, sges: []cverbs.SGE{a.sge(0, 8)},
		remote: uint64(uintptr(unsafe.Pointer(&mem[0]))), rkey: rkey})
	assert.Equal(t, int32(cverbs.IBV_WC_REM_ACCESS_ERR), completion(t, a.send).Status)
}

func TestReceiveTooSmall(t *testing.T) {
	a, b := pair(t, endOptions{})
	b.receive(1, b.sge(0, 7))
	b.receive(2, b.sge(0, 100))
	a.post(work{op: cverbs.IBV_WR_SEND, sges: []cverbs.SGE{a.sge(0, 8)}})
	assert.Equal(t, int32(cverbs.IBV_WC_REM_INV_REQ_ERR), completion(t, a.send).Status)
	wcs := completions(t, b.recv, 2)
	assert.Equal(t, []int32{cverbs.IBV_WC_LOC_LEN_ERR, cverbs.IBV_WC_WR_FLUSH_ERR}, statuses(wcs))
	assert.Equal(t, []uint64{1, 2}, ids(wcs))
}

func TestReceiveIntoForbiddenMemory(t *testing.T) {
	for _, access := range []*uint32{u32(0), nil} {
		a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{memAccess: access})
		connect(a, b)
		sge := b.sge(0, 8)
		if access == nil {
			sge.LKey++
		}
		b.receive(1, sge)
		a.post(work{op: cverbs.IBV_WR_SEND, sges: []cverbs.SGE{a.sge(0, 8)}})
		assert.Equal(t, int32(cverbs.IBV_WC_REM_OP_ERR), completion(t, a.send).Status)
		assert.Equal(t, int32(cverbs.IBV_WC_LOC_PROT_ERR), completion(t, b.recv).Status)
		assert.Equal(t, int32(cverbs.IBV_QPS_ERR), b.state())
	}
}

func TestRegistrationRefusals(t *testing.T) {
	e := newEnd(t, endOptions{})
	p := unsafe.Pointer(&e.mem[0])
	_, err := e.pd.RegMR(p, 8, cverbs.IBV_ACCESS_REMOTE_WRITE)
	assert.ErrorIs(t, err, errInvalid, "remote write needs local write")
	_, err = e.pd.RegMR(p, 8, 1<<18)
	assert.ErrorIs(t, err, errUnsupported)
	_, err = e.pd.RegMR(p, 0, 0)
	assert.ErrorIs(t, err, errInvalid)
	hole, err := syscall.Mmap(-1, 0, 4*4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	require.NoError(t, syscall.Munmap(hole))
	_, err = e.pd.RegMR(unsafe.Pointer(unsafe.SliceData(hole)), 4*4096, 0)
	assert.ErrorIs(t, err, syscall.EFAULT, "nothing is mapped there")
	mr, err := e.pd.RegMR(p, 8, cverbs.IBV_ACCESS_RELAXED_ORDERING)
	require.NoError(t, err, "optional rights may be ignored")
	require.NoError(t, mr.Dereg())
}

func TestAtomics(t *testing.T) {
	a, b := pair(t, endOptions{})
	word := (*uint64)(unsafe.Pointer(&b.mem[64]))
	*word = 40
	atomic := func(w work) uint64 {
		w.flags, w.sges, w.remote, w.rkey = signaled, []cverbs.SGE{a.sge(0, 8)}, b.addr(64), b.rkey
		a.post(w)
		wc := completion(t, a.send)
		require.Zero(t, wc.Status)
		assert.Equal(t, uint32(8), wc.ByteLen)
		return binary.NativeEndian.Uint64(a.mem)
	}
	assert.Equal(t, uint64(40), atomic(work{op: cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD, compareAdd: 2}))
	assert.Equal(t, uint64(42), *word)
	assert.Equal(t, uint64(42), atomic(work{op: cverbs.IBV_WR_ATOMIC_CMP_AND_SWP, compareAdd: 41, swap: 1}))
	assert.Equal(t, uint64(42), *word)
	assert.Equal(t, uint64(42), atomic(work{op: cverbs.IBV_WR_ATOMIC_CMP_AND_SWP, compareAdd: 42, swap: 1}))
	assert.Equal(t, uint64(1), *word)
	assert.Equal(t, uint64(1), atomic(work{op: cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD, compareAdd: math.MaxUint64}))
	assert.Zero(t, *word)
}

func TestObjectsInUseAreBusy(t *testing.T) {
	e := newEnd(t, endOptions{channel: true})
	assert.ErrorIs(t, e.pd.Dealloc(), errBusy)
	assert.ErrorIs(t, e.send.Destroy(), errBusy)
	assert.ErrorIs(t, e.channel.Destroy(), errBusy)
	assert.ErrorIs(t, e.ctx.Close(), errBusy)
	s := newSharedQueue(t, 4)
	newEnd(t, endOptions{srq: s})
	assert.ErrorIs(t, s.srq.Destroy(), errBusy)
}

func TestFailingAllocation(t *testing.T) {
	device := addDevice(t, loopdev.DeviceOptions{})
	ctx := openDevice(t, device)
	require.NoError(t, loopdev.FailAllocations(device, 2))
	_, err := ctx.AllocPD()
	assert.ErrorIs(t, err, errNoMemory)
	_, err = ctx.CreateCQ(4, cverbs.Channel{}, 0)
	assert.ErrorIs(t, err, errNoMemory)
	pd, err := ctx.AllocPD()
	require.NoError(t, err)
	require.NoError(t, pd.Dealloc())
}
