package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gofabric/gofabric/topo/counters"
)

// state is what the screen remembers: the last readings, and what grew since the
// beginning.
type state struct {
	track  counters.Track
	rates  map[string]windows // the newest by port
	errors map[string]*grown  // by port and counter
	order  []string           // of errors, as they came
	links  map[string]nvlinkSample
	began  time.Time
	nvlink map[string]nvlinkRate // by UUID
}

// windows are what a port did: since the last reading, and the last window of fresh
// hw_counters is in errors.
type windows struct{ counters.Window }

// grown is an error counter that grew.
type grown struct {
	port, counter string
	severity      counters.Severity
	total         uint64 // since the beginning
	last          uint64 // in the last interval
	saturated     bool
}

// nvlinkSample is what a GPU's NVLinks had moved.
type nvlinkSample struct {
	at             time.Time
	sent, received *uint64
}

// nvlinkRate is in bytes a second.
type nvlinkRate struct{ sent, received float64 }

func newState(at time.Time) *state {
	return &state{rates: map[string]windows{}, errors: map[string]*grown{}, links: map[string]nvlinkSample{}, began: at, nvlink: map[string]nvlinkRate{}}
}

// add takes a reading in.
func (s *state) add(r *reading) {
	for _, g := range s.errors {
		g.last = 0
	}
	for _, p := range r.ports {
		w, ok := s.track.Add(p.sample)
		if !ok {
			continue
		}
		s.rates[p.name()] = windows{w}
		for _, d := range w.Errors() {
			key := p.name() + " " + string(d.Source) + " " + d.Name
			g := s.errors[key]
			if g == nil {
				g = &grown{port: p.name(), counter: d.Name, severity: d.Severity}
				s.errors[key] = g
				s.order = append(s.order, key)
			}
			g.total += d.Grown
			g.last, g.saturated = d.Grown, d.Saturated
		}
	}
	for _, g := range r.gpus {
		s.addNVLinks(g, r.at)
	}
}

// addNVLinks makes rates of two readings; counters that are not there, or went down,
// make none.
func (s *state) addNVLinks(g gpuReading, at time.Time) {
	before, seen := s.links[g.gpu.UUID]
	now := nvlinkSample{at, g.status.NVLinkSent, g.status.NVLinkReceived}
	s.links[g.gpu.UUID] = now
	delete(s.nvlink, g.gpu.UUID)
	seconds := at.Sub(before.at).Seconds()
	if !seen || seconds <= 0 || before.sent == nil || before.received == nil || now.sent == nil || now.received == nil ||
		*now.sent < *before.sent || *now.received < *before.received {
		return
	}
	s.nvlink[g.gpu.UUID] = nvlinkRate{float64(*now.sent-*before.sent) / seconds, float64(*now.received-*before.received) / seconds}
}

// Sequences for terminals: another page with no cursor, back again, and drawing
// over what is there, which does not flicker as clearing does.
const (
	pageOpen  = "\x1b[?1049h\x1b[?25l"
	pageClose = "\x1b[?25h\x1b[?1049l"
	pageTop   = "\x1b[H"
	lineEnd   = "\x1b[K"
	pageRest  = "\x1b[J"
)

// watch draws until the context ends, or as often as was asked for.
func watch(ctx context.Context, o options, s *source, out io.Writer) error {
	_, _, terminal := terminalSize(out)
	kind := os.Getenv("TERM")
	terminal = terminal && o.count == 0 && kind != "" && kind != "dumb"
	if terminal {
		fmt.Fprint(out, pageOpen)
		defer fmt.Fprint(out, pageClose)
	}
	ticker := time.NewTicker(o.interval)
	defer ticker.Stop()
	st := newState(time.Now())
	for drawn := -1; ; drawn++ {
		r, err := s.read()
		if err != nil {
			return err
		}
		st.add(r)
		width, height, _ := terminalSize(out)
		screen := st.screen(r, width)
		switch {
		case terminal:
			screen = overlay(screen, width, height)
		case drawn < 0:
			screen = "" // there is no rate yet
		}
		if _, err := io.WriteString(out, screen); err != nil {
			return err
		}
		if o.count > 0 && drawn+1 >= o.count {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
