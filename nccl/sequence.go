package nccl

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/cnccl"
	"github.com/gofabric/gofabric/internal/cudahook"
)

// Sequence is groups that are issued one after another, each as Group.Run does
// it, in one call on one thread: what a program repeats for each, the locks and
// the way into C, it pays once. It is for many small operations whose issuing
// takes as long as the operations.
//
// Its groups must not be changed or closed before it. It may run again and again,
// which allocates nothing. It belongs to one goroutine at a time: another one
// gets ErrConcurrentUse. Close frees its memory.
type Sequence struct {
	busy    atomic.Bool
	order   []*Group
	groups  []*Group       // each once
	comms   []*Comm        // each once, in the order of their serials
	streams []*cuda.Stream // likewise
	list    *cnccl.List
}

// NewSequence makes a sequence of groups, in that order. A group may stand in it
// several times. All communicators are blocking, or none is.
func NewSequence(groups ...*Group) (*Sequence, error) {
	s := &Sequence{}
	var batches []*cnccl.Batch
	for i, g := range groups {
		if g == nil {
			return nil, sequenceError(badArgument("group %d is nil", i))
		}
		if err := g.take(); err != nil {
			return nil, sequenceError(err)
		}
		err := g.wrong
		if len(g.ops) > 0 {
			s.order, batches = append(s.order, g), append(batches, g.batch)
			s.adopt(g)
		}
		g.busy.Store(false)
		if err != nil {
			return nil, sequenceError(err)
		}
	}
	for _, c := range s.comms {
		if first := s.comms[0]; c.cfg.Blocking != first.cfg.Blocking {
			return nil, sequenceError(badArgument("the groups have blocking and non-blocking communicators"))
		}
	}
	s.list = cnccl.NewList(batches)
	return s, nil
}

// adopt notes what belongs to a group.
func (s *Sequence) adopt(g *Group) {
	if slices.Contains(s.groups, g) {
		return
	}
	s.groups = append(s.groups, g)
	for _, c := range g.comms {
		if !slices.Contains(s.comms, c) {
			s.comms = append(s.comms, c)
		}
	}
	slices.SortFunc(s.comms, func(a, b *Comm) int { return int(int64(a.serial) - int64(b.serial)) })
	for _, stream := range g.streams {
		if !slices.Contains(s.streams, stream) {
			s.streams = append(s.streams, stream)
		}
	}
	sortStreams(s.streams)
}

func sequenceError(err error) error {
	return &OpError{Op: "Sequence", Rank: -1, Device: -1, Err: err}
}

// Run issues the groups. It returns when the work is in the streams: Comm.Wait
// tells when it is done. On an error the groups before the failed one are in the
// streams, and those after it are not. Once NCCL has begun on a blocking
// communicator, the end of ctx does not stop it before the last group.
//
// Implements: ncclGroupStart, ncclGroupEnd.
func (s *Sequence) Run(ctx context.Context) error {
	if !s.busy.CompareAndSwap(false, true) {
		return sequenceError(ErrConcurrentUse)
	}
	defer s.busy.Store(false)
	if err := s.run(ctx); err != nil {
		return sequenceError(err)
	}
	return nil
}

func (s *Sequence) run(ctx context.Context) error {
	switch {
	case ctx == nil:
		return badArgument("the context is nil: use context.Background()")
	case s.list == nil:
		return ErrClosed
	}
	taken, locked, used := 0, 0, 0
	defer func() {
		for _, stream := range s.streams[:used] {
			endUse(stream)
		}
		for _, c := range s.comms[:locked] {
			c.unlock()
		}
		for _, g := range s.groups[:taken] {
			g.busy.Store(false)
		}
	}()
	for _, g := range s.groups {
		if err := g.take(); err != nil {
			return err
		}
		taken++
	}
	for _, c := range s.comms {
		if err := c.lock(ctx); err != nil {
			return c.failed("Sequence", c.late(err))
		}
		locked++
		if err := c.usable(); err != nil {
			return c.failed("Sequence", err)
		}
	}
	for _, stream := range s.streams {
		if err := cudahook.Begin(stream); err != nil {
			return err
		}
		used++
	}
	for _, g := range s.groups {
		if err := g.ready(); err != nil {
			return err
		}
	}
	return s.issue(ctx)
}

// issue runs the groups; those of non-blocking communicators are awaited one by
// one, as NCCL wants it.
func (s *Sequence) issue(ctx context.Context) error {
	for at := 0; at < len(s.order); at++ {
		if at = s.list.Run(at, cnccl.Group, spinsInC); at == len(s.order) {
			break
		}
		g := s.order[at]
		if err := settle(ctx, g.comms, g.batch); err != nil {
			g.keepStreams()
			return err
		}
		if err := g.judge(); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the sequence's memory and leaves its groups. A second Close does
// nothing.
func (s *Sequence) Close() error {
	if !s.busy.CompareAndSwap(false, true) {
		return sequenceError(ErrConcurrentUse)
	}
	defer s.busy.Store(false)
	if s.list != nil {
		s.list.Free()
		s.list = nil
	}
	return nil
}
