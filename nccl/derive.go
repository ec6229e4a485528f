package nccl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
)

// NoColor is the color of a rank that is in none of the communicators that
// Split makes.
const NoColor = -1

// Split makes communicators of the ranks that give the same color, ordered by
// key and then by rank. Every rank of c must call it; one that gives NoColor
// gets nil and no error. A zero field of cfg takes what c has.
//
// If ctx ends first, c is broken too: the start of the child goes through it.
//
// Implements: ncclCommSplit.
func (c *Comm) Split(ctx context.Context, color, key int, cfg Config) (*Comm, error) {
	if color < NoColor || color > math.MaxInt32 {
		return nil, c.failed("Split", badArgument("color is %d: it is NoColor, or 0 to %d", color, math.MaxInt32))
	}
	if !fits(key) {
		return nil, c.failed("Split", badArgument("key is %d: it has 32 bits", key))
	}
	op := cnccl.Op{Function: cnccl.FnCommSplit, Peer: int32(color), Signal: int32(key)}
	return c.derive(ctx, "Split", op, cfg, func(*Comm) {})
}

// ShrinkMode says what Shrink does with work that is under way.
type ShrinkMode int

// NCCL's modes.
const (
	// ShrinkDefault expects that no operation is under way.
	ShrinkDefault ShrinkMode = 0
	// ShrinkAbort first ends what is under way on the parent, which is what to
	// do when a rank has died.
	ShrinkAbort ShrinkMode = 1
)

// Shrink makes a communicator without the ranks in exclude. Every other rank of
// c must call it, and the excluded ones must not. The ranks move up to fill the
// gaps. c remains, to be closed or, after a failure, aborted. A zero field of
// cfg takes what c has.
//
// Implements: ncclCommShrink.
func (c *Comm) Shrink(ctx context.Context, exclude []int, mode ShrinkMode, cfg Config) (*Comm, error) {
	if err := c.checkExcluded(exclude); err != nil {
		return nil, c.failed("Shrink", err)
	}
	if mode != ShrinkDefault && mode != ShrinkAbort {
		return nil, c.failed("Shrink", badArgument("the mode is %d: it is ShrinkDefault or ShrinkAbort", int(mode)))
	}
	op := cnccl.Op{Function: cnccl.FnCommShrink, Flags: uint32(mode)}
	return c.derive(ctx, "Shrink", op, cfg, func(child *Comm) { child.slot.SetExcluded(exclude) })
}

// errShrunk is what became of the work that Shrink ended.
var errShrunk = fmt.Errorf("%w: Shrink ended the work that was under way", ErrAborted)

func (c *Comm) checkExcluded(exclude []int) error {
	if !c.made() {
		return ErrClosed
	}
	if len(exclude) == 0 {
		return badArgument("no rank is excluded: Split with one color copies a communicator")
	}
	for i, r := range exclude {
		switch {
		case r < 0 || r >= c.size:
			return badArgument("rank %d is excluded: the ranks are 0 to %d", r, c.size-1)
		case r == c.rank:
			return badArgument("this rank, %d, is excluded: it must not call Shrink", r)
		case slices.Contains(exclude[:i], r):
			return badArgument("rank %d is excluded twice", r)
		}
	}
	return nil
}

// UniqueID makes the id with which new ranks join c: one rank makes it, gives it
// to Grow and hands it to the new ranks, which give it to JoinGrown. There is
// one at a time, and each serves once.
//
// Implements: ncclCommGetUniqueId.
func (c *Comm) UniqueID(ctx context.Context) (UniqueID, error) {
	var id UniqueID
	err := c.locked(ctx, "UniqueID", func() error {
		s := cnccl.NewSlot()
		s.SetIDs(id)
		if err := c.fill(ctx, s, cnccl.Op{Function: cnccl.FnCommGetUniqueId}); err != nil {
			return err
		}
		id = s.ID()
		s.Free()
		return nil
	})
	return id, err
}

// Grow makes a communicator of size ranks, those of c and new ones. Every rank
// of c calls it, the one that made the id with UniqueID gives it, the others
// nil; the new ranks call JoinGrown. c remains, to be closed. A zero field of
// cfg takes what c has.
//
// UniqueID must have been called before: without an id the other ranks wait for it
// inside NCCL, where no context ends the wait.
//
// Implements: ncclCommGrow.
func (c *Comm) Grow(ctx context.Context, size int, id *UniqueID, cfg Config) (*Comm, error) {
	if c.made() && (size <= c.size || !fits(size)) {
		return nil, c.failed("Grow", badArgument("size is %d: it is greater than the %d of now, and at most %d", size, c.size, math.MaxInt32))
	}
	op := cnccl.Op{Function: cnccl.FnCommGrow, Peer: -1, Signal: int32(size)}
	return c.derive(ctx, "Grow", op, cfg, func(child *Comm) {
		if id != nil {
			child.slot.SetIDs(*id)
		}
	})
}

// JoinGrown makes the communicator of a rank that is new in one that grows. rank
// is at least the size that the communicator had, and size what it will have.
//
// Implements: ncclCommGrow.
func JoinGrown(ctx context.Context, dev *cuda.Device, id UniqueID, rank, size int, cfg Config) (*Comm, error) {
	return initRank(ctx, "JoinGrown", dev, []UniqueID{id}, rank, size, cfg, cnccl.FnCommGrow)
}

// derive makes a communicator out of c.
func (c *Comm) derive(ctx context.Context, name string, op cnccl.Op, cfg Config, prepare func(*Comm)) (*Comm, error) {
	if !c.made() {
		return nil, c.failed(name, ErrClosed)
	}
	if err := cfg.inherit(&c.cfg); err != nil {
		return nil, c.failed(name, err)
	}
	if err := cfg.check(c.lib); err != nil {
		return nil, c.failed(name, err)
	}
	var child *Comm
	err := c.locked(ctx, name, func() error {
		if err := c.lib.need(int(op.Function)); err != nil {
			return err
		}
		// The rank is known when NCCL has ordered them.
		child = newComm(c.lib, c.dev, c.rank, c.size, cfg)
		prepare(child)
		bear := func() error { return c.bear(ctx, child, op) }
		if op.Function == cnccl.FnCommShrink && op.Flags&uint32(ShrinkAbort) != 0 {
			return c.halting(errShrunk, bear)
		}
		return bear()
	}, c.derivable(op.Function)...)
	if err != nil {
		return nil, err
	}
	if child.handle == 0 {
		child.free()
		return nil, nil
	}
	if err := child.adopt(); err != nil {
		return nil, c.failed(name, err)
	}
	return child, nil
}

// derivable lists the states, besides ready, that allow a function.
func (c *Comm) derivable(function int32) []int32 {
	if function == cnccl.FnCommGrow {
		return nil
	}
	return []int32{revoked}
}

// bear runs the operation that makes the child. If it is given up, the child's
// memory stays with c until c is aborted, along with what NCCL has made of the
// child by then.
func (c *Comm) bear(ctx context.Context, child *Comm, op cnccl.Op) error {
	op.Slot = child.slot.Address()
	err := c.control(ctx, op, child.slot)
	switch {
	case err == nil:
		child.handle = child.slot.Comm()
		return nil
	case c.state.Load() < broken:
		child.free()
		return err
	case op.Function == cnccl.FnCommGrow:
		c.grown = append(c.grown, child.slot)
	default:
		c.orphans = append(c.orphans, child.slot)
	}
	child.batch.Free()
	return err
}

// adopt completes a child that NCCL has made, and gives its turn back.
func (c *Comm) adopt() error {
	rank, size, _, code := c.lib.Identity(c.handle)
	if code != 0 {
		err := c.lib.failure(code, "")
		c.breakWith(err)
	}
	c.rank, c.size = rank, size
	if err := c.enter(); err != nil {
		c.breakWith(err)
	}
	c.begin()
	c.unlock()
	if err := c.usable(); err != nil {
		return errors.Join(err, c.Abort(context.Background()))
	}
	return nil
}
