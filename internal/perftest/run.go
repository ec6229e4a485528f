package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Run runs a test as either side, and prints to stdout what the C tool prints, or
// a JSON document. When it returns, whatever the outcome, the connection and all
// that was made on the device are closed. stderr gets notes, and a line of
// progress if it is a terminal.
//
// It ends early when ctx does, with context.Cause(ctx) in the error, when the
// peer goes away, or when it makes no progress for config.Timeout. A server whose
// client alone works waits for it without a time limit unless config.ServerTimeout
// is one, because it does not know how long that takes.
func Run(ctx context.Context, config Config, stdout, stderr io.Writer) error {
	if inProcess(config.Device) {
		return runInProcess(ctx, config, stdout, stderr)
	}
	return runEnd(ctx, config, linkOf(&config), stdout, stderr)
}

// runEnd runs one side.
func runEnd(ctx context.Context, config Config, link link, stdout, stderr io.Writer) (err error) {
	local, err := openEnd(&config, link)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.close()) }()

	r := run{config: &config, local: local, stderr: stderr}
	if r.placement, err = place(&config, local.dev.Name()); err != nil {
		return err
	}
	if r.out, err = newOutput(stdout, stderr, &r); err != nil {
		return err
	}
	err = r.play(ctx)
	if ending := r.out.end(err); err == nil {
		err = ending
	}
	return err
}

// run is one side of a test.
type run struct {
	config    *Config
	local     *end
	out       *output
	session   *Session
	placement placement
	stderr    io.Writer

	agreed  Agreement
	remotes []Key
}

// play is the run from the first word to the last.
func (r *run) play(ctx context.Context) error {
	conn, err := r.local.link.meet(ctx, r.config, r.out.waiting)
	if err != nil {
		return err
	}
	r.session = NewSession(conn, r.config.Role(), SessionOptions{
		PrologueTimeout: min(r.config.Timeout, prologueTimeout),
		ExchangeTimeout: r.config.Timeout,
		BinaryKeys:      r.config.CMControl,
		AnyGID:          r.config.CMPairs,
	})
	defer r.session.Close()
	if err := r.meet(ctx); err != nil {
		return err
	}
	switch c := r.config; {
	case c.Tool.Latency:
		return r.latency(ctx)
	case c.Tool.Verb == VerbSend:
		return r.sends(ctx)
	case c.Bidirectional:
		return r.bothWays(ctx)
	case c.leads():
		return r.oneWay(ctx)
	}
	return r.passive(ctx)
}

// meet agrees on the parameters and connects the queue pairs, in the order of the
// tool.
func (r *run) meet(ctx context.Context) (err error) {
	if r.agreed, err = r.session.Prologue(ctx, r.local.host()); err != nil {
		return err
	}
	if err := r.build(ctx); err != nil {
		return err
	}
	if gpu, ok := r.local.memory.(*gpuMemory); ok {
		fmt.Fprintf(r.stderr, "%s: %s\n", r.config.Tool.Name, gpu.note)
	}
	tool, keys := r.config.Tool, r.local.keys
	if tool.Latency && tool.Verb != VerbSend {
		if err := r.barrier(ctx); err != nil {
			return err
		}
	}
	if r.remotes, err = r.session.ExchangeKeys(ctx, keys); err != nil {
		return err
	}
	if err := r.local.connect(r.remotes, r.agreed); err != nil {
		return err
	}
	if tool.Verb == VerbSend {
		if err := r.barrier(ctx); err != nil {
			return err
		}
	}
	// The addresses that are printed are of this pass.
	if r.remotes, err = r.session.ExchangeKeys(ctx, keys); err != nil {
		return err
	}
	if tool.Verb != VerbSend {
		if err := r.barrier(ctx); err != nil {
			return err
		}
	}
	return r.out.begin()
}

// build makes the memory and the queue pairs, at the same time as the peer where
// that connects them.
func (r *run) build(ctx context.Context) (err error) {
	link := r.local.link
	if !link.joint() {
		return r.local.build(ctx, r.agreed)
	}
	if err := link.prepare(r.config); err != nil {
		return err
	}
	if err := r.session.Meet(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	watched, stop := r.session.Watch(limited)
	err = r.local.build(watched, r.agreed)
	gone := stop()
	switch {
	case err == nil:
		return r.session.Meet(ctx)
	case gone != nil:
		return gone
	}
	return err
}

func (r *run) barrier(ctx context.Context) error { return r.session.Barrier(ctx, r.local.keys[0]) }

func (r *run) finish(ctx context.Context) error { return r.session.Finish(ctx, r.local.keys[0]) }

// oneWay sends, and tells the peer what came of the last size.
func (r *run) oneWay(ctx context.Context) error {
	var last result
	err := r.guarded(ctx, func(ctx context.Context) error {
		return r.sizes(func(size int) (err error) {
			if last, err = r.bandwidth(ctx, size); err != nil {
				return err
			}
			return r.out.row(last)
		})
	})
	if err != nil {
		return err
	}
	// The peer has been waiting there, so this barrier has a time limit.
	if err := r.barrier(ctx); err != nil {
		return err
	}
	if _, err := r.session.ExchangeResult(ctx, NewResult(*last.bandwidth, r.config.Unit)); err != nil {
		return err
	}
	return r.finish(ctx)
}

// passive waits until the peer has run, and prints what that measured.
func (r *run) passive(ctx context.Context) error {
	cpu := startCPU(r.config.CPU)
	if err := r.session.BarrierAfterRun(ctx, r.local.keys[0], r.config.ServerTimeout); err != nil {
		return err
	}
	busy := cpu.percent()
	theirs, err := r.session.ExchangeResult(ctx, Result{})
	if err != nil {
		return err
	}
	bw, err := theirs.Bandwidth(r.config.Unit)
	if err != nil {
		return err
	}
	if err := r.out.row(result{bandwidth: &bw, cpu: busy}); err != nil {
		return err
	}
	return r.finish(ctx)
}

// bothWays has both sides write or read, and sums up.
func (r *run) bothWays(ctx context.Context) error {
	err := r.sizes(func(size int) error {
		if err := r.barrier(ctx); err != nil {
			return err
		}
		own, err := r.guardedBandwidth(ctx, size)
		if err != nil {
			return err
		}
		if r.config.All {
			if err := r.barrier(ctx); err != nil {
				return err
			}
		}
		return r.exchangeRow(ctx, own)
	})
	if err != nil {
		return err
	}
	return r.finish(ctx)
}

// sends is a test of messages, in which both sides have a part in any case.
func (r *run) sends(ctx context.Context) error {
	c := r.config
	err := r.sizes(func(size int) error {
		if err := r.prepareReceives(size); err != nil {
			return err
		}
		if err := r.barrier(ctx); err != nil {
			return err
		}
		own, err := r.guardedBandwidth(ctx, size)
		if err != nil {
			return err
		}
		if c.Bidirectional && c.Duration == 0 {
			err = r.exchangeRow(ctx, own)
		} else {
			err = r.out.row(own)
		}
		if err == nil && c.All {
			err = r.barrier(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.finish(ctx)
}

// exchangeRow prints the sum of both sides.
func (r *run) exchangeRow(ctx context.Context, own result) error {
	theirs, err := r.session.ExchangeResult(ctx, NewResult(*own.bandwidth, r.config.Unit))
	if err != nil {
		return err
	}
	remote, err := theirs.Bandwidth(r.config.Unit)
	if err != nil {
		return err
	}
	return r.out.row(own.with(remote))
}

// latency plays the messages of a latency test, or waits while the peer does.
func (r *run) latency(ctx context.Context) error {
	c := r.config
	if c.Tool.Verb.brings() && !c.leads() {
		return r.session.FinishAfterRun(ctx, r.local.keys[0], c.ServerTimeout)
	}
	err := r.sizes(func(size int) error {
		if c.Tool.Verb == VerbSend {
			if err := r.prepareReceives(size); err != nil {
				return err
			}
			if err := r.barrier(ctx); err != nil {
				return err
			}
		}
		return r.guarded(ctx, func(ctx context.Context) error {
			row, err := r.measureLatency(ctx, size)
			if err != nil {
				return err
			}
			return r.out.row(row)
		})
	})
	if err == nil && r.exitIsNoFailure() {
		return r.session.Leave(ctx, leavePatience)
	}
	if err != nil {
		return err
	}
	return r.finish(ctx)
}

// sizes does f for each message size.
func (r *run) sizes(f func(size int) error) error {
	sizes := r.config.Sizes()
	for i, size := range sizes {
		r.out.progress.size(size, i, len(sizes))
		if err := f(size); err != nil {
			return r.atSize(err, size)
		}
	}
	return nil
}

// atSize tells which of several sizes failed.
func (r *run) atSize(err error, size int) error {
	if !r.config.All {
		return err
	}
	return fmt.Errorf("at %d bytes: %w", size, err)
}
