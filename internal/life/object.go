package life

import (
	"errors"
	"sync"
)

// ErrClosed is answered by every method of an object that was closed, and of
// one that was never opened.
var ErrClosed = errors.New("already closed")

// Object is the part of an SDK object that the registry knows. It is safe for
// concurrent use. Its zero value counts as closed until Enter.
type Object struct {
	mu    sync.RWMutex
	entry *entry // nil before Enter and after Close
}

// Use keeps the object open until Done, or answers ErrClosed. A method calls
// it before it touches what the object owns.
func (o *Object) Use() error {
	o.mu.RLock()
	if o.entry == nil {
		o.mu.RUnlock()
		return ErrClosed
	}
	return nil
}

// Done ends what Use began.
func (o *Object) Done() { o.mu.RUnlock() }

// Enter registers owner, whose Object o is, under a name that tells it apart
// from its siblings. The parents must be in use by the caller (Use), so that
// none can close in between.
func Enter(o *Object, owner Closer, name string, parents ...*Object) {
	enter(o, &entry{name: name, stack: callers(), owner: owner}, parents)
}

// EnterFirst is Enter for an owner that closes before its siblings, newer ones
// too: it uses them without holding them, as a communicator does the buffers of
// its device.
func EnterFirst(o *Object, owner Closer, name string, parents ...*Object) {
	enter(o, &entry{name: name, stack: callers(), owner: owner, first: true}, parents)
}

func enter(o *Object, e *entry, parents []*Object) {
	for _, p := range parents {
		e.parents = append(e.parents, p.entry)
	}
	// Whoever finds the entry finds the object open.
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entry = e
	e.enter()
}

// Hold makes parent refuse to close while o is open, as the parents given to
// Enter do, until Release. Both must be in use by the caller.
func (o *Object) Hold(parent *Object) { o.entry.hold(parent.entry) }

// Release ends what Enter or Hold began with a parent, which is open for it is
// held. o must be in use by the caller.
func (o *Object) Release(parent *Object) { o.entry.release(parent.entry) }

// Close waits for the calls inside, runs destroy and leaves the registry. It
// does nothing if the object is closed already. While children are open it
// answers a *BusyError; if destroy fails, the object stays open.
func (o *Object) Close(destroy func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.entry == nil {
		return nil
	}
	if err := o.entry.busy(); err != nil {
		return err
	}
	if err := destroy(); err != nil {
		return err
	}
	o.entry.leave()
	o.entry = nil
	return nil
}

// CloseChildren closes the objects below o, the newest first, each with its
// own children. It goes on after an error and returns all of them.
func (o *Object) CloseChildren() error {
	if o.Use() != nil {
		return nil
	}
	children := o.entry.newestFirst()
	o.Done()
	var errs []error
	for _, c := range children {
		errs = append(errs, c.owner.CloseAll())
	}
	return errors.Join(errs...)
}
