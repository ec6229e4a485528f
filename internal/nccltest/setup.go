package nccltest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// Stages of -M.
const (
	markStart = iota
	markComms
	markBuffers
	markEnd
)

// endBound is how long ending may take: NCCL's abort, and closing the GPUs. Tests
// of what never ends have it shorter.
var endBound = 10 * time.Second

// bounded runs f, which may not know of ctx, and does not wait for it when ctx
// ends: then only the end of the process is left.
func bounded(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// setUp opens the GPUs, makes the communicators and the buffers, and the threads
// that will use them.
func (r *run) setUp(ctx context.Context) error {
	cfg := r.cfg
	first := r.job.place * cfg.Threads * cfg.GPUs
	for i := range cfg.Threads * cfg.GPUs {
		g, err := openRank(first+i, r.ordinal(i), cfg.NullStream)
		if err != nil {
			return err
		}
		r.gpus = append(r.gpus, g)
	}
	id, err := r.job.id(ctx)
	if err != nil {
		return err
	}
	if err := r.mark(markStart); err != nil {
		return err
	}
	if err := r.communicators(ctx, id); err != nil {
		return err
	}
	r.beat()
	if err := r.mark(markComms); err != nil {
		return err
	}
	for _, g := range r.gpus {
		if err := g.allocate(cfg, r.release, r.beat); err != nil {
			return err
		}
	}
	if err := bounded(ctx, func() error {
		return each(r.gpus, func(g *rank) error { return g.registerBuffers(ctx, cfg.Register, cfg.MaxBytes) })
	}); err != nil {
		return err
	}
	r.beat()
	if err := r.mark(markBuffers); err != nil {
		return err
	}
	per := cfg.gpus()
	for t := range cfg.threads() {
		w := &worker{run: r, thread: t, ranks: r.gpus[t*per : (t+1)*per]}
		w.done = make([]bool, per)
		r.workers = append(r.workers, w)
	}
	return nil
}

func (r *run) mark(stage int) error {
	for _, g := range r.gpus {
		if err := g.mark(stage); err != nil {
			return err
		}
	}
	return nil
}

// ordinal is the number of this process's GPU i.
func (r *run) ordinal(i int) int {
	if r.cfg.Device != nil {
		return *r.cfg.Device + i
	}
	return r.job.localRank*r.cfg.Threads*r.cfg.GPUs + i
}

// Releases that bring settings of the communicators that the C tool makes.
const (
	nvlinkCentricSince nccl.Version = 22803
	maxP2PPeersSince   nccl.Version = 23003
	ringPeers                       = 2
)

// communicator is the configuration of the C tool's communicators.
func (r *run) communicator() nccl.Config {
	c := nccl.Config{Blocking: true, AbortTimeout: endBound / 2, NVLinkCentric: r.release >= nvlinkCentricSince}
	if r.cfg.CTAPolicy != nil {
		c.CTAPolicy = nccl.CTAPolicy(*r.cfg.CTAPolicy)
	}
	if r.cfg.Tool.Name == SendRecv.Name && r.release >= maxP2PPeersSince {
		c.MaxP2PPeers = ringPeers
	}
	return c
}

// communicators makes those of this process: together where they are all, or
// each from a thread of its own.
func (r *run) communicators(ctx context.Context, id nccl.UniqueID) error {
	comms := make([]*nccl.Comm, len(r.gpus))
	err := bounded(ctx, func() error {
		if r.job.places == 1 && !r.cfg.ParallelInit {
			var devs []*cuda.Device
			for _, g := range r.gpus {
				devs = append(devs, g.dev)
			}
			made, err := nccl.InitAll(ctx, devs, r.communicator())
			copy(comms, made)
			return err
		}
		return each(r.gpus, func(g *rank) (err error) {
			comms[g.index-r.gpus[0].index], err = nccl.InitRank(ctx, g.dev, id, g.index, r.ranks, r.communicator())
			return err
		})
	})
	if ctx.Err() != nil {
		r.abandoned = true
		return context.Cause(ctx)
	}
	for i, c := range comms {
		r.gpus[i].comm = c
	}
	return err
}

// tearDown ends the communicators, in good order with all ranks or at once, and
// closes the GPUs. It is bounded: what does not end goes with the process.
func (r *run) tearDown(ctx context.Context, good bool) error {
	if r.abandoned {
		return nil
	}
	if !good {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endBound)
		defer cancel()
	}
	return bounded(ctx, func() error {
		if good {
			if err := each(r.gpus, func(g *rank) error { return g.finish(ctx) }); err != nil {
				return errors.Join(err, r.abort(ctx))
			}
		} else if err := r.abort(ctx); err != nil {
			return err
		}
		return r.closeGPUs()
	})
}

func (r *run) abort(ctx context.Context) error {
	var comms []*nccl.Comm
	for _, g := range r.gpus {
		if g.comm != nil {
			comms = append(comms, g.comm)
		}
	}
	return nccl.AbortAll(ctx, comms...)
}

func (r *run) closeGPUs() (err error) {
	for _, g := range r.gpus {
		err = errors.Join(err, g.dev.CloseAll())
	}
	return err
}

// memory is the GPU memory that each stage took, the greatest of all GPUs.
func (r *run) memory(ctx context.Context) ([]int64, error) {
	if err := r.mark(markEnd); err != nil {
		return nil, err
	}
	own := make([]float64, markEnd)
	for stage := range own {
		for i, g := range r.gpus {
			v := float64(int64(g.free[stage] - g.free[stage+1]))
			if i == 0 || v > own[stage] {
				own[stage] = v
			}
		}
	}
	all, err := r.job.gather(ctx, own)
	if err != nil {
		return nil, err
	}
	most := make([]int64, len(own))
	for stage := range most {
		v := all[stage]
		for i := stage; i < len(all); i += len(own) {
			v = max(v, all[i])
		}
		most[stage] = int64(v)
	}
	return most, nil
}

// check refuses what the number of ranks does not allow.
func (r *run) check() error {
	bad := func(flag, format string, args ...any) error {
		return &UsageError{Tool: r.cfg.Tool.Name, Flag: flag, Problem: fmt.Sprintf(format, args...)}
	}
	if r.cfg.Root != nil && r.cfg.Tool.collective.rooted && *r.cfg.Root >= r.ranks {
		return bad("-r/--root", "%d: the ranks are 0 to %d", *r.cfg.Root, r.ranks-1)
	}
	if r.cfg.Tool.collective.powerOfTwo && r.ranks&(r.ranks-1) != 0 {
		return bad("", "a hypercube has a power of two of ranks, not %d", r.ranks)
	}
	if err := r.cfg.pattern.check(r.ranks, r.cfg.MinBytes, r.cfg.MaxBytes); err != nil {
		return bad("", "%v", err)
	}
	return nil
}
