package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofabric/gofabric/internal/printable"
	"github.com/gofabric/gofabric/topo/counters"
)

// plainWidth is what the widest line takes without bars, and fewestCells what a bar
// needs to say anything.
const (
	plainWidth  = 96
	fewestCells = 5
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
	fmt.Fprintf(&b, "%d ports, %d GPUs   %s   watched for %s\n", len(r.ports), len(r.gpus), r.at.Format(time.TimeOnly), r.at.Sub(s.began).Round(time.Second))
	cells := min(20, (width-plainWidth)/2-1)
	if cells < fewestCells {
		cells = 0
	}
	if len(r.ports) > 0 {
		s.ports(&b, r, cells, width < plainWidth)
	} else {
		b.WriteString("\nNo RDMA port: /sys/class/infiniband has none.\n")
	}
	if len(r.gpus) > 0 {
		s.gpuLines(&b, r, cells, max(6, min(21, 21-plainWidth+width)))
	}
	s.errorLines(&b)
	var cut strings.Builder
	for line := range strings.Lines(b.String()) {
		cut.WriteString(clipLine(strings.TrimRight(line, "\n "), width) + "\n")
	}
	return cut.String()
}

func clipLine(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width])
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

func (s *state) ports(b *bytes.Buffer, r *reading, cells int, short bool) {
	limitWidth, unit := 16, " GB/s "
	if short {
		limitWidth, unit = 10, " "
	}
	gap := cells
	if cells > 0 {
		gap++
	}
	fmt.Fprintf(b, "\n%-14s %-10s %-7s %s %9s %5s %s%9s %5s\n", "PORT", "INTERFACE", "STATE", pad("LIMIT", limitWidth), "SEND GB/s", "%", pad("", gap), "RECV GB/s", "%")
	for _, p := range r.ports {
		limit, by := p.limit(r.sys)
		text := "-"
		if limit > 0 {
			text = fmt.Sprintf("%.4g%s%s", limit, unit, by)
		}
		w := s.rates[p.name()].Window
		fmt.Fprintf(b, "%-14s %-10s %-7s %s %s%s\n", printable.Text(p.name()), orDash(printable.Text(strings.Join(p.port.Netdevs, ","))), orDash(string(p.port.State)), pad(text, limitWidth),
			pad(column(w, sent, "tx_bytes", limit, cells), 16+gap), column(w, received, "rx_bytes", limit, cells))
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// column is a rate with its share: " 21.340   85% ████". Without a counter it is a
// dash and no zero.
func column(w counters.Window, names []string, ofInterface string, limit float64, cells int) string {
	bytes, ok := rate(w, names, ofInterface)
	if !ok {
		return fmt.Sprintf("%9s %5s", "-", "-")
	}
	return share(bytes/1e9, limit, cells)
}

func share(gbps, limit float64, cells int) string {
	if limit <= 0 {
		return fmt.Sprintf("%9.3f %5s", gbps, "-")
	}
	text := fmt.Sprintf("%9.3f %4.0f%%", gbps, 100*gbps/limit)
	if cells > 0 {
		text += " " + bar(gbps/limit, cells)
	}
	return text
}

func (s *state) gpuLines(b *bytes.Buffer, r *reading, cells, model int) {
	gap := cells
	if cells > 0 {
		gap++
	}
	fmt.Fprintf(b, "\n%-5s %s %4s %9s %5s %5s %-8s %9s %5s %s%9s %5s\n", "GPU", pad("MODEL", model), "BUSY", "MEMORY GB", "W", "C", "NVLINKS", "SEND GB/s", "%", pad("", gap), "RECV GB/s", "%")
	for _, g := range r.gpus {
		limit := 0.0
		if g.links.Rate != nil {
			limit = *g.links.Rate
		}
		links := "-"
		if g.links.Links > 0 {
			links = fmt.Sprintf("%d of %d", g.links.Active, g.links.Links)
		}
		out, in := fmt.Sprintf("%9s %5s", "-", "-"), fmt.Sprintf("%9s %5s", "-", "-")
		if v, ok := s.nvlink[g.gpu.UUID]; ok {
			out, in = share(v.sent/1e9, limit, cells), share(v.received/1e9, limit, cells)
		}
		fmt.Fprintf(b, "%-5d %s %4s %9s %5s %5s %-8s %s%s\n", g.gpu.Index, pad(clipLine(printable.Text(g.gpu.Name), model), model), percent(g.status.GPUBusy), gigabytes(g.status.MemoryUsed),
			whole(g.status.Power), number(g.status.Temperature), links, pad(out, 16+gap), in)
	}
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
func (s *state) errorLines(b *bytes.Buffer) {
	if len(s.order) == 0 {
		b.WriteString("\nNo error counter has grown.\n")
		return
	}
	keys := slices.Clone(s.order)
	slices.Reverse(keys)
	slices.SortStableFunc(keys, func(x, y string) int { return int(s.errors[y].severity - s.errors[x].severity) })
	fmt.Fprintf(b, "\n%-9s %-14s %-32s %10s %10s\n", "SEVERITY", "PORT", "COUNTER", "NOW", "SINCE")
	for _, key := range keys {
		g := s.errors[key]
		now := "-"
		if g.last > 0 {
			now = fmt.Sprintf("+%d", g.last)
		}
		note := ""
		if g.saturated {
			note = "  stuck at its greatest value"
		}
		fmt.Fprintf(b, "%-9s %-14s %-32s %10s %10s%s\n", g.severity, printable.Text(g.port), printable.Text(g.counter), now, fmt.Sprintf("+%d", g.total), note)
	}
}

// overlay makes a screen draw over the one before. Lines that do not fit are left
// out: a line more would scroll.
func overlay(screen string, height int) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	if height > 1 && len(lines) > height-1 {
		lines = append(lines[:height-2], fmt.Sprintf("... %d lines more: make the window higher", len(lines)-height+2))
	}
	return pageTop + strings.Join(lines, lineEnd+"\n") + lineEnd + "\n" + pageRest
}
