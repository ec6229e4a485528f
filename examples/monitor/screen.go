package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// From roomyWidth on the units stand in the columns, and under tinyWidth in the
// first line only. fewestCells is what a bar needs to say anything.
const (
	roomyWidth  = 96
	tinyWidth   = 40
	fewestCells = 5
	mostCells   = 20
)

// bar is a share as cells of a terminal.
func bar(share float64, cells int) string {
	full := int(share*float64(cells) + 0.5)
	full = max(0, min(full, cells))
	return strings.Repeat("█", full) + strings.Repeat("·", cells-full)
}

// screen draws a reading as text of lines. A width of 0 is no terminal.
func (s *state) screen(r *reading, width int) string {
	if width == 0 {
		width = 120
	}
	var b bytes.Buffer
	head := []string{fmt.Sprintf("%d ports, %d GPUs", len(r.ports), len(r.gpus)), r.at.Format(time.TimeOnly), fmt.Sprintf("watched for %s", r.at.Sub(s.began).Round(time.Second))}
	if width < tinyWidth {
		head = []string{"GB/s at " + head[1], head[0]}
	}
	for len(head) > 1 && len(strings.Join(head, "   ")) > width {
		head = head[:len(head)-1]
	}
	b.WriteString(strings.Join(head, "   ") + "\n")
	ports, gpus := s.ports(r, width), s.gpuLines(r, width)
	cells := min(mostCells, (width-max(ports.width(), gpus.width()))/2-1)
	if cells >= fewestCells {
		ports.bars(cells)
		gpus.bars(cells)
	}
	if len(r.ports) > 0 {
		ports.write(&b, width)
	} else {
		b.WriteString("\nNo RDMA port: /sys/class/infiniband has none.\n")
	}
	if len(r.gpus) > 0 {
		gpus.write(&b, width)
	}
	s.errorLines(&b, width)
	var cut strings.Builder
	for line := range strings.Lines(b.String()) {
		cut.WriteString(clipLine(strings.TrimRight(line, "\n "), width) + "\n")
	}
	return cut.String()
}

// titles of the columns of rates.
func titles(width int) (send, receive string) {
	if width < tinyWidth {
		return "SEND", "RECV"
	}
	return "SEND GB/s", "RECV GB/s"
}

func (s *state) ports(r *reading, width int) table {
	unit, least := " GB/s ", 16
	if width < roomyWidth {
		unit, least = " ", 10
	}
	send, receive := titles(width)
	t := table{
		{title: "PORT", least: 14, name: true}, {title: "INTERFACE", least: 10, drop: 5}, {title: "STATE", least: 7, drop: 3}, {title: "LIMIT", least: least, drop: 4},
		{title: send, least: 9, right: true}, {title: "%", least: 5, right: true, drop: 2}, {title: receive, least: 9, right: true}, {title: "%", least: 5, right: true, drop: 2},
	}
	for _, p := range r.ports {
		limit, by := p.limit(r.sys)
		text := "-"
		if limit > 0 {
			text = fmt.Sprintf("%.4g%s%s", limit, unit, by)
		}
		w := s.rates[p.name()].Window
		out, in := share(rate(w, sent, "tx_bytes"))(limit), share(rate(w, received, "rx_bytes"))(limit)
		t.add(p.name(), orDash(strings.Join(p.port.Netdevs, ",")), orDash(string(p.port.State)), text, out.rate, out.percent, in.rate, in.percent)
	}
	return t
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// amount is a rate with its share as text. Without a counter both are a dash and no
// zero.
type amount struct{ rate, percent string }

// share makes an amount of a rate in bytes a second, and of a limit in GB/s.
func share(bytes float64, ok bool) func(limit float64) amount {
	return func(limit float64) amount {
		if !ok {
			return amount{"-", "-"}
		}
		a := amount{fmt.Sprintf("%.3f", bytes/1e9), "-"}
		if limit > 0 {
			a.percent = fmt.Sprintf("%.0f%%", 100*bytes/1e9/limit)
		}
		return a
	}
}

func (s *state) gpuLines(r *reading, width int) table {
	send, receive := titles(width)
	t := table{
		{title: "GPU", least: 5}, {title: "MODEL", least: 6, drop: 6}, {title: "BUSY", least: 4, right: true, drop: 3}, {title: "MEMORY GB", least: 9, right: true, drop: 7},
		{title: "W", least: 5, right: true, drop: 8}, {title: "C", least: 5, right: true, drop: 4}, {title: "NVLINKS", least: 8, drop: 5},
		{title: send, least: 9, right: true}, {title: "%", least: 5, right: true, drop: 2}, {title: receive, least: 9, right: true}, {title: "%", least: 5, right: true, drop: 2},
	}
	for _, g := range r.gpus {
		limit := 0.0
		if g.links.Rate != nil {
			limit = *g.links.Rate
		}
		links := "-"
		if g.links.Links > 0 {
			links = fmt.Sprintf("%d of %d", g.links.Active, g.links.Links)
		}
		v, ok := s.nvlink[g.gpu.UUID]
		out, in := share(v.sent, ok)(limit), share(v.received, ok)(limit)
		t.add(fmt.Sprint(g.gpu.Index), clipLine(plainText(g.gpu.Name), 21), percent(g.status.GPUBusy), gigabytes(g.status.MemoryUsed), whole(g.status.Power), number(g.status.Temperature),
			links, out.rate, out.percent, in.rate, in.percent)
	}
	return t
}

func percent(v *int) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%d%%", *v)
}

func gigabytes(v *uint64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(*v)/1e9)
}

func whole(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", *v)
}

func number(v *int) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// errorLines lists what grew, the worst and newest first.
func (s *state) errorLines(b *bytes.Buffer, width int) {
	if len(s.order) == 0 {
		b.WriteString("\nNo error counter has grown.\n")
		return
	}
	keys := slices.Clone(s.order)
	slices.Reverse(keys)
	slices.SortStableFunc(keys, func(x, y string) int { return int(s.errors[y].severity - s.errors[x].severity) })
	t := table{
		{title: "SEVERITY", least: 9, drop: 4}, {title: "PORT", least: 14}, {title: "COUNTER", least: 32, name: true},
		{title: "NOW", least: 10, right: true, drop: 3}, {title: "SINCE", least: 10, right: true}, {title: "", drop: 5},
	}
	for _, key := range keys {
		g := s.errors[key]
		now, note := "-", ""
		if g.last > 0 {
			now = fmt.Sprintf("+%d", g.last)
		}
		if g.saturated {
			note = " stuck at its greatest value"
		}
		t.add(g.severity.String(), g.port, g.counter, now, fmt.Sprintf("+%d", g.total), note)
	}
	t.write(b, width)
}

// overlay makes a screen draw over the one before. Lines that do not fit are left
// out: a line more would scroll.
func overlay(screen string, width, height int) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	if height > 1 && len(lines) > height-1 {
		lines = append(lines[:height-2], clipLine(fmt.Sprintf("... %d lines more: make the window higher", len(lines)-height+2), width))
	}
	// Each line is cleared before it is written: behind one that fills its row the
	// cursor still stands on the last letter, and clearing would take it.
	return pageTop + lineEnd + strings.Join(lines, "\n"+lineEnd) + "\n" + pageRest
}
