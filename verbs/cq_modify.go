package verbs

import (
	"fmt"
	"time"
)

// Resize changes how many completions the queue holds, to at least depth.
// Completions on it stay; there must not be more than depth. It fails with
// ErrNotSupported where the device cannot, and is safe beside polling.
//
// Implements: ibv_resize_cq.
func (cq *CQ) Resize(depth int) error {
	const op = "resize CQ"
	if cq.dev == nil {
		return cq.err(op, ErrClosed)
	}
	if depth < 1 || depth > cq.dev.attr.MaxCQE {
		return cq.err(op, fmt.Errorf("depth %d: the device allows 1 to %d", depth, cq.dev.attr.MaxCQE))
	}
	if err := cq.obj.Use(); err != nil {
		return cq.err(op, err)
	}
	defer cq.obj.Done()
	cq.sizeMu.Lock()
	defer cq.sizeMu.Unlock()
	if err := cq.cq.Resize(depth); err != nil {
		return cq.err(op, err)
	}
	logDebug("CQ resized", "device", cq.dev.name, "depth", cq.cq.Size())
	return nil
}

// Moderate has the device raise an event only after count completions, or when
// period has passed since the first of them. Zero for both ends it. A period is
// rounded down to microseconds; it may be 65.535 ms, and count 65535. It fails
// with ErrNotSupported where the device cannot.
//
// Implements: ibv_modify_cq.
func (cq *CQ) Moderate(count int, period time.Duration) error {
	const op, most = "moderate CQ", 1<<16 - 1
	if count < 0 || count > most || period < 0 || period.Microseconds() > most {
		return cq.err(op, fmt.Errorf("%d completions and %v: up to %d and %v can be had", count, period, most, most*time.Microsecond))
	}
	if err := cq.obj.Use(); err != nil {
		return cq.err(op, err)
	}
	defer cq.obj.Done()
	if err := cq.cq.Moderate(uint16(count), uint16(period.Microseconds())); err != nil {
		return cq.err(op, err)
	}
	return nil
}
