package conformance

import (
	"errors"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var windowCases = []Case{
	{"WindowOfType1", windowType1},
	{"WindowOfType2", windowType2},
	{"WindowInvalidatedByThePeer", windowSendInvalidate},
	{"WindowKeepsTheRegion", windowKeepsRegion},
	{"WindowOfAnotherQueuePair", windowOfAnother},
	{"WindowBindError", windowBindError},
	{"WindowsAreChecked", windowsChecked},
	{"InvalidateWrongKey", invalidateWrongKey},
}

// bindable is memory that windows may be bound to, and that peers do not reach
// by its own key.
func (r *Rig) bindable(size int) *verbs.MR {
	return r.memoryWith(size, verbs.AccessLocalWrite|verbs.AccessMWBind)
}

func (r *Rig) window(kind verbs.MWType) *verbs.MW {
	mw, err := r.PD.AllocMW(kind)
	require.NoError(r, err)
	require.Equal(r, kind, mw.Type())
	return mw
}

// out checks that remote memory is out of reach.
func (r *Rig) out(a *End, remote verbs.RemoteBuffer) {
	r.Helper()
	mr := r.memory(8)
	a.QP.SendBatch().Write(66, remote, mr.SGE(0, int(min(remote.Len, 8))))
	a.post(1)
	r.bad(a.sent(), 66, verbs.StatusRemoteAccess, verbs.StatusRemoteInvalidRequest)
}

// invalidated checks that a receive names the key that its message took away.
// Soft-RoCE passes the kernel's own number of the flag on, which is another one to
// programs.
func (r *Rig) invalidated(c *verbs.Completion, key uint32) {
	r.Helper()
	got, ok := c.InvalidatedRKey()
	if r.softRoCE() && !ok {
		return
	}
	require.True(r, ok)
	require.Equal(r, key, got)
}

func windowType1(r *Rig) {
	r.covers("ibv_alloc_mw", "ibv_bind_mw", "ibv_dealloc_mw", "ibv_inc_rkey")
	a, b := r.pair(pairOptions{connect: quick})
	mr, src := r.bindable(4096), r.memory(64)
	want := r.random(src)
	mw := r.window(verbs.MWType1)
	first := mw.RKey()
	require.NoError(r, b.QP.BindMW(1, mw, verbs.Binding{MR: mr, Off: 100, Len: 64, Access: verbs.AccessRemoteWrite}))
	r.good(b.sent(), 1, verbs.WCBindMW)
	require.Equal(r, verbs.IncRKey(first), mw.RKey(), "a new key with every binding")
	require.Equal(r, verbs.RemoteBuffer{Addr: mr.Addr() + 100, RKey: mw.RKey(), Len: 64}, mw.Remote())
	r.write(a, mw.Remote(), src)
	require.Equal(r, want, mr.Bytes()[100:164])
	old := mw.Remote()

	// Elsewhere, and then to nothing: the former key is gone.
	require.NoError(r, b.QP.BindMW(2, mw, verbs.Binding{MR: mr, Off: 1000, Len: 64, Access: verbs.AccessRemoteWrite}))
	r.good(b.sent(), 2, verbs.WCBindMW)
	r.write(a, mw.Remote(), src)
	require.Equal(r, want, mr.Bytes()[1000:1064])
	require.NoError(r, b.QP.BindMW(3, mw, verbs.Binding{}))
	r.good(b.sent(), 3, verbs.WCBindMW)
	require.ErrorContains(r, b.QP.BindMW(4, mw, verbs.Binding{}), "nothing already")
	require.NoError(r, mr.Close(), "nothing is bound to it")
	r.out(a, old)
	require.NoError(r, mw.Close())
}

func windowType2(r *Rig) {
	r.covers("ibv_alloc_mw", "ibv_dealloc_mw")
	a, b := r.pair(pairOptions{connect: quick})
	mr, src := r.bindable(4096), r.memory(64)
	want := r.random(src)
	mw := r.window(verbs.MWType2)
	b.QP.SendBatch().BindMW(1, mw, verbs.Binding{MR: mr, Off: 512, Len: 64, Access: verbs.AccessRemoteWrite | verbs.AccessRemoteRead})
	b.post(1)
	r.good(b.sent(), 1, verbs.WCBindMW)
	r.write(a, mw.Remote(), src)
	require.Equal(r, want, mr.Bytes()[512:576])
	back := r.memory(64)
	a.QP.SendBatch().Read(2, mw.Remote(), back.SGE(0, 64))
	a.post(1)
	r.good(a.sent(), 2, verbs.WCRDMARead)
	require.Equal(r, want, back.Bytes())

	gone := mw.Remote()
	b.QP.SendBatch().LocalInv(3, mw.RKey())
	b.post(1)
	r.good(b.sent(), 3, verbs.WCLocalInv)
	require.True(r, mw.Invalidated(mw.RKey()))

	// Bound again, it has another key, and only that one works.
	b.QP.SendBatch().BindMW(4, mw, verbs.Binding{MR: mr, Off: 0, Len: 64, Access: verbs.AccessRemoteWrite})
	b.post(1)
	r.good(b.sent(), 4, verbs.WCBindMW)
	require.NotEqual(r, gone.RKey, mw.RKey())
	r.write(a, mw.Remote(), src)
	require.Equal(r, want, mr.Bytes()[:64])
	r.out(a, gone)
	require.NoError(r, mw.Close())
	require.NoError(r, mr.Close())
}

// windowSendInvalidate: the peer gives the key back with its last message.
func windowSendInvalidate(r *Rig) {
	a, b := r.pair(pairOptions{connect: quick})
	mr, src := r.bindable(64), r.memory(64)
	want := r.random(src)
	mw := r.window(verbs.MWType2)
	b.QP.SendBatch().BindMW(1, mw, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteWrite})
	b.post(1)
	r.good(b.sent(), 1, verbs.WCBindMW)
	dst := r.memory(64)
	b.receive(2, dst.SGE(0, 64))
	remote := mw.Remote()
	a.QP.SendBatch().Write(3, remote, src.SGE(0, 64))
	a.QP.SendBatch().SendInv(4, remote.RKey, src.SGE(0, 5))
	a.post(2)
	r.good(a.sent(), 3, verbs.WCRDMAWrite)
	r.good(a.sent(), 4, verbs.WCSend)
	c := b.received()
	r.good(c, 2, verbs.WCRecv)
	require.Equal(r, 5, c.Len())
	_, ok := c.Imm()
	require.False(r, ok)
	r.invalidated(c, remote.RKey)
	require.Equal(r, want, mr.Bytes())
	require.False(r, mw.Invalidated(remote.RKey+1))
	require.True(r, mw.Invalidated(remote.RKey))
	require.NoError(r, mr.Close(), "the window let go of it")
	r.out(a, remote)
}

// windowKeepsRegion: neither the region nor the queue pair goes away under it.
func windowKeepsRegion(r *Rig) {
	_, b := r.pair(pairOptions{})
	mr := r.bindable(64)
	mw := r.window(verbs.MWType2)
	b.QP.SendBatch().BindMW(1, mw, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteRead})
	b.post(1)
	r.good(b.sent(), 1, verbs.WCBindMW)
	for _, c := range []func() error{mr.Close, b.QP.Close, r.PD.Close} {
		err := c()
		require.ErrorIs(r, err, verbs.ErrBusy)
		require.ErrorContains(r, err, "memory window of type 2")
	}
	require.NoError(r, mr.CloseAll())
	require.NoError(r, mw.Close(), "it is closed already")
	require.NoError(r, b.QP.Close())

	_, b = r.pair(pairOptions{})
	mr, mw = r.bindable(64), r.window(verbs.MWType1)
	require.NoError(r, b.QP.BindMW(1, mw, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteRead}))
	r.good(b.sent(), 1, verbs.WCBindMW)
	require.ErrorContains(r, mr.Close(), "memory window of type 1")
	require.NoError(r, mw.Close())
	require.NoError(r, mr.Close())
}

// windowOfAnother: a window of type 2 is reached only by the queue pair that bound
// it, one of type 1 by all of the domain.
func windowOfAnother(r *Rig) {
	_, b := r.pair(pairOptions{connect: quick})
	c, _ := r.pair(pairOptions{connect: quick})
	mr, src := r.bindable(64), r.memory(64)
	one, two := r.window(verbs.MWType1), r.window(verbs.MWType2)
	require.NoError(r, b.QP.BindMW(1, one, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteWrite}))
	r.good(b.sent(), 1, verbs.WCBindMW)
	b.QP.SendBatch().BindMW(2, two, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteWrite})
	b.post(1)
	r.good(b.sent(), 2, verbs.WCBindMW)
	r.write(c, one.Remote(), src)
	r.out(c, two.Remote())
}

// windowBindError: a window of type 2 that is bound is not bound again.
func windowBindError(r *Rig) {
	_, b := r.pair(pairOptions{})
	mr := r.bindable(64)
	mw := r.window(verbs.MWType2)
	b.QP.SendBatch().BindMW(1, mw, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteRead})
	b.post(1)
	r.good(b.sent(), 1, verbs.WCBindMW)
	b.QP.SendBatch().BindMW(2, mw, verbs.Binding{MR: mr, Len: 32, Access: verbs.AccessRemoteRead})
	b.post(1)
	r.bad(b.sent(), 2, verbs.StatusMWBind, verbs.StatusFlushed) // soft-RoCE of 7.3 says the latter
	require.NoError(r, mw.Close())
	require.NoError(r, b.QP.Close())
}

func windowsChecked(r *Rig) {
	_, b := r.pair(pairOptions{})
	other, err := r.Dev.AllocPD()
	require.NoError(r, err)
	foreign, err := other.AllocMR(64, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessMWBind})
	require.NoError(r, err)
	foreignWindow, err := other.AllocMW(verbs.MWType1)
	require.NoError(r, err)
	mr, plain := r.bindable(64), r.memory(64)
	one, two := r.window(verbs.MWType1), r.window(verbs.MWType2)
	for _, bad := range []struct {
		mw *verbs.MW
		to verbs.Binding
	}{
		{two, verbs.Binding{MR: mr, Len: 8}},
		{one, verbs.Binding{MR: plain, Len: 8}},
		{one, verbs.Binding{MR: foreign, Len: 8}},
		{one, verbs.Binding{MR: mr, Off: 60, Len: 8}},
		{one, verbs.Binding{MR: mr, Off: 1 << 63, Len: 1 << 63}},
		{one, verbs.Binding{Len: 8}},
		{one, verbs.Binding{MR: new(verbs.MR), Len: 8}},
		{foreignWindow, verbs.Binding{MR: foreign, Len: 8}},
	} {
		require.Error(r, b.QP.BindMW(1, bad.mw, bad.to), "%+v", bad.to)
		bad.to.Access = 0
		b.QP.SendBatch().BindMW(1, bad.mw, bad.to)
		n, err := b.QP.SendBatch().Post()
		if bad.mw != two {
			require.Error(r, err, "%+v", bad.to)
			require.Zero(r, n)
		} else {
			require.NoError(r, err)
			r.good(b.sent(), 1, verbs.WCBindMW)
		}
	}
	_, err = r.PD.AllocMW(7)
	require.ErrorContains(r, err, "no type of memory window")
	b.QP.SendBatch().Write(1, plain.Remote(), plain.SGE(0, 8))
	require.ErrorContains(r, b.QP.BindMW(2, one, verbs.Binding{MR: mr, Len: 8}), "post them first")
	b.post(1)
	r.good(b.sent(), 1, verbs.WCRDMAWrite)
	require.ErrorContains(r, r.end(pairOptions{}).QP.BindMW(1, one, verbs.Binding{MR: mr, Len: 8}), "needs RTS")
	require.NoError(r, one.Close())
	require.ErrorIs(r, b.QP.BindMW(1, one, verbs.Binding{MR: mr, Len: 8}), verbs.ErrClosed)
	require.True(r, errors.Is(new(verbs.QP).BindMW(1, one, verbs.Binding{}), verbs.ErrClosed))
	require.False(r, one.Invalidated(one.RKey()))
}

func invalidateWrongKey(r *Rig) {
	_, b := r.pair(pairOptions{})
	// A batch that is not posted leaves the window as it was.
	mr, mw := r.bindable(64), r.window(verbs.MWType2)
	before := mw.RKey()
	b.QP.SendBatch().BindMW(1, mw, verbs.Binding{MR: mr, Len: 64})
	b.QP.SendBatch().Write(2, mr.Remote().At(99, 1))
	_, err := b.QP.SendBatch().Post()
	require.Error(r, err)
	b.QP.SendBatch().Write(3, mr.Remote(), mr.SGE(0, 0))
	b.post(1)
	r.good(b.sent(), 3, verbs.WCRDMAWrite)
	require.Equal(r, before, mw.RKey())
	require.NoError(r, mr.Close())

	b.QP.SendBatch().LocalInv(1, 0x12345600)
	b.post(1)
	c := b.sent()
	require.Equal(r, uint64(1), c.ID())
	require.Error(r, c.Err())
	b.QP.SendBatch().LocalInv(2, 1).Inline()
	_, err = b.QP.SendBatch().Post()
	require.ErrorContains(r, err, "no data")
}
