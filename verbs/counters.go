package verbs

import (
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// Counters are a device's own counters of what flows carry. They are safe for
// concurrent use.
type Counters struct {
	obj life.Object
	dev *Device
	raw cverbs.Counters
}

// CounterKind is what a counter counts (enum ibv_counter_description).
type CounterKind int32

// What a counter counts.
const (
	CountPackets CounterKind = cverbs.IBV_COUNTER_PACKETS
	CountBytes   CounterKind = cverbs.IBV_COUNTER_BYTES
)

// mostCounters bounds what is allocated to read counters: devices have a few.
const mostCounters = 1 << 16

// CreateCounters makes counters.
//
// It fails with ErrNotSupported where the device has none.
//
// Implements: ibv_create_counters.
func (d *Device) CreateCounters() (*Counters, error) {
	const op = "create counters"
	if err := d.obj.Use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	raw, err := d.ctx.CreateCounters()
	if err != nil {
		return nil, d.err(op, err)
	}
	c := &Counters{dev: d, raw: raw}
	life.Enter(&c.obj, c, "counters", &d.obj)
	return c, nil
}

// Attach has the counter at index, from 0, count what a flow carries. A nil flow
// means the flows that are created with the counters among their actions. Until a
// flow that was given closes, the counters do not.
//
// Implements: ibv_attach_counters_point_flow.
func (c *Counters) Attach(kind CounterKind, index int, flow *Flow) error {
	const op = "attach counters"
	if kind != CountPackets && kind != CountBytes {
		return c.dev.err(op, fmt.Errorf("counter kind %d: it is CountPackets or CountBytes", kind))
	}
	if index < 0 || index >= mostCounters {
		return c.dev.err(op, fmt.Errorf("there is no counter %d", index))
	}
	if err := c.obj.Use(); err != nil {
		return c.dev.err(op, err)
	}
	defer c.obj.Done()
	var raw cverbs.Flow
	if flow != nil {
		if err := flow.obj.Use(); err != nil {
			return c.dev.err(op, err)
		}
		defer flow.obj.Done()
		if flow.qp.pd.dev != c.dev {
			return c.dev.err(op, errors.New("the flow is of another device"))
		}
		raw = flow.flow
	}
	if err := c.raw.Attach(int32(kind), uint32(index), raw); err != nil {
		return c.dev.err(op, err)
	}
	if flow != nil {
		flow.obj.Hold(&c.obj)
	}
	return nil
}

// Read returns the values of the first n counters, as they were attached. cached
// takes what the driver read last, if it keeps that.
//
// Implements: ibv_read_counters.
func (c *Counters) Read(n int, cached bool) ([]uint64, error) {
	const op = "read counters"
	if n < 1 || n > mostCounters {
		return nil, c.dev.err(op, fmt.Errorf("%d counters: it must be 1 to %d", n, mostCounters))
	}
	if err := c.obj.Use(); err != nil {
		return nil, c.dev.err(op, err)
	}
	defer c.obj.Done()
	var flags uint32
	if cached {
		flags = cverbs.IBV_READ_COUNTERS_ATTR_PREFER_CACHED
	}
	values := make([]uint64, n)
	if err := c.raw.Read(values, flags); err != nil {
		return nil, c.dev.err(op, err)
	}
	return values, nil
}

// Close frees the counters. It fails with ErrBusy while a flow that they count is
// open.
//
// Implements: ibv_destroy_counters.
func (c *Counters) Close() error {
	if err := c.obj.Close(c.raw.Destroy); err != nil {
		return c.dev.err("destroy counters", err)
	}
	return nil
}

// CloseAll closes what the counters count, and the counters.
func (c *Counters) CloseAll() error { return errors.Join(c.obj.CloseChildren(), c.Close()) }
