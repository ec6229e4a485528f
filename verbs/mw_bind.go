package verbs

import (
	"errors"
	"runtime"

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
	if mw.kind != MWType2 {
		return errors.New("the window is of type 1: QP.BindMW binds it")
	}
	if to.MR == nil {
		return errors.New("a window of type 2 is unbound by invalidating its key")
	}
	done, err := mw.use(b.qp, to)
	if err != nil {
		return err
	}
	defer done()
	former := mw.RKey()
	rkey := IncRKey(former)
	wr.Imm = 0 // providers refuse a binding with one
	wr.SetBind(mw.mw, rkey, to.MR.mr, to.MR.addr+to.Off, to.Len, uint32(to.Access))
	mw.rkey.Store(rkey)
	mw.note(to, &to.MR.obj, &b.qp.obj)
	b.binds = append(b.binds, pendingBind{place: b.n - 1, mw: mw, former: former, rkey: rkey})
	return nil
}

// pendingBind is a binding in a batch.
type pendingBind struct {
	place        int
	mw           *MW
	former, rkey uint32
}

// account notes that the device took n requests, the bindings among them.
func (b *SendBatch) account(n int32) {
	b.queue.account(n)
	if len(b.binds) > 0 {
		b.settleBinds(int(n))
	}
}

// settleBinds tells providers of the keys that windows have by the first requests,
// which were posted, and undoes the other bindings of the batch.
func (b *SendBatch) settleBinds(posted int) {
	for _, p := range b.binds {
		if p.mw.obj.Use() != nil {
			continue
		}
		if p.place < posted && b.wrs[p.place].IsBind(p.mw.mw, p.rkey) {
			p.mw.mw.SetRKey(p.rkey)
		} else if p.mw.rkey.CompareAndSwap(p.rkey, p.former) {
			p.mw.note(Binding{})
		}
		p.mw.obj.Done()
	}
	clear(b.binds)
	b.binds = b.binds[:0]
}

// use keeps everything that takes part in a binding open until done.
func (mw *MW) use(qp *QP, to Binding) (done func(), err error) {
	objects := []*life.Object{&mw.obj, &qp.obj}
	if to.MR != nil {
		objects = append(objects, &to.MR.obj)
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
	if err = mw.check(to); err == nil && qp.pd != mw.pd {
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
	// In use before inside the guard: Close takes them in that order.
	done, err := mw.use(qp, to)
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
	// Nothing is no bytes of some region: a provider may look at that.
	of := to.MR
	if of == nil {
		if of = mw.region(); of == nil {
			return qp.err(op, errors.New("the window is bound to nothing already"))
		}
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
