package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gofabric/gofabric/internal/ccuda"
)

// shared is what the waits and blocking copies of a device have in common. A
// wait may outlast the Device it waits for, so the primary context is given back
// when the last of them has left.
type shared struct {
	sync.Mutex
	references int
	events     []uintptr // not in use
	stages     []stage   // not in use
	given      []stage   // their copies were given up and may still run
	stream     *Stream
}

// hold keeps the primary context until drop.
func (d *Device) hold() {
	d.shared.Lock()
	d.shared.references++
	d.shared.Unlock()
}

// drop gives back what hold or Open took.
func (d *Device) drop() error {
	d.shared.Lock()
	defer d.shared.Unlock()
	d.shared.references--
	if d.shared.references > 0 {
		return nil
	}
	var rs []ccuda.Result
	for _, s := range append(d.shared.stages, d.shared.given...) {
		rs = append(rs, d.ctx.FreeHost(s.memory), d.ctx.DestroyEvent(s.event))
	}
	for _, e := range d.shared.events {
		rs = append(rs, d.ctx.DestroyEvent(e))
	}
	if s := d.shared.stream; s != nil {
		rs = append(rs, d.ctx.DestroyStream(s.h))
	}
	d.shared.stages, d.shared.given, d.shared.events, d.shared.stream = nil, nil, nil, nil
	d.raw.ClosePlace()
	rs = append(rs, d.raw.Release())
	var errs []error
	for _, r := range rs {
		// What a lost context held is gone with it.
		if r != 0 && !Code(r).gone() {
			errs = append(errs, driverError(r))
		}
	}
	return errors.Join(errs...)
}

// side returns the stream of blocking copies that are given no stream.
func (d *Device) side(op string) (*Stream, error) {
	d.shared.Lock()
	defer d.shared.Unlock()
	if d.shared.stream == nil {
		h, r := d.ctx.CreateStream(ccuda.CU_STREAM_NON_BLOCKING, 0)
		if r != 0 {
			return nil, d.check(op, r)
		}
		d.shared.stream = &Stream{life: &d.obj, dev: d, h: h, name: "copy stream"}
	}
	return d.shared.stream, nil
}

// takeEvent returns an event without timing and holds the context for it.
func (d *Device) takeEvent() (uintptr, ccuda.Result) {
	d.hold()
	d.shared.Lock()
	defer d.shared.Unlock()
	if n := len(d.shared.events); n > 0 {
		e := d.shared.events[n-1]
		d.shared.events = d.shared.events[:n-1]
		return e, 0
	}
	e, r := d.ctx.CreateEvent(ccuda.CU_EVENT_DISABLE_TIMING)
	if r != 0 {
		d.shared.references-- // the caller's own reference keeps the context
	}
	return e, r
}

// putEvent takes an event back; it may be recorded and not have happened yet.
func (d *Device) putEvent(e uintptr) error {
	d.shared.Lock()
	d.shared.events = append(d.shared.events, e)
	d.shared.Unlock()
	return d.drop()
}

// quiet fails while a copy runs that its caller gave up: its memory would go.
func (d *Device) quiet() error {
	d.shared.Lock()
	defer d.shared.Unlock()
	d.reclaim()
	if n := len(d.shared.given); n > 0 {
		return fmt.Errorf("%w: %d copies that were given up still run", ErrBusy, n)
	}
	return nil
}

// reclaim takes back the stages whose copies have ended, or ended for good with
// the context. The caller holds the lock.
func (d *Device) reclaim() {
	running := d.shared.given[:0]
	for _, s := range d.shared.given {
		if d.ctx.QueryEvent(s.event) == ccuda.CUDA_ERROR_NOT_READY {
			running = append(running, s)
		} else {
			d.shared.stages = append(d.shared.stages, s)
		}
	}
	d.shared.given = running
}
