package nccltest

import (
	"context"
	"errors"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// plan is the operations of a thread's GPUs, recorded before they are timed: a
// step for each iteration, until the steps repeat.
type plan struct {
	steps []step
	// chunks are all iterations in their order, several in a call, where
	// nothing stands between them.
	chunks []*nccl.Sequence
	// spare are groups that may be recorded anew.
	spare []*nccl.Group
}

// step is one iteration: copies, then groups in their order.
type step struct {
	copies []copying
	groups []*nccl.Group
}

// run issues iteration i. It allocates nothing.
func (p *plan) run(ctx context.Context, i int) error {
	s := &p.steps[i%len(p.steps)]
	for k := range s.copies {
		if err := s.copies[k].stream.Copy(s.copies[k].to, s.copies[k].from); err != nil {
			return err
		}
	}
	for _, g := range s.groups {
		if err := g.Run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// chunkSteps is how many iterations go into C together. The end of the run is
// noticed between chunks.
const chunkSteps = 64

// chunk puts iterations together, unless a step has copies.
func (p *plan) chunk(iterations int) error {
	for _, s := range p.steps {
		if len(s.copies) > 0 {
			return nil
		}
	}
	for first := 0; first < iterations; first += chunkSteps {
		var groups []*nccl.Group
		for i := first; i < min(first+chunkSteps, iterations); i++ {
			groups = append(groups, p.steps[i%len(p.steps)].groups...)
		}
		chunk, err := nccl.NewSequence(groups...)
		if err != nil {
			return err
		}
		p.chunks = append(p.chunks, chunk)
	}
	return nil
}

// runAll issues all iterations. It allocates nothing.
func (p *plan) runAll(ctx context.Context, iterations int) error {
	for _, c := range p.chunks {
		if err := c.Run(ctx); err != nil {
			return err
		}
	}
	if len(p.chunks) > 0 {
		return nil
	}
	for i := range iterations {
		if err := p.run(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// clear makes the groups spare.
func (p *plan) clear() error {
	for _, c := range p.chunks {
		if err := c.Close(); err != nil {
			return err
		}
	}
	p.chunks = p.chunks[:0]
	for _, s := range p.steps {
		for _, g := range s.groups {
			if err := g.Reset(); err != nil {
				return err
			}
			p.spare = append(p.spare, g)
		}
	}
	p.steps = p.steps[:0]
	return nil
}

func (p *plan) close() error {
	err := p.clear()
	for _, g := range p.spare {
		err = errors.Join(err, g.Close())
	}
	p.spare = nil
	return err
}

func (p *plan) group() *nccl.Group {
	if n := len(p.spare); n > 0 {
		g := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return g
	}
	return nccl.NewGroup()
}

// build records iterations of a trial, each with several operations. An operation
// begins one size after the one before, around the buffer, so that caches do not
// help and no two have the same addresses.
func (p *plan) build(ctx context.Context, w *worker, t *trial, iterations, operations int) error {
	if err := p.clear(); err != nil {
		return err
	}
	places := 1
	if t.bytes() > 0 {
		places = max(int(w.run.cfg.MaxBytes/t.bytes()), 1)
	}
	// The offsets repeat after so many iterations.
	period := places / gcd(places, operations)
	for i := range min(iterations, period) {
		s, err := p.step(ctx, w, t, i*operations, operations, places)
		p.steps = append(p.steps, s)
		if err != nil {
			return err
		}
	}
	return nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (p *plan) step(ctx context.Context, w *worker, t *trial, first, operations, places int) (s step, err error) {
	stages := 1
	if f := w.run.cfg.Tool.collective.stages; f != nil {
		stages = f(t.ranks)
	}
	for stage := range stages {
		g := p.group()
		s.groups = append(s.groups, g)
		for k := range operations {
			shift := uint64((first+k)%places) * t.bytes()
			for _, r := range w.ranks {
				c, err := w.call(ctx, r, t, shift)
				if err != nil {
					return s, err
				}
				c.group = g
				if err := w.run.cfg.Tool.collective.record(c, stage); err != nil {
					return s, err
				}
				s.copies = append(s.copies, c.copies...)
			}
		}
	}
	return s, nil
}

// call is one rank's part of an operation whose buffers begin shift bytes in.
func (w *worker) call(ctx context.Context, r *rank, t *trial, shift uint64) (*call, error) {
	c := &call{
		trial: t, release: w.run.release, comm: r.comm, stream: r.stream, count: int(t.counts.param), dt: t.dt,
		root: t.root, rank: r.index, ranks: t.ranks, inPlace: t.inPlace,
	}
	var err error
	if w.run.cfg.Tool.collective.reduces {
		if c.redop, err = r.redop(ctx, t.dt, t.op); err != nil {
			return nil, err
		}
	}
	send := r.send
	if t.inPlace {
		send = r.recv
	}
	if c.send, err = w.buffer(send, t, shift, t.counts.sendInPlace, r.index); err != nil {
		return nil, err
	}
	c.recv, err = w.buffer(r.recv, t, shift, t.counts.recvInPlace, r.index)
	return c, err
}

// buffer is the rest of a buffer from where an operation's data begins.
func (w *worker) buffer(m memory, t *trial, shift, inPlace uint64, rank int) (cuda.Span, error) {
	span := m.Span()
	at := uint64(w.run.cfg.Unalign)*t.element() + shift + t.inPlaceAt(inPlace, rank)*t.element()
	return span.At(at, span.Len-min(at, span.Len))
}
