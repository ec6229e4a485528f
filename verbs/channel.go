package verbs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/pollfd"
)

// ackBatch is how many events of a CQ are acknowledged at once: each
// acknowledgement takes a lock inside the library.
const ackBatch = 64

// eventChannel is a completion channel that all CQs with events of a device
// share. One goroutine sleeps on it in the netpoller and hands each event to
// the CQ it is for, so that waiting costs neither threads nor descriptors.
type eventChannel struct {
	ch   cverbs.Channel
	file *os.File // a duplicate of the channel's descriptor

	mu  sync.Mutex
	cqs map[cverbs.CQ]*cqEvents
	err error // why the reader stopped

	dead chan struct{} // closed when the reader has stopped
}

// cqEvents is a CQ's place on the channel.
type cqEvents struct {
	channel *eventChannel
	cq      cverbs.CQ
	wake    chan struct{} // holds one token
	armed   atomic.Bool   // an event was asked for and has not come
	taken   atomic.Uint64 // events, in all

	// Guarded by channel.mu.
	unacked int  // events taken off the channel, not acknowledged yet
	closing bool // acknowledge at once: the destroying call waits for it
}

// eventChannel returns the device's channel, making it if need be.
func (d *Device) eventChannel() (*eventChannel, error) {
	d.channelMu.Lock()
	defer d.channelMu.Unlock()
	if d.channel != nil {
		return d.channel, nil
	}
	ch, err := d.ctx.CreateChannel()
	if err != nil {
		return nil, err
	}
	file, err := pollfd.Duplicate(ch.FD(), "completion channel of "+d.name)
	if err != nil {
		return nil, errors.Join(err, ch.Destroy())
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close(), ch.Destroy())
	}
	d.channel = &eventChannel{ch: ch, file: file, cqs: map[cverbs.CQ]*cqEvents{}, dead: make(chan struct{})}
	go d.channel.read(raw)
	return d.channel, nil
}

// closeChannel stops the reader and destroys the channel.
func (d *Device) closeChannel() error {
	d.channelMu.Lock()
	defer d.channelMu.Unlock()
	if d.channel == nil {
		return nil
	}
	ch := d.channel
	d.channel = nil
	err := ch.file.Close()
	<-ch.dead
	return errors.Join(err, ch.ch.Destroy())
}

// read hands out events until the channel is closed or fails.
func (ec *eventChannel) read(raw syscall.RawConn) {
	var failure error
	err := raw.Read(func(uintptr) (done bool) {
		for {
			cq, err := ec.ch.NextEvent()
			switch {
			case err == nil:
				ec.dispatch(cq)
			case errors.Is(err, syscall.EAGAIN):
				return false
			case errors.Is(err, syscall.EINTR):
			default:
				failure = err
				return true
			}
		}
	})
	ec.mu.Lock()
	ec.err = err
	if failure != nil {
		ec.err = failure
	}
	ec.mu.Unlock()
	close(ec.dead)
}

// reason says why the reader stopped. A device that goes away makes reading
// its channel fail with EIO.
func (ec *eventChannel) reason() error {
	ec.mu.Lock()
	defer ec.mu.Unlock()
	if errors.Is(ec.err, syscall.EIO) {
		return fmt.Errorf("%w: %w", ErrDeviceGone, ec.err)
	}
	return fmt.Errorf("completion channel failed: %w", ec.err)
}

// whyEIO tells a device that was removed from other trouble: with the device,
// the channel ends too, at about the same moment.
func (cq *CQ) whyEIO(err error) error {
	if !errors.Is(err, syscall.EIO) {
		return err
	}
	select {
	case <-cq.events.channel.dead:
		return cq.err("wait on CQ", cq.events.channel.reason())
	case <-time.After(time.Second):
		return err
	}
}

func (ec *eventChannel) dispatch(cq cverbs.CQ) {
	ec.mu.Lock()
	defer ec.mu.Unlock()
	e := ec.cqs[cq]
	if e == nil {
		return
	}
	e.unacked++
	e.taken.Add(1)
	if e.closing || e.unacked >= ackBatch {
		e.ack()
	}
	e.armed.Store(false)
	e.wakeUp()
}

func (ec *eventChannel) add(cq cverbs.CQ) *cqEvents {
	e := &cqEvents{channel: ec, cq: cq, wake: make(chan struct{}, 1)}
	ec.mu.Lock()
	defer ec.mu.Unlock()
	ec.cqs[cq] = e
	return e
}

// remove destroys the CQ. The destroying call waits until every event that was
// taken off the channel is acknowledged, so the CQ stays known until after it.
func (ec *eventChannel) remove(e *cqEvents) error {
	ec.mu.Lock()
	e.closing = true
	e.ack()
	ec.mu.Unlock()
	err := e.cq.Destroy()
	ec.mu.Lock()
	defer ec.mu.Unlock()
	if err != nil {
		e.closing = false
		return err
	}
	// Another CQ may be at the same address by now.
	if ec.cqs[e.cq] == e {
		delete(ec.cqs, e.cq)
	}
	return nil
}

// ack acknowledges what was taken; the channel's lock is held.
func (e *cqEvents) ack() {
	if e.unacked > 0 {
		// The table always has the function, and it cannot fail.
		_ = e.cq.AckEvents(e.unacked)
		e.unacked = 0
	}
}

// arm reports whether the caller has to ask the device for an event.
func (e *cqEvents) arm() bool { return !e.armed.Swap(true) }

func (e *cqEvents) disarm() { e.armed.Store(false) }

func (e *cqEvents) wakeUp() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
