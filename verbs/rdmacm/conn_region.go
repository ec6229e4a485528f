package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/verbs"
)

// RegionAccess is what a peer may do with a region.
type RegionAccess uint32

// Rights on a region.
const (
	RegionRead RegionAccess = 1 << iota
	RegionWrite
)

func (a RegionAccess) check() error {
	if a == 0 || a&^(RegionRead|RegionWrite) != 0 {
		return fmt.Errorf("access 0x%x: it must be RegionRead, RegionWrite or both", uint32(a))
	}
	return nil
}

// maxRegions bounds how many regions a peer makes this side remember.
const maxRegions = 4096

// Region is memory of this side that the peer may reach until it is revoked. It
// is safe for concurrent use.
type Region struct {
	c         *Conn
	id        uint32
	name      string
	confirmed chan struct{} // the peer has let go of it
	revoking  chan struct{} // holds a token while the peer is being asked
	asked     bool          // guarded by revoking
}

// RemoteRegion is memory of the peer that this side may reach. It is safe for
// concurrent use.
type RemoteRegion struct {
	c    *Conn
	note regionNote

	mu      sync.Mutex
	revoked bool
	using   int // operations under way

	gone atomic.Bool // revoked, for a look without the lock
}

// regions is what both sides know of each other's memory.
type regions struct {
	mu      sync.Mutex
	last    uint32
	own     map[uint32]*Region
	byName  map[string]*RemoteRegion
	byID    map[uint32]*RemoteRegion
	learned chan struct{} // closed and made anew when a region becomes known, or none will
	revoked []uint32      // to be confirmed to the peer
}

func (r *regions) init() {
	r.own = map[uint32]*Region{}
	r.byName, r.byID = map[string]*RemoteRegion{}, map[uint32]*RemoteRegion{}
	r.learned = make(chan struct{})
}

// Advertise lets the peer read or write n bytes of a memory region, from off,
// under a name of up to 128 bytes; a later region of the same name takes its
// place at the peer. The memory must be registered in the hub's PD, with the
// rights that are given, and stay so until Revoke has returned or the connection
// is closed.
func (c *Conn) Advertise(ctx context.Context, name string, mr *verbs.MR, off, n int, access RegionAccess) (*Region, error) {
	const op = "advertise"
	if err := checkRegion(c.hub.pd, name, mr, off, n, access); err != nil {
		return nil, c.fault(op, err)
	}
	r := &Region{c: c, name: name, confirmed: make(chan struct{}), revoking: make(chan struct{}, 1)}
	c.regions.mu.Lock()
	full := len(c.regions.own) >= maxRegions
	if !full {
		c.regions.last++
		r.id = c.regions.last
		c.regions.own[r.id] = r
	}
	c.regions.mu.Unlock()
	if full {
		return nil, c.fault(op, fmt.Errorf("%d regions are advertised: a peer need not know more", maxRegions))
	}
	note := regionNote{id: r.id, access: access, addr: mr.Addr() + uint64(off), length: uint64(n), rkey: mr.RKey(), name: name}
	if err := c.send.note(ctx, kindRegion, note.append); err != nil {
		c.regions.forget(r.id)
		return nil, c.fault(op, err)
	}
	return r, nil
}

func checkRegion(pd *verbs.PD, name string, mr *verbs.MR, off, n int, access RegionAccess) error {
	if len(name) > maxName {
		return fmt.Errorf("a name of %d bytes: %d are allowed", len(name), maxName)
	}
	if mr == nil {
		return errNoMemory
	}
	if !mr.In(pd) {
		return errForeignMemory
	}
	if off < 0 || n < 1 || off > mr.Len()-n {
		return fmt.Errorf("%d bytes from %d: the region has %d", n, off, mr.Len())
	}
	if err := access.check(); err != nil {
		return err
	}
	if access&RegionRead != 0 && mr.Access()&verbs.AccessRemoteRead == 0 {
		return errors.New("the memory is not registered with AccessRemoteRead")
	}
	if access&RegionWrite != 0 && mr.Access()&verbs.AccessRemoteWrite == 0 {
		return errors.New("the memory is not registered with AccessRemoteWrite")
	}
	return nil
}

// note sends a message of the connection's own that takes a credit.
func (s *sendSide) note(ctx context.Context, k kind, write func([]byte) []byte) error {
	buf, err := s.body(write)
	if err != nil {
		return err
	}
	if err := s.messageOf(ctx, k, buf, nil); err != nil {
		buf.done()
		return err
	}
	return nil
}

func (r *regions) forget(id uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.own, id)
}

// Name returns the region's name.
func (r *Region) Name() string { return r.name }

// Revoke takes the region back: it returns when the peer has confirmed that its
// operations on it have ended and it starts no more. If the context ends first,
// Revoke may be called again. A peer that does not confirm is kept out by closing
// the memory region, which ends the connection if it tries.
func (r *Region) Revoke(ctx context.Context) error {
	const op = "revoke"
	select {
	case r.revoking <- struct{}{}:
	case <-r.confirmed:
		return nil
	case <-r.c.dead:
		return nil // nobody reaches the memory through a connection that is over
	case <-ctx.Done():
		return r.c.fault(op, ctx.Err())
	}
	defer func() { <-r.revoking }()
	if !r.asked {
		err := r.c.send.note(ctx, kindRevoke, func(b []byte) []byte { return appendID(b, r.id) })
		if err != nil && r.c.over() == nil {
			return r.c.fault(op, err)
		}
		r.asked = true
	}
	select {
	case <-r.confirmed:
		return nil
	case <-r.c.dead:
		return nil
	case <-ctx.Done():
		return r.c.fault(op, ctx.Err())
	}
}

// confirmed takes note that the peer has let go of a region.
func (r *regions) confirmed(id uint32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.own[id]
	if own == nil {
		return fmt.Errorf("%w: it let go of a region that it was not given", ErrProtocol)
	}
	delete(r.own, id)
	close(own.confirmed)
	return nil
}

// learn takes in a region of the peer.
func (r *regions) learn(c *Conn, note regionNote) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.byID) >= maxRegions || r.byID[note.id] != nil {
		return fmt.Errorf("%w: too many regions, or one of them twice", ErrProtocol)
	}
	remote := &RemoteRegion{c: c, note: note}
	r.byID[note.id], r.byName[note.name] = remote, remote
	r.wake()
	return nil
}

// end takes note that the peer advertises no more, which recvSide.atEnd says.
func (r *regions) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
}

// wake has those who wait look again. The lock is held.
func (r *regions) wake() {
	close(r.learned)
	r.learned = make(chan struct{})
}

// revoke has a region used no more.
func (r *regions) revoke(_ *Conn, id uint32) error {
	r.mu.Lock()
	remote := r.byID[id]
	if remote != nil {
		delete(r.byID, id)
		if r.byName[remote.note.name] == remote {
			delete(r.byName, remote.note.name)
		}
	}
	r.mu.Unlock()
	if remote == nil {
		return fmt.Errorf("%w: it revoked a region that it did not give", ErrProtocol)
	}
	remote.mu.Lock()
	remote.revoked = true
	remote.gone.Store(true)
	free := remote.using == 0
	remote.mu.Unlock()
	if free {
		r.confirm(id)
	}
	return nil
}

func (r *regions) confirm(id uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revoked = append(r.revoked, id)
}

// nextRevoked returns a region that the peer has not been told to be free.
func (r *regions) nextRevoked() (id uint32, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.revoked) == 0 {
		return 0, false
	}
	id = r.revoked[0]
	r.revoked = r.revoked[:copy(r.revoked, r.revoked[1:])]
	return id, true
}

// use keeps a region from being given up, unless it was.
func (r *regions) use(remote *RemoteRegion) bool {
	remote.mu.Lock()
	defer remote.mu.Unlock()
	if remote.revoked {
		return false
	}
	remote.using++
	return true
}

func (r *regions) unuse(remote *RemoteRegion) {
	remote.mu.Lock()
	remote.using--
	free := remote.revoked && remote.using == 0
	remote.mu.Unlock()
	if free {
		r.confirm(remote.note.id)
	}
}

// Region returns the peer's region of a name, waiting until the peer has
// advertised it. It returns io.EOF when the peer has closed its side and had not.
func (c *Conn) Region(ctx context.Context, name string) (*RemoteRegion, error) {
	const op = "find region"
	for {
		c.regions.mu.Lock()
		r, learned := c.regions.byName[name], c.regions.learned
		c.regions.mu.Unlock()
		if r != nil {
			return r, nil
		}
		if c.recv.atEnd() {
			return nil, io.EOF
		}
		select {
		case <-learned:
		case <-c.dead:
			return nil, c.fault(op, c.reason())
		case <-ctx.Done():
			return nil, c.fault(op, ctx.Err())
		}
	}
}

// Name returns the name that the peer gave the region.
func (r *RemoteRegion) Name() string { return r.note.name }

// Len returns the region's length in bytes.
func (r *RemoteRegion) Len() uint64 { return r.note.length }

// Access returns what this side may do with the region.
func (r *RemoteRegion) Access() RegionAccess { return r.note.access }

// Revoked reports whether the peer has taken the region back.
func (r *RemoteRegion) Revoked() bool { return r.gone.Load() }

func (r *RemoteRegion) check(c *Conn, off, n uint64, right RegionAccess) error {
	switch {
	case r == nil || r.c != c:
		return errors.New("the region is of another connection")
	case off > r.note.length || n > r.note.length-off:
		return fmt.Errorf("%d bytes from %d: the region has %d", n, off, r.note.length)
	case r.note.access&right == 0 && right == RegionRead:
		return errors.New("the peer did not allow reading")
	case r.note.access&right == 0:
		return errors.New("the peer did not allow writing")
	case r.Revoked():
		return ErrRevoked
	}
	return nil
}

func (r *RemoteRegion) at(off, n uint64) verbs.RemoteBuffer {
	return verbs.RemoteBuffer{Addr: r.note.addr + off, RKey: r.note.rkey, Len: n}
}
