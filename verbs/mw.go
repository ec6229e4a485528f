package verbs

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// MWType is the kind of a memory window (enum ibv_mw_type).
type MWType int32

// Kinds of memory windows.
const (
	// MWType1 is bound by QP.BindMW, and every binding makes a new key. It is
	// unbound by binding it to nothing.
	MWType1 MWType = cverbs.IBV_MW_TYPE_1
	// MWType2 is bound by SendBatch.BindMW, is reached only through the queue
	// pair that bound it, and can be invalidated, by its owner or by the peer. Most
	// devices have the form that the specification calls 2B.
	MWType2 MWType = cverbs.IBV_MW_TYPE_2
)

// MW is a memory window: a key to a piece of a region, with rights of its own,
// that comes and goes without registering memory. It is safe for concurrent use.
type MW struct {
	obj  life.Object
	pd   *PD
	mw   cverbs.MW
	kind MWType
	rkey atomic.Uint32

	mu sync.Mutex
	bound
}

// bound is what a window is bound to, and what it keeps open for that.
type bound struct {
	to      Binding
	holders []*life.Object
}

// Binding is what a window is bound to. The zero Binding is nothing, which takes
// the key of a window of type 1 away.
type Binding struct {
	MR     *MR // registered with AccessMWBind
	Off    uint64
	Len    uint64 // bytes
	Access Access // what peers may do; AccessZeroBased makes their addresses begin at 0
}

// AllocMW makes a memory window, bound to nothing.
//
// It fails with ErrNotSupported where the device has no windows of the type.
//
// Implements: ibv_alloc_mw.
func (pd *PD) AllocMW(kind MWType) (*MW, error) {
	const op = "allocate memory window"
	if kind != MWType1 && kind != MWType2 {
		return nil, pd.dev.err(op, fmt.Errorf("%d is no type of memory window: it is MWType1 or MWType2", kind))
	}
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	raw, err := pd.pd.AllocMW(int32(kind))
	if err != nil {
		return nil, pd.dev.err(op, err)
	}
	mw := &MW{pd: pd, mw: raw, kind: kind}
	mw.rkey.Store(raw.RKey())
	life.Enter(&mw.obj, mw, fmt.Sprintf("memory window of type %d (rkey 0x%x)", kind, raw.RKey()), &pd.obj)
	return mw, nil
}

// RKey returns the window's key as the last binding made it. Peers may use it
// once the binding has completed.
func (mw *MW) RKey() uint32 { return mw.rkey.Load() }

// Type returns the window's kind.
func (mw *MW) Type() MWType { return mw.kind }

// Remote returns what a peer needs to reach what the window is bound to.
func (mw *MW) Remote() RemoteBuffer {
	mw.mu.Lock()
	defer mw.mu.Unlock()
	if mw.to.MR == nil {
		return RemoteBuffer{Addr: badAddr}
	}
	addr := uint64(0)
	if mw.to.Access&AccessZeroBased == 0 {
		addr = mw.to.MR.addr + mw.to.Off
	}
	return RemoteBuffer{Addr: addr, RKey: mw.RKey(), Len: mw.to.Len}
}

// region returns what the window is bound to, which stays open for as long; nil is
// nothing.
func (mw *MW) region() *MR {
	mw.mu.Lock()
	defer mw.mu.Unlock()
	return mw.to.MR
}

// check looks for what no device can bind.
func (mw *MW) check(b Binding) error {
	switch {
	case b.MR == nil:
		if b != (Binding{}) {
			return errors.New("a binding to nothing has no piece and no rights")
		}
		return nil
	case b.MR.pd.base() != mw.pd.base():
		return errors.New("the region and the memory window are of different domains")
	case b.MR.access&AccessMWBind == 0:
		return errors.New("the region was registered without AccessMWBind")
	case b.Access&AccessRemoteWrite != 0 && b.MR.access&AccessLocalWrite == 0:
		return errors.New("remote write through a window needs a region with AccessLocalWrite")
	case b.Off > uint64(b.MR.length) || b.Len > uint64(b.MR.length)-b.Off:
		return fmt.Errorf("%d bytes from offset %d do not lie within the region of %d bytes", b.Len, b.Off, b.MR.length)
	}
	return nil
}

// note keeps the region that the window is bound to from closing before it. It lets
// go of what it was bound to before. The holders are in use.
func (mw *MW) note(b Binding, holders ...*life.Object) {
	mw.mu.Lock()
	defer mw.mu.Unlock()
	mw.become(bound{b, holders})
}

// noteMore is note for a binding that may fail because of one before it: what the
// window was bound to stays open too. It returns that.
func (mw *MW) noteMore(b Binding, holders ...*life.Object) (before bound) {
	mw.mu.Lock()
	defer mw.mu.Unlock()
	before = mw.bound
	all := slices.Clone(before.holders)
	for _, h := range holders {
		if !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	mw.become(bound{b, all})
	return before
}

// restore undoes noteMore.
func (mw *MW) restore(before bound) {
	mw.mu.Lock()
	defer mw.mu.Unlock()
	mw.become(before)
}

// become takes other holders. Those that it does not have yet are in use.
func (mw *MW) become(next bound) {
	for _, h := range next.holders {
		if !slices.Contains(mw.holders, h) {
			mw.obj.Hold(h)
		}
	}
	for _, h := range mw.holders {
		if !slices.Contains(next.holders, h) {
			mw.obj.Release(h)
		}
	}
	mw.bound = next
}

// Invalidated tells the window that its key is gone by a request that completed:
// SendBatch.LocalInv with that key, or a message of the peer (Completion.InvalidatedRKey).
// It reports whether the key was the window's. The region may be closed then.
func (mw *MW) Invalidated(rkey uint32) bool {
	if mw.obj.Use() != nil {
		return false
	}
	defer mw.obj.Done()
	if mw.kind != MWType2 || rkey != mw.RKey() {
		return false
	}
	mw.note(Binding{})
	return true
}

// Close frees the window; peers do not reach anything through it any more.
//
// Implements: ibv_dealloc_mw.
func (mw *MW) Close() error {
	if err := mw.obj.Close(mw.mw.Dealloc); err != nil {
		return mw.pd.dev.err("free memory window", err)
	}
	return nil
}

// CloseAll is Close: nothing hangs on a memory window.
func (mw *MW) CloseAll() error { return mw.Close() }

// IncRKey returns the key that comes after another of the same window: its lowest
// byte is the owner's to choose.
//
// Implements: ibv_inc_rkey.
func IncRKey(rkey uint32) uint32 { return rkey&^0xff | (rkey+1)&0xff }
