package verbs

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// BindMW adds a request that binds a window of type 2, which must not be bound: it
// is fresh, or was invalidated. The window gets its new key at once (MW.RKey),
// which is good when the request has completed. Until the key is invalidated
// (LocalInv, SendInv of the peer; then MW.Invalidated) or the window is closed,
// the region and the queue pair do not close. A window whose binding failed is of
// no more use: close it.
//
// Implements: ibv_wr_bind_mw.
func (b *SendBatch) BindMW(id uint64, mw *MW, to Binding) Request {
	r := b.add(cverbs.IBV_WR_BIND_MW, id, anywhere, nil)
	if r.wr == &b.spare {
		return r
	}
	if err := b.bind(r.wr, mw, to); err != nil {
		b.fail(b.qp.err("bind memory window", err))
	}
	runtime.KeepAlive(b)
	return r
}

func (b *SendBatch) bind(wr *cverbs.SendWR, mw *MW, to Binding) error {
	switch {
	case mw == nil:
		return errNoWindow
	case mw.kind != MWType2:
		return errors.New("the window is of type 1: QP.BindMW binds it")
	case to.MR == nil:
		return errors.New("a window of type 2 is unbound by invalidating its key")
	}
	done, err := mw.use(b.qp, to, to.MR)
	if err != nil {
		return err
	}
	defer done()
	p := pendingBind{place: b.n - 1, mw: mw, mr: to.MR, former: mw.RKey()}
	p.rkey = IncRKey(p.former)
	wr.Imm = 0 // providers refuse a binding with one
	wr.SetBind(mw.mw, p.rkey, to.MR.mr, to.MR.addr+to.Off, to.Len, uint32(to.Access))
	mw.rkey.Store(p.rkey)
	p.before = mw.noteMore(to, &to.MR.obj, &b.qp.obj)
	b.binds = append(b.binds, p)
	return nil
}

var errNoWindow = errors.New("there is no memory window")

// pendingBind is a binding in a batch.
type pendingBind struct {
	place        int
	mw           *MW
	mr           *MR
	former, rkey uint32
	before       bound // what the window was bound to when it was added
}

// account notes that the device took n requests, the bindings among them.
func (b *SendBatch) account(n int32) {
	b.queue.account(n)
	if len(b.binds) > 0 {
		b.settleBinds(int(n))
	}
}

// holdBinds keeps the windows and regions of the batch from going while the device
// is handed requests that point to them, until releaseBinds.
func (b *SendBatch) holdBinds() error {
	for _, p := range b.binds {
		for _, o := range []*life.Object{&p.mw.obj, &p.mr.obj} {
			// To be in use twice by one goroutine would meet a Close in between.
			if slices.Contains(b.bindsHeld, o) {
				continue
			}
			if err := o.Use(); err != nil {
				b.releaseBinds()
				return fmt.Errorf("the window of a binding, or its region: %w", err)
			}
			b.bindsHeld = append(b.bindsHeld, o)
		}
	}
	return nil
}

func (b *SendBatch) releaseBinds() {
	for _, o := range b.bindsHeld {
		o.Done()
	}
	clear(b.bindsHeld)
	b.bindsHeld = b.bindsHeld[:0]
}

// settleBinds tells providers of the keys that windows have by the first requests,
// which were posted, and undoes the other bindings of the batch, the last one first.
func (b *SendBatch) settleBinds(posted int) {
	for _, p := range b.binds {
		if p.isPosted(b, posted) && p.mw.obj.Use() == nil {
			p.mw.mw.SetRKey(p.rkey)
			p.mw.obj.Done()
		}
	}
	for _, p := range slices.Backward(b.binds) {
		if !p.isPosted(b, posted) && p.mw.obj.Use() == nil {
			if p.mw.rkey.CompareAndSwap(p.rkey, p.former) {
				p.mw.restore(p.before)
			}
			p.mw.obj.Done()
		}
	}
	clear(b.binds)
	b.binds = b.binds[:0]
}

func (p *pendingBind) isPosted(b *SendBatch, posted int) bool {
	return p.place < posted && b.wrs[p.place].IsBind(p.mw.mw, p.rkey)
}

// use keeps everything that takes part in a binding open until done: of is the region
// that the request names, if any.
func (mw *MW) use(qp *QP, to Binding, of *MR) (done func(), err error) {
	objects := []*life.Object{&mw.obj, &qp.obj}
	if of != nil {
		objects = append(objects, &of.obj)
	}
	done = func() {}
	for _, o := range objects {
		if err := o.Use(); err != nil {
			done()
			return nil, err
		}
		before := done
		done = func() { o.Done(); before() }
	}
	if err = mw.check(to); err == nil && qp.pd.base() != mw.pd.base() {
		err = errors.New("the queue pair and the memory window are of different domains")
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// BindMW posts, at once, a request that binds a window of type 1, or unbinds it
// with the zero Binding. It takes a place of the send queue and makes a
// completion with id; the batch must be empty. The window gets its new key at
// once, which is good when the request has completed. Until it is bound to
// something else or closed, the region does not close.
//
// Implements: ibv_bind_mw.
func (qp *QP) BindMW(id uint64, mw *MW, to Binding) error {
	const op = "bind memory window"
	b := &qp.send
	if mw == nil {
		return qp.err(op, errNoWindow)
	}
	// Nothing is no bytes of some region: a provider may look at that.
	of := to.MR
	if of == nil {
		of = mw.region()
	}
	// In use before inside the guard: Close takes them in that order.
	done, err := mw.use(qp, to, of)
	if err != nil {
		return qp.err(op, err)
	}
	defer done()
	if err := b.side.enter(); err != nil {
		return qp.err(op, err)
	}
	defer b.side.exit()
	switch {
	case mw.kind != MWType1:
		return qp.err(op, errors.New("the window is of type 2: SendBatch.BindMW binds it"))
	case b.n > 0 || b.err != nil:
		return qp.err(op, errors.New("the batch holds requests: post them first"))
	case b.room == 0 && !b.look():
		return qp.err(op, ErrSendQueueFull)
	}
	if err := qp.needState(StateRTS); err != nil {
		return qp.err(op, err)
	}
	if of == nil {
		return qp.err(op, errors.New("the window is bound to nothing already"))
	}
	wrID := b.next(id)
	b.n = 0
	if err := qp.qp.BindMW(mw.mw, wrID, cverbs.IBV_SEND_SIGNALED, of.mr, of.addr+to.Off, to.Len, uint32(to.Access)); err != nil {
		return qp.err(op, err)
	}
	b.account(1)
	mw.rkey.Store(mw.mw.RKey())
	if to.MR != nil {
		mw.note(to, &to.MR.obj)
	} else {
		mw.note(to)
	}
	return nil
}
