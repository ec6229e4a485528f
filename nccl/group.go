package nccl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/gofabric/gofabric/internal/cudahook"
)

// Group is a list of operations that NCCL is given together: sends and receives
// that depend on each other, one operation on each of several communicators of
// this process, or several small ones that it may fuse.
//
// It is recorded in Go and issued by Run in one call on one thread, so that no
// goroutine is ever inside an NCCL group. It may run again and again, which
// allocates nothing.
//
// A group belongs to one goroutine at a time: another one gets ErrConcurrentUse.
// Its communicators may be used by others meanwhile. Close frees its memory.
type Group struct {
	busy    atomic.Bool
	closed  bool
	lib     *library
	batch   *cnccl.Batch
	ops     []recorded
	comms   []*Comm        // each once, in the order of their serials
	streams []*cuda.Stream // likewise: two groups that took them in different orders could stop each other
	wrong   error          // the first operation that was refused
}

// recorded is what NCCL's record does not hold.
type recorded struct {
	comm   *Comm
	stream *cuda.Stream
	op     RedOp
	window *Window
}

// NewGroup makes an empty group.
func NewGroup() *Group { return &Group{} }

// take makes the group the caller's until g.busy is cleared.
func (g *Group) take() error {
	if !g.busy.CompareAndSwap(false, true) {
		return ErrConcurrentUse
	}
	if g.closed {
		g.busy.Store(false)
		return ErrClosed
	}
	return nil
}

// add checks and records one operation. What is refused here is refused by Run
// too, so a program may look at Run's error only.
func (g *Group) add(c *Comm, o *operation, s *cuda.Stream) error {
	name := shapes[o.function].name
	if err := g.take(); err != nil {
		return &OpError{Op: "Group." + name, Rank: -1, Device: -1, Err: err}
	}
	defer g.busy.Store(false)
	if c == nil {
		return g.refuse(name, -1, &OpError{Op: name, Rank: -1, Device: -1, Err: badArgument("the communicator is nil")})
	}
	if err := g.check(c, o, s); err != nil {
		return g.refuse(name, c.rank, c.failed(name, err))
	}
	if g.batch == nil {
		g.lib, g.batch = c.lib, cnccl.NewBatch(c.lib.Library)
	}
	op := g.batch.Add()
	if len(o.waits) > 0 {
		recordWaits(g.batch, op, o.waits)
	}
	c.record(o, s, op)
	g.ops = append(g.ops, recorded{comm: c, stream: s, op: o.op, window: o.window})
	if !slices.Contains(g.comms, c) {
		g.comms = append(g.comms, c)
		slices.SortFunc(g.comms, func(a, b *Comm) int { return int(int64(a.serial) - int64(b.serial)) })
		g.batch.AddMember(c.member())
	}
	if !slices.Contains(g.streams, s) {
		g.streams = append(g.streams, s)
		sortStreams(g.streams)
	}
	return nil
}

func (g *Group) refuse(name string, rank int, err error) error {
	if g.wrong == nil {
		g.wrong = &GroupError{Failures: []OpFailure{{Index: len(g.ops), Op: name, Rank: rank, Err: err}}}
	}
	return err
}

func (g *Group) check(c *Comm, o *operation, s *cuda.Stream) error {
	if err := c.usable(); err != nil {
		return err
	}
	if len(g.comms) > 0 && g.comms[0].cfg.Blocking != c.cfg.Blocking {
		return badArgument("the group has %s communicators, and this one is %s: NCCL does not mix them",
			blockingName(g.comms[0].cfg.Blocking), blockingName(c.cfg.Blocking))
	}
	return c.checkOperation(o, s)
}

func blockingName(blocking bool) string {
	if blocking {
		return "blocking"
	}
	return "non-blocking"
}

// Len returns how many operations are recorded.
func (g *Group) Len() int { return len(g.ops) }

// Run issues the operations, between ncclGroupStart and ncclGroupEnd. It returns
// when the work is in the streams: Comm.Wait tells when it is done. On an error
// nothing took place; a *GroupError says which operations were refused. If ctx
// ends while NCCL is at work, every communicator of the group is broken.
//
// Implements: ncclGroupStart, ncclGroupEnd.
func (g *Group) Run(ctx context.Context) error {
	_, err := g.run(ctx, "Group.Run", cnccl.Group)
	return err
}

// Simulate asks NCCL how long the group would take, in microseconds, and issues
// nothing. Its communicators must be blocking: for others NCCL would issue the
// operations. NCCL 2.22.3.
//
// Implements: ncclGroupSimulateEnd.
func (g *Group) Simulate(ctx context.Context) (microseconds float64, err error) {
	return g.run(ctx, "Group.Simulate", cnccl.Simulate)
}

// run returns the simulated time, if there is one.
func (g *Group) run(ctx context.Context, name string, mode int) (float64, error) {
	if err := g.take(); err != nil {
		return 0, &OpError{Op: name, Rank: -1, Device: -1, Err: err}
	}
	defer g.busy.Store(false)
	if err := g.runTaken(ctx, mode); err != nil {
		return 0, &OpError{Op: name, Rank: -1, Device: -1, Err: err}
	}
	if mode != cnccl.Simulate || len(g.ops) == 0 {
		return 0, nil
	}
	return float64(g.batch.Microseconds()), nil
}

func (g *Group) runTaken(ctx context.Context, mode int) error {
	switch {
	case ctx == nil:
		return badArgument("the context is nil: use context.Background()")
	case g.wrong != nil:
		return g.wrong
	case len(g.ops) == 0:
		return nil
	}
	locked := 0
	defer func() {
		for _, c := range g.comms[:locked] {
			c.unlock()
		}
	}()
	for _, c := range g.comms {
		if err := c.lock(ctx); err != nil {
			return c.failed("Group", c.late(err))
		}
		locked++
		if err := c.usable(); err != nil {
			return c.failed("Group", err)
		}
	}
	if mode == cnccl.Simulate {
		if err := g.simulable(); err != nil {
			return err
		}
	}
	used := 0
	defer func() {
		for _, s := range g.streams[:used] {
			endUse(s)
		}
	}()
	for _, s := range g.streams {
		if err := cudahook.Begin(s); err != nil {
			return err
		}
		used++
	}
	if err := g.ready(); err != nil {
		return err
	}
	if g.batch.Run(mode, spinsInC) == cnccl.Success && g.batch.Failed() == 0 {
		return nil
	}
	if err := settle(ctx, g.comms, g.batch); err != nil {
		g.keepStreams()
		return err
	}
	return g.judge()
}

// keepStreams keeps captures off the streams of a run that was given up.
func (g *Group) keepStreams() {
	for i := range g.ops {
		g.ops[i].comm.keepStream(g.ops[i].stream)
	}
}

func (g *Group) simulable() error {
	if err := g.lib.need(cnccl.FnGroupSimulateEnd); err != nil {
		return err
	}
	if !g.comms[0].cfg.Blocking {
		return fmt.Errorf("%w: NCCL simulates blocking communicators only, and would issue the operations of others: make them with Config.Blocking",
			ErrNotSupported)
	}
	return nil
}

// ready checks what may have changed since the operations were recorded, and
// notes captures.
func (g *Group) ready() error {
	for i := range g.ops {
		r := &g.ops[i]
		if r.op >= firstCustomOp && r.comm.custom(r.op) == nil {
			return g.gone(i, "its custom reduction was closed")
		}
		if r.window != nil && r.window.handle.Load() == 0 {
			return g.gone(i, "its window was closed")
		}
		op := g.batch.Op(i)
		if op.Function == cnccl.FnPutSignal && !r.comm.windows.symmetric(op.Send, op.Count*uint64(DataType(op.Type).Size())) {
			return g.gone(i, "the window of its source was closed")
		}
		if err := r.comm.noteCapture(r.stream); err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) gone(i int, what string) error {
	return badArgument("operation %d (%s): %s after it was recorded", i, shapes[g.batch.Op(i).Function].name, what)
}

// judge makes the error of a run that has settled, and breaks the communicators
// that NCCL broke.
func (g *Group) judge() error {
	err := groupError(g.lib, g.batch, func(i int) (string, int) {
		return shapes[g.batch.Op(i).Function].name, g.ops[i].comm.rank
	})
	if err == nil {
		return nil
	}
	for _, c := range g.comms {
		if !g.harmless(c) {
			c.breakWith(err)
		}
	}
	return err
}

// harmless reports whether c is as good as before after a run that failed.
func (g *Group) harmless(c *Comm) bool {
	// If the group itself succeeded, part of it was issued.
	if g.batch.Code() == cnccl.Success || !c.harmless(g.batch.Code()) {
		return false
	}
	for i := range g.ops {
		if g.ops[i].comm == c && !c.harmless(int(g.batch.Op(i).Code)) && g.batch.Op(i).Code != cnccl.InProgress {
			return false
		}
	}
	return true
}

// groupError makes an error of a batch that ran as a group, or nil. name tells
// what an operation was and on which rank.
func groupError(lib *library, b *cnccl.Batch, name func(int) (string, int)) error {
	e := &GroupError{}
	for i := range b.Len() {
		code := int(b.Op(i).Code)
		if code == cnccl.Success || code == cnccl.InProgress {
			continue
		}
		op, rank := name(i)
		e.Failures = append(e.Failures, OpFailure{Index: i, Op: op, Rank: rank, Err: lib.codeError(code, b)})
	}
	e.End = lib.outcome(b)
	if len(e.Failures) == 0 && e.End == nil {
		return nil
	}
	return e
}

// Reset forgets the operations and keeps the memory.
func (g *Group) Reset() error {
	if err := g.take(); err != nil {
		return &OpError{Op: "Group.Reset", Rank: -1, Device: -1, Err: err}
	}
	defer g.busy.Store(false)
	g.reset()
	return nil
}

func (g *Group) reset() {
	if g.batch != nil {
		g.batch.Reset()
	}
	clear(g.ops)
	clear(g.comms)
	clear(g.streams)
	g.ops, g.comms, g.streams, g.wrong = g.ops[:0], g.comms[:0], g.streams[:0], nil
}

// Close frees the group's memory. A second Close does nothing.
func (g *Group) Close() error {
	err := g.take()
	if errors.Is(err, ErrClosed) {
		return nil
	}
	if err != nil {
		return &OpError{Op: "Group.Close", Rank: -1, Device: -1, Err: err}
	}
	defer g.busy.Store(false)
	g.reset()
	if g.batch != nil {
		g.batch.Free()
	}
	g.closed = true
	return nil
}
