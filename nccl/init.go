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

// InitRank makes the communicator of one rank, with all other ranks: it returns
// when every one of size ranks has called it with the same id, or when ctx ends.
// A cancelled start is aborted inside, within Config.AbortTimeout, and leaves
// nothing behind; the id cannot be used again. With Config.Blocking nothing can
// end the wait once NCCL has begun.
//
// Errors: ErrIDUsed if this process has started that rank with that id before;
// ResultInvalidArgument; what NCCL answers.
//
// Implements: ncclCommInitRankConfig, ncclCommInitRank.
func InitRank(ctx context.Context, dev *cuda.Device, id UniqueID, rank, size int, cfg Config) (*Comm, error) {
	return initRank(ctx, "InitRank", dev, []UniqueID{id}, rank, size, cfg, cnccl.FnCommInitRankConfig)
}

// InitRankScalable is InitRank for very many ranks: with several ids, each made
// by NewUniqueID on another rank and handed to all in the same order, the start
// spreads over the processes that made them.
//
// Implements: ncclCommInitRankScalable.
func InitRankScalable(ctx context.Context, dev *cuda.Device, ids []UniqueID, rank, size int, cfg Config) (*Comm, error) {
	return initRank(ctx, "InitRankScalable", dev, ids, rank, size, cfg, cnccl.FnCommInitRankScalable)
}

// startError is the error of a start that reached no communicator.
func startError(op string, dev *cuda.Device, err error) error {
	ordinal := -1
	if dev != nil {
		ordinal = dev.Ordinal()
	}
	return &OpError{Op: op, Rank: -1, Device: ordinal, Err: err}
}

func checkStart(ctx context.Context, dev *cuda.Device, rank, size int) error {
	switch {
	case ctx == nil:
		return badArgument("the context is nil: use context.Background()")
	case dev == nil:
		return badArgument("the device is nil: cuda.Open makes one")
	case size < 1:
		return badArgument("size is %d: a communicator has at least one rank", size)
	case !fits(size):
		return badArgument("size is %d: a communicator has at most %d ranks", size, math.MaxInt32)
	case rank < 0 || rank >= size:
		return badArgument("rank is %d: with size %d it is 0 to %d", rank, size, size-1)
	}
	return ctx.Err()
}

func initRank(ctx context.Context, name string, dev *cuda.Device, ids []UniqueID, rank, size int, cfg Config, function int32) (*Comm, error) {
	fail := func(err error) (*Comm, error) { return nil, startError(name, dev, err) }
	lib, err := load(LoadOptions{})
	if err != nil {
		return fail(err)
	}
	if err := checkStart(ctx, dev, rank, size); err != nil {
		return fail(err)
	}
	if len(ids) == 0 || len(ids) > size {
		return fail(badArgument("%d ids for %d ranks: there is at least one, and at most one for each rank", len(ids), size))
	}
	if err := cfg.check(lib); err != nil {
		return fail(err)
	}
	if !lib.supported[function] && function == cnccl.FnCommInitRankConfig && cfg.plain() {
		function = cnccl.FnCommInitRank
	}
	if err := lib.need(int(function)); err != nil {
		return fail(err)
	}
	if err := claimID(ids[0], rank); err != nil {
		return fail(err)
	}
	c := newComm(lib, dev, rank, size, cfg)
	c.slot.SetIDs(raw(ids)...)
	op := cnccl.Op{Function: function, Slot: c.slot.Address(), Context: c.context, Peer: int32(rank), Signal: int32(size)}
	if err := start(ctx, []*Comm{c}, cnccl.Alone, op); err != nil {
		return nil, c.failed(name, err)
	}
	return c, nil
}

func raw(ids []UniqueID) [][128]byte {
	list := make([][128]byte, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return list
}

// start makes communicators known to NCCL, one operation for each. It gives the
// turns back. If that fails they are aborted, within the bound of the first's
// configuration, and nothing is left.
func start(ctx context.Context, comms []*Comm, mode int, ops ...cnccl.Op) error {
	lib := comms[0].lib
	entered := 0
	var err error
	for _, c := range comms {
		if err = c.enter(); err != nil {
			break
		}
		entered++
	}
	b := cnccl.NewBatch(lib.Library)
	defer b.Free()
	if err == nil {
		for i, c := range comms {
			*b.Add() = ops[i]
			b.AddMember(cnccl.Member{Slot: c.slot.Address(), Context: c.context})
		}
		b.Run(mode, spinsInC)
		if err = settle(ctx, comms, b); err == nil {
			err = groupOutcome(lib, b, comms, mode)
		}
	}
	for i, c := range comms {
		if i < entered {
			c.handle = c.slot.Comm()
			if err == nil {
				c.begin()
			} else {
				c.breakWith(err)
			}
		}
		c.unlock()
	}
	if err == nil {
		return nil
	}
	for _, c := range comms[entered:] {
		c.free()
	}
	if aborted := AbortAll(context.WithoutCancel(ctx), comms[:entered]...); aborted != nil {
		return fmt.Errorf("%w; and the abort: %w", err, aborted)
	}
	return err
}

// groupOutcome is the error of a start, with that of each rank if there were
// several.
func groupOutcome(lib *library, b *cnccl.Batch, comms []*Comm, mode int) error {
	if mode == cnccl.Alone {
		return lib.outcome(b)
	}
	return groupError(lib, b, func(i int) (string, int) { return "InitRank", comms[i].rank })
}

// InitAll makes a communicator of all the devices given, in this process: the
// rank of a device is its place in the list. It does what ncclCommInitAll does,
// with a configuration and a context. Its operations are issued by one Group for
// all ranks, or by a goroutine for each.
//
// Implements: ncclCommInitAll.
func InitAll(ctx context.Context, devs []*cuda.Device, cfg Config) ([]*Comm, error) {
	fail := func(err error) ([]*Comm, error) { return nil, startError("InitAll", nil, err) }
	lib, err := load(LoadOptions{})
	if err != nil {
		return fail(err)
	}
	if len(devs) == 0 {
		return fail(badArgument("no device is given"))
	}
	for i, dev := range devs {
		if err := checkStart(ctx, dev, i, len(devs)); err != nil {
			return fail(err)
		}
		if slices.ContainsFunc(devs[:i], func(d *cuda.Device) bool { return d.Ordinal() == dev.Ordinal() }) {
			return fail(badArgument("device %d is given twice: NCCL wants one rank for each GPU", dev.Ordinal()))
		}
	}
	if err := errors.Join(cfg.check(lib), lib.need(cnccl.FnCommInitRankConfig)); err != nil {
		return fail(err)
	}
	id, err := NewUniqueID()
	if err != nil {
		return nil, err
	}
	comms := make([]*Comm, len(devs))
	ops := make([]cnccl.Op, len(devs))
	for i, dev := range devs {
		// The id is new: nobody has used it.
		_ = claimID(id, i)
		c := newComm(lib, dev, i, len(devs), cfg)
		c.slot.SetIDs(id)
		comms[i] = c
		ops[i] = cnccl.Op{
			Function: cnccl.FnCommInitRankConfig, Slot: c.slot.Address(), Context: c.context,
			Peer: int32(i), Signal: int32(len(devs)),
		}
	}
	if err := start(ctx, comms, cnccl.Group, ops...); err != nil {
		return fail(err)
	}
	return comms, nil
}
