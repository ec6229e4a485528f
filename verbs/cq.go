package verbs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/spin"
)

// CQOptions are the options of a completion queue.
type CQOptions struct {
	// Depth is how many completions the queue must hold; zero is 256. It has
	// to cover every request that may be in flight, and one more for each queue
	// pair's closing: a queue that overflows is lost, with the queue pairs on it.
	Depth int
	// Events makes Wait work. Without it the queue can only be polled.
	Events bool
	// SolicitedOnly makes Wait sleep through completions of receives that the
	// sender did not post with Solicited. Failures always wake.
	SolicitedOnly bool
	// Vector is the completion vector, from 0: which of the device's
	// interrupts serves the queue.
	Vector int
}

// defaultCQDepth is CQOptions.Depth's default.
const defaultCQDepth = 256

// CQ is a completion queue. Poll, Spin and Wait belong to one goroutine at a
// time: a second one gets ErrConcurrentUse. The other methods are safe for
// concurrent use.
type CQ struct {
	obj  life.Object
	dev  *Device
	cq   cverbs.CQ
	side guard
	done chan struct{} // closed when Close begins: wakes Wait and Spin
	stop func()        // closes done, once

	events *cqEvents // nil without events
	only   bool
	ex     *extension // nil of a plain queue

	// stash holds completions that closing a queue pair took off the queue.
	// They are the next to be polled.
	stash stash

	overflown atomic.Bool // it lost completions
	rest      spin.Rest   // Spin's, over many calls; guarded by side

	sizeMu sync.Mutex
	counts cqCounts
}

// CreateCQ makes a completion queue.
//
// Implements: ibv_create_cq, ibv_create_comp_channel.
func (d *Device) CreateCQ(opts CQOptions) (*CQ, error) {
	return d.createCQ(opts, d.plainCQ)
}

// newCQ makes the C object of a completion queue.
type newCQ func(opts CQOptions, events cverbs.Channel) (cverbs.CQ, *extension, error)

func (d *Device) plainCQ(opts CQOptions, events cverbs.Channel) (cverbs.CQ, *extension, error) {
	cq, err := d.ctx.CreateCQ(opts.Depth, events, opts.Vector)
	return cq, nil, err
}

func (d *Device) createCQ(opts CQOptions, create newCQ, parents ...*life.Object) (*CQ, error) {
	if opts.Depth == 0 {
		opts.Depth = defaultCQDepth
	}
	if err := d.obj.Use(); err != nil {
		return nil, d.err("create CQ", err)
	}
	defer d.obj.Done()
	if err := d.checkCQ(opts); err != nil {
		return nil, d.err("create CQ", err)
	}
	cq := &CQ{dev: d, done: make(chan struct{}), only: opts.SolicitedOnly}
	cq.side.open()
	cq.stop = sync.OnceFunc(func() { close(cq.done) })
	var ch *eventChannel
	var raw cverbs.Channel
	if opts.Events {
		var err error
		if ch, err = d.eventChannel(); err != nil {
			return nil, d.err("create completion channel", err)
		}
		raw = ch.ch
	}
	var err error
	if cq.cq, cq.ex, err = create(opts, raw); err != nil {
		return nil, d.err("create CQ", err)
	}
	if ch != nil {
		cq.events = ch.add(cq.cq)
	}
	d.async.cqs.add(cq.cq, cq)
	life.Enter(&cq.obj, cq, fmt.Sprintf("CQ of %d", cq.cq.Size()), append(parents, &d.obj)...)
	logDebug("CQ created", "device", d.name, "depth", cq.cq.Size(), "events", opts.Events)
	return cq, nil
}

func (d *Device) checkCQ(opts CQOptions) error {
	if opts.Depth < 0 || opts.Depth > d.attr.MaxCQE {
		return fmt.Errorf("depth %d: the device allows 1 to %d", opts.Depth, d.attr.MaxCQE)
	}
	if n := d.ctx.Vectors(); opts.Vector < 0 || opts.Vector > 0 && opts.Vector >= n {
		return fmt.Errorf("vector %d: the device has 0 to %d", opts.Vector, n-1)
	}
	return nil
}

// Depth returns how many completions the queue holds: at least what was asked.
func (cq *CQ) Depth() int {
	if cq.obj.Use() != nil {
		return 0
	}
	defer cq.obj.Done()
	cq.sizeMu.Lock()
	defer cq.sizeMu.Unlock()
	return cq.cq.Size()
}

// Poll moves completions to dst and returns how many; none is no error. It
// crosses into C once.
//
// Implements: ibv_poll_cq.
func (cq *CQ) Poll(dst []Completion) (int, error) {
	if err := cq.side.enter(); err != nil {
		return 0, cq.err("poll CQ", err)
	}
	n, err := cq.poll(dst)
	cq.side.exit()
	return n, err
}

// poll is Poll for whoever is inside the guard.
func (cq *CQ) poll(dst []Completion) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	if n := cq.stash.take(dst); n > 0 {
		cq.counts.polled(n)
		return n, nil
	}
	n, err := cq.ask(dst)
	cq.counts.polled(n)
	if err != nil {
		return 0, cq.err("poll CQ", err)
	}
	return n, nil
}

// ask polls the device once.
func (cq *CQ) ask(dst []Completion) (int, error) {
	if cq.ex != nil {
		return cq.ex.strip(dst, 1)
	}
	return cq.cq.Poll(&dst[0].wc, len(dst))
}

// spinPolls bounds one stay in C to some ten microseconds, so that neither the
// scheduler nor a cancelled context waits long for a spinning goroutine.
const spinPolls = 300

// Spin polls without pause until there is a completion, and moves what there is
// to dst. It returns the context's error when that ends, and ErrClosed when the
// queue is closed meanwhile. It keeps a processor busy, and lets other goroutines
// run on it every few milliseconds.
//
// Implements: ibv_poll_cq.
func (cq *CQ) Spin(ctx context.Context, dst []Completion) (int, error) {
	if ctx == nil {
		return 0, cq.err("poll CQ", errNoContext)
	}
	if err := cq.side.enter(); err != nil {
		return 0, cq.err("poll CQ", err)
	}
	defer cq.side.exit()
	if len(dst) == 0 {
		return 0, nil
	}
	for {
		if n := cq.stash.take(dst); n > 0 {
			cq.counts.polled(n)
			return n, nil
		}
		n, err := cq.spin(dst)
		cq.counts.polled(n)
		if err != nil {
			return 0, cq.err("poll CQ", err)
		}
		if n > 0 {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return 0, cq.err("poll CQ", ctx.Err())
		case <-cq.done:
			return 0, cq.err("poll CQ", ErrClosed)
		default:
		}
		cq.rest.Take(time.Now())
	}
}

// spin asks the device until there is a completion, for a while.
func (cq *CQ) spin(dst []Completion) (int, error) {
	if cq.ex != nil {
		return cq.ex.strip(dst, spinPolls)
	}
	return cq.cq.Spin(&dst[0].wc, len(dst), spinPolls)
}

// Wait sleeps until there is a completion, and moves what there is to dst. No
// thread waits: an event of the kernel wakes the goroutine. It returns the
// context's error when that ends, ErrClosed when the queue is closed meanwhile,
// and ErrDeviceGone when the device is removed. The queue must have been made
// with Events.
//
// Implements: ibv_req_notify_cq, ibv_get_cq_event, ibv_ack_cq_events.
func (cq *CQ) Wait(ctx context.Context, dst []Completion) (int, error) {
	if len(dst) == 0 {
		return cq.wait(ctx, nil)
	}
	return cq.wait(ctx, func() (int, error) { return cq.poll(dst) })
}

// wait is Wait for any kind of poll; nil asks for nothing.
func (cq *CQ) wait(ctx context.Context, poll func() (int, error)) (int, error) {
	if ctx == nil {
		return 0, cq.err("wait on CQ", errNoContext)
	}
	if cq.events == nil {
		return 0, cq.err("wait on CQ", errors.New("the CQ was made without Events"))
	}
	if err := cq.side.enter(); err != nil {
		return 0, cq.err("wait on CQ", err)
	}
	defer cq.side.exit()
	if poll == nil {
		return 0, nil
	}
	for {
		// Poll, arm, poll again, sleep: a completion that came between the
		// first poll and the arming raises no event.
		if n, err := poll(); n > 0 || err != nil {
			return n, cq.whyEIO(err)
		}
		if cq.events.arm() {
			if err := cq.cq.Arm(cq.only); err != nil {
				cq.events.disarm()
				return 0, cq.whyEIO(cq.err("arm CQ", err))
			}
			if n, err := poll(); n > 0 || err != nil {
				return n, cq.whyEIO(err)
			}
		}
		cq.counts.waits.add(1)
		select {
		case <-cq.events.wake:
		case <-cq.events.channel.dead:
			return 0, cq.err("wait on CQ", cq.events.channel.reason())
		case <-ctx.Done():
			return 0, cq.err("wait on CQ", ctx.Err())
		case <-cq.done:
			return 0, cq.err("wait on CQ", ErrClosed)
		}
	}
}

func (cq *CQ) err(op string, err error) error {
	if cq == nil {
		return &OpError{Op: op, Err: err} // of an extended one that was never made
	}
	return cq.dev.err(op, err)
}

// Close destroys the queue; completions still on it are lost. It fails with
// ErrBusy while queue pairs use it. A goroutine in Wait or Spin gets ErrClosed.
//
// Implements: ibv_destroy_cq.
func (cq *CQ) Close() error {
	err := cq.obj.Close(func() error {
		cq.stop()
		cq.side.shut()
		if err := cq.destroy(); err != nil {
			return err
		}
		cq.dev.async.cqs.remove(cq.cq, cq)
		cq.stash.close()
		logDebug("CQ destroyed", "device", cq.dev.name)
		return nil
	})
	if err != nil {
		return cq.err("destroy CQ", err)
	}
	return nil
}

func (cq *CQ) destroy() error {
	if cq.events == nil {
		return cq.cq.Destroy()
	}
	return cq.events.channel.remove(cq.events)
}

// CloseAll closes the queue pairs on the queue, the newest first, and the queue.
func (cq *CQ) CloseAll() error {
	return errors.Join(cq.obj.CloseChildren(), cq.Close())
}
