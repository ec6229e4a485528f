package nccl

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/gofabric/gofabric/internal/life"
)

// Comm is a communicator: one rank, on one device, of those that communicate.
//
// It is safe for concurrent use. A call waits until the one before has left
// NCCL; its context ends that waiting, and of a non-blocking communicator the
// call itself. All ranks must issue the same operations in the same order, so
// goroutines that share a communicator have to agree on one.
//
// An operation that was cancelled inside NCCL, and one that NCCL failed, leaves
// the communicator broken: Abort is all that is left (ErrBroken says so).
//
// Close ends it in good order with all other ranks, Abort at once. Nothing ends
// it behind the program's back: no finaliser closes a communicator, since that
// takes all ranks.
type Comm struct {
	obj    life.Object
	graphs captures
	lib    *library
	dev    *cuda.Device
	cfg    Config

	// context is the device's; handle is NCCL's.
	context uint64
	handle  uint64
	rank    int
	size    int
	serial  uint64 // communicators of a group are locked in this order

	customs customOps
	windows windowList

	// turn holds a token while somebody is inside. Its holder owns what follows.
	turn  chan struct{}
	batch *cnccl.Batch
	slot  cnccl.Slot
	timer *time.Timer // for naps while NCCL is at work
	self  []*Comm     // this one
	// Slots of calls that were given up; NCCL may write there until the abort.
	// What grew out of this communicator has a thread of NCCL's of its own, which
	// uses this one; other children are made by this one's thread.
	orphans, grown []cnccl.Slot
	// Streams of operations that were given up, on which NCCL may put them until
	// the abort.
	kept []*cuda.Stream

	state atomic.Int32
	cause atomic.Pointer[error] // why it is broken
	stop  chan struct{}         // closed when an abort begins
	abort abortion
	// halted is why work ended last that was not done.
	halted atomic.Pointer[halt]
}

// States of a communicator. They only grow, but for suspended and back.
const (
	starting int32 = iota
	ready
	suspended
	revoked
	finalized
	broken
	aborting
	gone
)

var serials atomic.Uint64

// newComm makes a communicator that NCCL does not know yet, with the turn taken.
func newComm(lib *library, dev *cuda.Device, rank, size int, cfg Config) *Comm {
	c := &Comm{
		lib: lib, dev: dev, cfg: cfg,
		context: uint64(dev.Context()),
		rank:    rank, size: size,
		serial: serials.Add(1),
		turn:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		abort:  abortion{begun: make(chan struct{}), done: make(chan struct{})},
		slot:   cnccl.NewSlot(),
		batch:  cnccl.NewBatch(lib.Library),
	}
	c.self = []*Comm{c}
	c.slot.SetConfig(cfg.raw(), int(lib.info.Version))
	c.turn <- struct{}{}
	return c
}

// enter registers the communicator under its device.
func (c *Comm) enter() error {
	dev := deviceObject(c.dev)
	if err := dev.Use(); err != nil {
		return err
	}
	defer dev.Done()
	life.Enter(&c.graphs.Object, &c.graphs, c.String())
	life.EnterFirst(&c.obj, c, c.String(), dev)
	return nil
}

// begin makes the communicator usable once NCCL has.
func (c *Comm) begin() {
	c.handle = c.slot.Comm()
	c.prepare()
	c.state.CompareAndSwap(starting, ready)
}

// prepare sets the batch up for single operations.
func (c *Comm) prepare() {
	c.batch.Reset()
	c.batch.Add()
	c.batch.AddMember(c.member())
}

func (c *Comm) member() cnccl.Member {
	return cnccl.Member{Comm: c.handle, Context: c.context}
}

// String names the communicator in errors: "communicator 3 (rank 1 of 4)".
func (c *Comm) String() string {
	name := fmt.Sprintf("communicator %d", c.serial)
	if c.cfg.Name != "" {
		name += fmt.Sprintf(" %q", c.cfg.Name)
	}
	return fmt.Sprintf("%s (rank %d of %d)", name, c.rank, c.size)
}

// Rank returns this rank, from 0.
func (c *Comm) Rank() int { return c.rank }

// Size returns how many ranks there are.
func (c *Comm) Size() int { return c.size }

// Device returns the device that the communicator runs on.
func (c *Comm) Device() *cuda.Device { return c.dev }

// Blocking reports whether calls block inside NCCL.
func (c *Comm) Blocking() bool { return c.cfg.Blocking }

// made reports whether c is more than a zero value.
func (c *Comm) made() bool { return c != nil && c.turn != nil }

// lock takes the turn, or answers why it cannot: the context's end, or an abort.
func (c *Comm) lock(ctx context.Context) error {
	if !c.made() {
		return ErrClosed
	}
	if ctx == nil {
		return badArgument("the context is nil: use context.Background()")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.stop:
		return ErrAborted
	}
}

func (c *Comm) unlock() { <-c.turn }

// usable says why an operation is not allowed, or nothing.
func (c *Comm) usable(allowed ...int32) error {
	if !c.made() {
		return ErrClosed
	}
	state := c.state.Load()
	if state == ready {
		return nil
	}
	for _, a := range allowed {
		if state == a {
			return nil
		}
	}
	return c.refusal(state)
}

func (c *Comm) refusal(state int32) error {
	switch state {
	case suspended:
		return ErrSuspended
	case revoked:
		return ErrRevoked
	case finalized:
		return ErrFinalized
	case broken:
		return c.brokenError()
	case aborting:
		return ErrAborted
	case starting:
		return badArgument("the communicator is being made: wait until that is over")
	}
	if c.abort.happened.Load() {
		return errAbortedEarlier
	}
	return ErrClosed
}

// errAbortedEarlier is a closed communicator, and says how it came to that.
var errAbortedEarlier = fmt.Errorf("%w: %w", ErrAborted, ErrClosed)

// brokenError carries the cause along.
func (c *Comm) brokenError() error {
	if cause := c.cause.Load(); cause != nil {
		return fmt.Errorf("%w: %w", ErrBroken, *cause)
	}
	return ErrBroken
}

// breakWith notes that only Abort is left, and why.
func (c *Comm) breakWith(cause error) {
	c.cause.CompareAndSwap(nil, &cause)
	for {
		state := c.state.Load()
		if state >= broken || c.state.CompareAndSwap(state, broken) {
			return
		}
	}
}

// failed makes the error of an operation.
func (c *Comm) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	var already *OpError
	if errors.As(err, &already) {
		return err
	}
	if !c.made() {
		return startError(op, nil, err)
	}
	return &OpError{Op: op, Rank: c.rank, Size: c.size, Device: c.dev.Ordinal(), Err: err}
}
