package plot

import (
	"fmt"
	"math"
	"strings"
)

// frame is a panel's place and its axes.
type frame struct {
	panel                    *Panel
	left, right, top, bottom float64
	x, y                     *ruler
	// beyond are the limits that the panel has no room for.
	beyond []Limit
	shown  []Limit
}

func (d *drawing) panel(index int) {
	p := &d.f.Panels[index]
	f := &frame{panel: p, left: margin + axisWidth, right: pageWidth - margin, top: d.y + headHigh}
	f.bottom = f.top + panelHigh
	f.axes()
	d.print(`<g class="panel">`)
	d.text(margin, f.top-11, textSize, ink, `font-weight="bold"`, p.Y.Label)
	d.grid(f)
	empty := true
	for _, s := range p.Series {
		empty = !d.series(f, s) && empty
	}
	if empty {
		d.text((f.left+f.right)/2, (f.top+f.bottom)/2, textSize, soft, `text-anchor="middle"`, "no values")
	}
	d.limits(f)
	d.y = f.bottom + footHigh
	if index == len(d.f.Panels)-1 || d.f.Panels[index+1].X.Label != p.X.Label {
		d.text((f.left+f.right)/2, d.y+8, textSize, ink, `text-anchor="middle"`, p.X.Label)
		d.y += labelHigh
	}
	d.print("</g>")
}

// axes chooses the ranges and sorts the limits.
func (f *frame) axes() {
	var xs, ys []float64
	greatest := 0.0
	for _, s := range f.panel.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			if v, ok := f.panel.Y.Scale.on(p.Y); ok {
				greatest = max(greatest, v)
			}
		}
	}
	for _, l := range f.panel.Limits {
		if _, ok := f.panel.Y.Scale.on(l.At); !ok {
			continue
		}
		if f.panel.Y.Scale == Linear && greatest > 0 && l.At > pressed*greatest {
			f.beyond = append(f.beyond, l)
			continue
		}
		f.shown = append(f.shown, l)
		ys = append(ys, l.At)
	}
	f.x = newRuler(f.panel.X, xs, f.left, f.right)
	f.y = newRuler(f.panel.Y, ys, f.bottom, f.top)
	for _, l := range f.shown {
		f.y.headroom(l.At)
	}
}

func (d *drawing) grid(f *frame) {
	var thin, thick strings.Builder
	across := func(b *strings.Builder, y float64) { fmt.Fprintf(b, "M%.1f %.1fH%.1f", f.left, y, f.right) }
	down := func(b *strings.Builder, x float64) { fmt.Fprintf(b, "M%.1f %.1fV%.1f", x, f.top, f.bottom) }
	for _, at := range f.x.minor {
		down(&thin, f.x.at(at))
	}
	for _, at := range f.y.minor {
		across(&thin, f.y.at(at))
	}
	for _, at := range f.x.ticks {
		down(&thick, f.x.at(at))
	}
	for _, at := range f.y.ticks {
		across(&thick, f.y.at(at))
	}
	if thin.Len() > 0 {
		d.print(`<path d="%s" stroke="%s"/>`, thin.String(), faint)
	}
	if thick.Len() > 0 {
		d.print(`<path d="%s" stroke="%s"/>`, thick.String(), grid)
	}
	d.print(`<path d="M%.1f %.1fV%.1fH%.1f" fill="none" stroke="%s"/>`, f.left, f.top, f.bottom, f.right, soft)
	for _, at := range f.x.ticks {
		d.text(f.x.at(at), f.bottom+17, tickSize, soft, `text-anchor="middle"`, f.panel.X.format(f.panel.X.Scale.off(at)))
	}
	for _, at := range f.y.ticks {
		d.text(f.left-8, f.y.at(at)+4, tickSize, soft, `text-anchor="end"`, f.panel.Y.format(f.panel.Y.Scale.off(at)))
	}
}

// series draws the points that have a place; false if there are none.
func (d *drawing) series(f *frame, s Series) bool {
	type place struct {
		Point
		x, y float64
	}
	var places []place
	for _, p := range s.Points {
		x, okX := f.x.pixel(p.X)
		y, okY := f.y.pixel(p.Y)
		if okX && okY {
			places = append(places, place{p, x, y})
		}
	}
	if len(places) == 0 {
		return false
	}
	var path strings.Builder
	for i, p := range places {
		command := 'L'
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", command, p.x, p.y)
	}
	d.print(`<path class="series" d="%s" %s/>`, path.String(), s.stroke())
	if len(places) > marked {
		return true
	}
	for _, p := range places {
		d.mark(s, p.x, p.y, fmt.Sprintf("%s: %s, %s", s.Name, f.panel.X.format(p.X), f.panel.Y.format(p.Y)))
	}
	return true
}

// limits draws the lines over the series, each label above its line, and in words
// at the top what lies beyond.
func (d *drawing) limits(f *frame) {
	const halo = `text-anchor="end" stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"`
	for _, l := range f.shown {
		y, _ := f.y.pixel(l.At)
		d.print(`<path class="limit" d="M%.1f %.1fH%.1f" stroke="%s" stroke-width="1.6" stroke-dasharray="%s"/>`, f.left, y, f.right, limitInk, limitDash)
		d.text(f.right-6, math.Max(y-6, f.top-4), tickSize, limitInk, halo, l.Name)
	}
	for i, l := range f.beyond {
		d.text(f.right-6, f.top+14+float64(i)*noteHigh, tickSize, limitInk, halo, l.Name+" (above this chart)")
	}
}
