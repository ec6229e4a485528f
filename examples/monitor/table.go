package main

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gofabric/gofabric/internal/printable"
)

// column is a column of a table.
type column struct {
	title string
	least int  // its width where there is room
	right bool // numbers
	// drop is in which order columns go where the terminal is narrow, the greatest
	// first; 0 stays. A number is shown whole or not at all: half of one is another.
	drop  int
	name  bool // may be shortened when all else has gone
	cells []string
	gap   int // behind it, for a bar
}

// table is columns side by side, with a space between them.
type table []column

func (t table) add(cells ...string) {
	for i := range t {
		t[i].cells = append(t[i].cells, plainText(cells[i]))
	}
}

// plainText replaces what takes no cell of a terminal, or two.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxLatin1 && r != '…' {
			return '?'
		}
		return r
	}, printable.Text(text))
}

// needs is the width of a column's own texts.
func (c column) needs() int {
	most := utf8.RuneCountInString(c.title)
	for _, cell := range c.cells {
		most = max(most, utf8.RuneCountInString(cell))
	}
	return most
}

func (c column) width() int { return max(c.least, c.needs()) }

func (t table) width() int {
	sum := 0
	for _, c := range t {
		sum += c.width() + 1
	}
	return sum - 1
}

// bars puts a bar behind each share.
func (t table) bars(cells int) {
	for i := range t {
		if t[i].title != "%" {
			continue
		}
		t[i].gap = cells + 1
		for j, cell := range t[i].cells {
			if share, err := strconv.ParseFloat(strings.TrimSuffix(cell, "%"), 64); err == nil {
				t[i].cells[j] = pad(strings.Repeat(" ", max(0, t[i].least-len(cell)))+cell, t[i].least) + " " + bar(share/100, cells)
			}
		}
	}
}

// fit makes a table as wide as the terminal: first by narrow columns, then by fewer,
// at last by a shorter name.
func (t table) fit(width int) table {
	t = append(table(nil), t...)
	for t.width() > width {
		widest, last := -1, -1
		for i, c := range t {
			if c.least > c.needs() && (widest < 0 || c.least-c.needs() > t[widest].least-t[widest].needs()) {
				widest = i
			}
			if c.drop > 0 && (last < 0 || c.drop > t[last].drop) {
				last = i
			}
		}
		switch {
		case widest >= 0 && t.tight() <= width:
			t[widest].least -= min(t.width()-width, t[widest].least-t[widest].needs())
		case last >= 0:
			gone := t[last].drop
			kept := t[:0]
			for _, c := range t {
				if c.drop != gone {
					kept = append(kept, c)
				}
			}
			t = kept
		default:
			return t.short(width)
		}
	}
	return t
}

// tight is the width without any room.
func (t table) tight() int {
	sum := -1
	for _, c := range t {
		sum += c.needs() + 1
	}
	return sum
}

// short cuts names to what the other columns leave, and not below what tells them
// apart from nothing.
func (t table) short(width int) table {
	const fewest = 4
	for i := range t {
		t[i].least = 0
	}
	for i, c := range t {
		if !c.name {
			continue
		}
		room := max(fewest, c.needs()-(t.width()-width))
		t[i].title = clipLine(c.title, room)
		t[i].cells = append([]string(nil), c.cells...)
		for j, cell := range t[i].cells {
			t[i].cells[j] = clipLine(cell, room)
		}
	}
	return t
}

func (t table) write(b *bytes.Buffer, width int) {
	t = t.fit(width)
	b.WriteByte('\n')
	t.line(b, func(c column) string { return c.title })
	for i := range t[0].cells {
		t.line(b, func(c column) string { return c.cells[i] })
	}
}

func (t table) line(b *bytes.Buffer, cell func(column) string) {
	for i, c := range t {
		text := cell(c)
		if i > 0 {
			b.WriteByte(' ')
		}
		if c.right {
			own := max(c.width()-c.gap, 0)
			text = strings.Repeat(" ", max(0, own-utf8.RuneCountInString(text))) + text
		}
		b.WriteString(pad(text, c.width()))
	}
	b.WriteByte('\n')
}

// clipLine cuts a text, and shows that it did.
func clipLine(line string, width int) string {
	switch {
	case utf8.RuneCountInString(line) <= width:
		return line
	case width < 2:
		return string([]rune(line)[:max(width, 0)])
	}
	return string([]rune(line)[:width-1]) + "…"
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
