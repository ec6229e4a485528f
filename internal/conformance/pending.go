package conformance

import (
	"errors"
	"sync"
	"syscall"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Requests that point to something which goes away, or lies elsewhere, before they
// are posted.
var pendingCases = []Case{
	{"InlineFromAnIOVA", inlineFromIOVA},
	{"InlineOfMemoryElsewhere", inlineElsewhere},
	{"WindowClosedBeforeItsBindingIsPosted", windowClosedInBatch},
	{"WindowBoundTwiceInABatch", windowTwiceInBatch},
	{"WindowInABatchThatAResetDrops", windowInDroppedBatch},
	{"WindowThatIsBoundKeepsBothRegions", windowKeepsBoth},
	{"WindowsOfParentDomains", windowsOfParentDomains},
	{"ReregisterFromManyGoroutines", reregisterMany},
	{"XRCOpenedWhileItCloses", xrcOpenedWhileClosing},
	{"XRCStateIsThatOfAllHandles", xrcSharedState},
	{"WindowsThatEverybodyCloses", windowsEverybodyCloses},
}

// inlineFromIOVA: what is inline is read by the processor, which knows no iova.
func inlineFromIOVA(r *Rig) {
	a, b := r.pair(pairOptions{qp: verbs.QPOptions{MaxInline: 32, MaxSendSGE: 2}})
	src, err := r.PD.AllocMR(4096, verbs.MROptions{IOVA: r.at(1 << 40)})
	require.NoError(r, err)
	want := r.random(src)
	dst := r.memory(32)
	b.receive(1, dst.SGE(0, 32))
	a.QP.SendBatch().Send(2, src.SGE(100, 16), src.SGE(2000, 16)).Inline().Inline()
	a.post(1)
	r.good(a.sent(), 2, verbs.WCSend)
	r.good(b.received(), 1, verbs.WCRecv)
	require.Equal(r, want[100:116], dst.Bytes()[:16])
	require.Equal(r, want[2000:2016], dst.Bytes()[16:])

	a.QP.SendBatch().Send(3, verbs.SGE{Addr: src.Addr() + 4090, Length: 8, LKey: src.LKey()}).Inline()
	_, err = a.QP.SendBatch().Post()
	require.ErrorContains(r, err, "lie outside")
	require.NoError(r, src.Close())
}

// inlineElsewhere: the processor cannot read memory that the process does not see.
func inlineElsewhere(r *Rig) {
	a, _ := r.pair(pairOptions{qp: verbs.QPOptions{MaxInline: 32}})
	var hidden []*verbs.MR
	if null, err := r.PD.AllocNullMR(); !errors.Is(err, verbs.ErrNotSupported) {
		require.NoError(r, err)
		hidden = append(hidden, null)
	}
	if dm, err := r.Dev.AllocDM(64, verbs.DMOptions{}); !errors.Is(err, verbs.ErrNotSupported) {
		require.NoError(r, err)
		mr, err := r.PD.RegisterDM(dm, 0, 64, 0)
		require.NoError(r, err)
		hidden = append(hidden, mr)
	}
	for _, mr := range hidden {
		a.QP.SendBatch().Send(1, mr.SGE(0, 8)).Inline()
		n, err := a.QP.SendBatch().Post()
		require.ErrorIs(r, err, syscall.EFAULT)
		require.Zero(r, n)
	}
}

func windowClosedInBatch(r *Rig) {
	_, b := r.pair(pairOptions{})
	mr, mw := r.bindable(64), r.window(verbs.MWType2)
	batch := b.QP.SendBatch()
	batch.BindMW(1, mw, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteRead})
	require.NoError(r, mw.Close())
	require.NoError(r, mr.Close())
	n, err := batch.Post()
	require.ErrorIs(r, err, verbs.ErrClosed)
	require.Zero(r, n)

	// The window that its key was taken from lets the region go.
	mr, mw = r.bindable(64), r.window(verbs.MWType2)
	batch.BindMW(2, mw, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteRead})
	require.True(r, mw.Invalidated(mw.RKey()))
	require.NoError(r, mr.Close())
	_, _, err = batch.PostAndPoll(nil)
	require.ErrorIs(r, err, verbs.ErrClosed)
	require.Zero(r, batch.Len())
	require.NoError(r, mw.Close())
	require.NoError(r, b.QP.Close())
}

// windowTwiceInBatch: bound, invalidated and bound again in one batch; a batch that is
// not posted leaves everything as it was.
func windowTwiceInBatch(r *Rig) {
	a, b := r.pair(pairOptions{connect: quick})
	one, two, mw := r.bindable(64), r.bindable(64), r.window(verbs.MWType2)
	fresh := mw.RKey()
	batch := b.QP.SendBatch()
	fill := func() {
		batch.BindMW(1, mw, verbs.Binding{MR: one, Len: 64, Access: verbs.AccessRemoteWrite})
		batch.LocalInv(2, mw.RKey())
		batch.BindMW(3, mw, verbs.Binding{MR: two, Len: 64, Access: verbs.AccessRemoteWrite})
	}
	fill()
	batch.Write(4, one.Remote().At(99, 1))
	_, err := batch.Post()
	require.Error(r, err)
	require.Equal(r, fresh, mw.RKey())
	if r.softRoCE() {
		return // its provider tells the kernel the key that the window had before the batch
	}

	fill()
	b.post(3)
	r.good(b.sent(), 1, verbs.WCBindMW)
	r.good(b.sent(), 2, verbs.WCLocalInv)
	r.good(b.sent(), 3, verbs.WCBindMW)
	src := r.memory(64)
	want := r.random(src)
	r.write(a, mw.Remote(), src)
	require.Equal(r, want, two.Bytes())
	require.ErrorIs(r, one.Close(), verbs.ErrBusy, "its own invalidation was not told")
	require.NoError(r, mw.Close())
	require.NoError(r, one.Close())
	require.NoError(r, two.Close())
}

func windowInDroppedBatch(r *Rig) {
	_, b := r.pair(pairOptions{})
	mr, mw := r.bindable(64), r.window(verbs.MWType2)
	before := mw.RKey()
	b.QP.SendBatch().BindMW(1, mw, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteRead})
	require.NoError(r, b.QP.Reset())
	require.Equal(r, before, mw.RKey())
	require.NoError(r, mr.Close(), "nothing is bound to it")
	require.NoError(r, b.QP.Close())
}

// windowKeepsBoth: the device may still have the first binding when the second one
// fails.
func windowKeepsBoth(r *Rig) {
	_, b := r.pair(pairOptions{})
	one, two, mw := r.bindable(64), r.bindable(64), r.window(verbs.MWType2)
	b.QP.SendBatch().BindMW(1, mw, verbs.Binding{MR: one, Len: 64, Access: verbs.AccessRemoteRead})
	b.post(1)
	r.good(b.sent(), 1, verbs.WCBindMW)
	b.QP.SendBatch().BindMW(2, mw, verbs.Binding{MR: two, Len: 64, Access: verbs.AccessRemoteRead})
	b.post(1)
	r.bad(b.sent(), 2, verbs.StatusMWBind, verbs.StatusFlushed)
	require.ErrorIs(r, one.Close(), verbs.ErrBusy)
	require.ErrorIs(r, two.Close(), verbs.ErrBusy)
	require.NoError(r, mw.Close())
	require.NoError(r, one.Close())
	require.NoError(r, two.Close())
}

// windowsOfParentDomains: a parent domain is the one that it stands for.
func windowsOfParentDomains(r *Rig) {
	parent, err := r.PD.AllocParentDomain(nil)
	if errors.Is(err, verbs.ErrNotSupported) {
		return
	}
	require.NoError(r, err)
	_, b := r.pair(pairOptions{})
	mr := r.bindable(64)
	mw, err := parent.AllocMW(verbs.MWType1)
	require.NoError(r, err)
	require.NoError(r, b.QP.BindMW(1, mw, verbs.Binding{MR: mr, Len: 64, Access: verbs.AccessRemoteRead}))
	r.good(b.sent(), 1, verbs.WCBindMW)
	require.NoError(r, mw.Close())
}

// reregisterMany: one change after the other, and nothing is given back twice.
func reregisterMany(r *Rig) {
	mr := r.memory(4096)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				errs[i] = errors.Join(errs[i], mr.Reregister(verbs.ReregOptions{Buf: make([]byte, 64)}))
			}
		}()
	}
	wg.Wait()
	want := 64
	for _, err := range errs {
		if r.softRoCE() { // cannot; see reregister
			require.Error(r, err)
			want = 4096
			continue
		}
		require.NoError(r, err)
	}
	require.Equal(r, want, mr.Len())
	require.NoError(r, mr.Close())
}

// xrcOpenedWhileClosing: whoever comes too late gets an error, and nobody a queue
// pair that is gone.
func xrcOpenedWhileClosing(r *Rig) {
	x, err := r.Dev.OpenXRCD(verbs.XRCDOptions{})
	if errors.Is(err, verbs.ErrNotSupported) {
		return
	}
	require.NoError(r, err)
	for range 50 {
		qp, err := x.CreateQP(verbs.QPOptions{})
		require.NoError(r, err)
		var wg sync.WaitGroup
		for range 3 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 100 {
					opened, err := x.OpenQP(qp.Num(), verbs.QPOptions{})
					if err != nil {
						return
					}
					_, err = opened.State()
					assert.NoError(r, err)
					assert.NoError(r, opened.Close())
				}
			}()
		}
		require.NoError(r, qp.Close())
		wg.Wait()
	}
	require.NoError(r, x.Close())
}

// windowsEverybodyCloses: windows and regions go while they are bound and posted.
// Whatever is posted points to what is there.
func windowsEverybodyCloses(r *Rig) {
	if r.softRoCE() {
		return // its kernel is not what is tested here
	}
	_, b := r.pair(pairOptions{qp: verbs.QPOptions{MaxSend: 64}})
	batch, wc := b.QP.SendBatch(), make([]verbs.Completion, 64)
	for range 200 {
		mr, two, one := r.bindable(64), r.window(verbs.MWType2), r.window(verbs.MWType1)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for _, f := range []func() error{
			mr.CloseAll, two.Close, one.Close,
			func() error { two.Invalidated(two.RKey()); return nil },
			func() error { two.Remote(); one.Remote(); return nil },
		} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				<-start
				_ = f() // busy, or closed already
			}()
		}
		close(start)
		_ = b.QP.BindMW(1, one, verbs.Binding{MR: mr, Len: 8})
		batch.BindMW(2, two, verbs.Binding{MR: mr, Len: 8})
		batch.LocalInv(3, two.RKey())
		_, _, _ = batch.PostAndPoll(wc)
		_ = b.QP.BindMW(4, one, verbs.Binding{})
		wg.Wait()
		if _, err := b.Send.Poll(wc); err != nil || b.failed() {
			require.NoError(r, err)
			_, b = r.pair(pairOptions{qp: verbs.QPOptions{MaxSend: 64}})
			batch = b.QP.SendBatch()
		}
		require.NoError(r, two.Close())
		require.NoError(r, one.Close())
		require.NoError(r, mr.Close())
	}
}

// failed reports whether a request has failed, and the queue pair with it.
func (e *End) failed() bool {
	state, err := e.QP.State()
	require.NoError(e.r, err)
	return state == verbs.StateErr
}

// xrcSharedState: what one handle of a queue pair did counts for the others.
func xrcSharedState(r *Rig) {
	x, err := r.Dev.OpenXRCD(verbs.XRCDOptions{})
	if errors.Is(err, verbs.ErrNotSupported) {
		return
	}
	require.NoError(r, err)
	qp, err := x.CreateQP(verbs.QPOptions{})
	require.NoError(r, err)
	opened, err := x.OpenQP(qp.Num(), verbs.QPOptions{})
	require.NoError(r, err)
	require.NoError(r, qp.Init())
	rights := verbs.QPAttr{State: verbs.StateInit, Access: verbs.AccessLocalWrite | verbs.AccessRemoteRead}
	require.NoError(r, opened.Modify(rights, verbs.AttrState|verbs.AttrAccess), "from INIT to INIT")
	attr, err := qp.Query(verbs.AttrAccess)
	require.NoError(r, err)
	require.Equal(r, rights.Access, attr.Access)
	require.NoError(r, opened.Reset())
	require.Error(r, qp.Modify(rights, verbs.AttrState|verbs.AttrAccess), "from RESET")
	require.NoError(r, qp.Init())
	require.NoError(r, qp.Close())
	require.NoError(r, opened.Close())
	_, err = x.OpenQP(qp.Num(), verbs.QPOptions{})
	require.Error(r, err)
	require.NoError(r, x.Close())
}
