package counters

import (
	"cmp"
	"slices"
	"time"
)

// Delta is what a counter did between two readings.
type Delta struct {
	Source Source `json:"source"`
	Name   string `json:"name"`
	// Grown is by how much it grew, in its unit. After a reset it is what was
	// counted since.
	Grown uint64 `json:"grown"`
	// Reset says that the counter went down in between.
	Reset bool `json:"reset,omitempty"`
	// Saturated says that it sticks at its greatest value: it may have grown
	// unseen.
	Saturated bool `json:"saturated,omitempty"`
	// Same says that both readings are one, because the driver refreshes its
	// counters less often.
	Same     bool     `json:"same,omitempty"`
	Severity Severity `json:"severity"` // of the growth; None where it did not grow

	over time.Duration // the time of the growth, 0 for the Window's
}

// Window is what a port or a PCI function counted between two readings.
type Window struct {
	Device  string        `json:"device"`
	Port    int           `json:"port,omitempty"`
	Netdev  string        `json:"netdev,omitempty"`
	Elapsed time.Duration `json:"elapsed"`
	Deltas  []Delta       `json:"deltas"`
	Absent  []Absence     `json:"absent,omitempty"` // of the second reading
}

// Between compares two readings of one port, the older first. A counter that one
// of them lacks has no Delta.
func Between(before, after Sample) Window {
	w := Window{
		Device: after.Device, Port: after.Port, Netdev: after.Netdev, Elapsed: after.At.Sub(before.At), Absent: after.Absent,
	}
	old := make(map[Value]uint64, len(before.Values))
	for _, v := range before.Values {
		old[Value{Source: v.Source, Name: v.Name}] = v.Value
	}
	for _, v := range after.Values {
		was, ok := old[Value{Source: v.Source, Name: v.Name}]
		if !ok {
			continue
		}
		d := Delta{Source: v.Source, Name: v.Name, Saturated: v.Saturated}
		if v.Source == Vendor && w.Elapsed < max(before.Lifespan, after.Lifespan) {
			d.Same = true
			w.Deltas = append(w.Deltas, d)
			continue
		}
		if d.Grown = v.Value - was; v.Value < was {
			d.Reset, d.Grown = true, v.Value
		}
		if d.Grown > 0 {
			d.Severity = Describe(v.Source, v.Name).Severity
		}
		w.Deltas = append(w.Deltas, d)
	}
	w.withoutFlushes()
	return w
}

// withoutFlushes takes the completions that were flushed out of those that ended
// with an error: a connection that is closed flushes, and that is no error.
func (w *Window) withoutFlushes() {
	for i, d := range w.Deltas {
		if d.Source != Vendor || d.Name != "req_cqe_error" && d.Name != "resp_cqe_error" {
			continue
		}
		name := d.Name[:len(d.Name)-len("error")] + "flush_error"
		if flushed, ok := w.Get(Vendor, name); ok {
			d.Grown -= min(d.Grown, flushed.Grown)
			if d.Grown == 0 {
				d.Severity = None
			}
			w.Deltas[i] = d
		}
	}
}

// Get returns a counter's Delta, and false where there is none.
func (w Window) Get(source Source, name string) (Delta, bool) {
	for _, d := range w.Deltas {
		if d.Source == source && d.Name == name {
			return d, true
		}
	}
	return Delta{}, false
}

// PerSecond is the rate of growth, and false without a Delta, time, or a fresh
// reading, and for a counter that sticks: its growth is not seen.
func (w Window) PerSecond(source Source, name string) (float64, bool) {
	d, ok := w.Get(source, name)
	over := cmp.Or(d.over, w.Elapsed)
	if !ok || d.Same || d.Saturated || over <= 0 {
		return 0, false
	}
	return float64(d.Grown) / over.Seconds(), true
}

// Errors are the Deltas that grew and are bad, the worst first.
func (w Window) Errors() []Delta {
	var list []Delta
	for _, d := range w.Deltas {
		if d.Severity > None {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b Delta) int { return cmp.Compare(b.Severity, a.Severity) })
	return list
}

// Pair compares two readings of a machine: the ports and functions that both have,
// in the order of the second.
func Pair(before, after []Sample) []Window {
	var list []Window
	for _, b := range after {
		for _, a := range before {
			if a.Device == b.Device && a.Port == b.Port {
				list = append(list, Between(a, b))
				break
			}
		}
	}
	return list
}

// Track keeps the last readings of a machine. The zero Track has none. It belongs
// to one goroutine.
type Track struct {
	last map[string]map[int]tracked
}

// tracked are the bases of a port's next Window: the last reading, and the last
// whose hw_counters were fresh.
type tracked struct{ last, fresh Sample }

// Add takes a reading and returns what happened since the one before; ok is false
// for the first of a port. hw_counters that are read within the driver's lifespan
// do not become the base of the next ones, so that no growth of theirs is lost; all
// other counters are compared with the reading before, so that none of theirs is
// told twice.
func (t *Track) Add(s Sample) (w Window, ok bool) {
	if t.last == nil {
		t.last = map[string]map[int]tracked{}
	}
	if t.last[s.Device] == nil {
		t.last[s.Device] = map[int]tracked{}
	}
	base, ok := t.last[s.Device][s.Port]
	if !ok {
		t.last[s.Device][s.Port] = tracked{s, s}
		return w, false
	}
	w = Between(base.last, s)
	since := Between(base.fresh, s)
	w.Deltas = slices.DeleteFunc(w.Deltas, func(d Delta) bool { return d.Source == Vendor })
	for _, d := range since.Deltas {
		if d.Source != Vendor {
			continue
		}
		if since.Elapsed != w.Elapsed {
			d.over = since.Elapsed
		}
		w.Deltas = append(w.Deltas, d)
	}
	base.last = s
	if since.Elapsed >= max(base.fresh.Lifespan, s.Lifespan) {
		base.fresh = s
	}
	t.last[s.Device][s.Port] = base
	return w, true
}
