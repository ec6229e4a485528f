package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	document = "docs/coverage.md"
	begin    = "<!-- made by go run ./internal/coverage: do not edit from here -->"
	end      = "<!-- to here -->"
)

// How a table is written.
const (
	plain = iota
	markdown
)

var columnNames = []string{"group", "functions", "bound", "tested", "refused", "bound only", "not bound"}

// table writes a row a group, and one a release.
func (s *state) table(out io.Writer, style int) {
	byGroup := map[string][]string{}
	for _, line := range s.lists[newest] {
		g := groupOf(line)
		byGroup[g] = append(byGroup[g], line)
	}
	rows := [][]string{columnNames}
	for _, g := range groups {
		if lines := byGroup[g.name]; len(lines) > 0 {
			rows = append(rows, s.row(g.name, lines))
		}
	}
	if lines := byGroup["Others"]; len(lines) > 0 {
		rows = append(rows, s.row("Others", lines))
	}
	for _, release := range []string{newest, oldest} {
		rows = append(rows, s.row("all of rdma-core "+release, s.lists[release]))
	}
	var later []string
	for f := range s.later {
		later = append(later, "later "+f)
	}
	rows = append(rows, s.row("rdma-core 57 to 64, beside them", later))
	writeRows(out, rows, style)
}

func (s *state) row(name string, lines []string) []string {
	n := s.count(lines)
	row := []string{name}
	for _, v := range []int{len(lines), len(lines) - n[notBound], n[tested], n[refused], n[onlyBound], n[notBound]} {
		row = append(row, fmt.Sprint(v))
	}
	return row
}

func writeRows(out io.Writer, rows [][]string, style int) {
	if style == plain {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, row := range rows {
			fmt.Fprintln(table, strings.Join(row, "\t"))
		}
		table.Flush()
		return
	}
	for i, row := range rows {
		fmt.Fprintln(out, "| "+strings.Join(row, " | ")+" |")
		if i == 0 {
			fmt.Fprintln(out, "| --- |"+strings.Repeat(" ---: |", len(row)-1))
		}
	}
}

// generated is what the document has between its marks.
func (s *state) generated() string {
	var b strings.Builder
	s.table(&b, markdown)
	fmt.Fprintf(&b, "\n%s (rdma-core %s)\n\n", s.sums(newest), newest)
	b.WriteString("What the columns ran on:\n\n")
	for _, column := range slices.Sorted(maps.Keys(s.results.where)) {
		fmt.Fprintf(&b, "- %s: %s\n", column, s.results.where[column])
	}
	b.WriteString("\n### Each function\n\n| function | | where, or why not |\n| --- | --- | --- |\n")
	lines := slices.Clone(s.lists[newest])
	for _, f := range slices.Sorted(maps.Keys(s.later)) {
		lines = append(lines, "later "+f)
	}
	for _, line := range lines {
		f := functionIn(line)
		name := "`" + f + "`"
		if release, ok := s.later[f]; ok {
			name += " (rdma-core " + release + ")"
		}
		state, detail := s.detail(f)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, state, detail)
	}
	return b.String()
}

func (s *state) detail(function string) (state, detail string) {
	on := func(verdict string) string {
		return strings.Join(slices.Sorted(maps.Keys(s.results.claims[verdict][function])), ", ")
	}
	switch s.verdict(function) {
	case tested:
		detail = on("tested")
		if r := on("refused"); r != "" {
			detail += "; refused: " + r
		}
		return "tested", detail
	case refused:
		return "refused", on("refused")
	case onlyBound:
		return "bound", "no recorded run of the suite shows it"
	}
	return "not bound", s.unbound[function]
}

// split cuts the document at its marks.
func split() (before, between, after string, err error) {
	data, err := os.ReadFile(document)
	if err != nil {
		return "", "", "", err
	}
	before, rest, ok := strings.Cut(string(data), begin+"\n")
	between, after, ok2 := strings.Cut(rest, end+"\n")
	if !ok || !ok2 {
		return "", "", "", fmt.Errorf("%s lacks the marks between which its tables stand", document)
	}
	return before, between, after, nil
}

func (s *state) checkDocument() error {
	_, between, _, err := split()
	if err != nil {
		return err
	}
	if strings.TrimSpace(between) != strings.TrimSpace(s.generated()) {
		return fmt.Errorf("%s is not what the tree says: run go generate ./internal/coverage", document)
	}
	return nil
}

func writeDocument() error {
	s, err := load()
	if err != nil {
		return err
	}
	before, _, after, err := split()
	if err != nil {
		return err
	}
	text := before + begin + "\n\n" + s.generated() + "\n" + end + "\n" + after
	return os.WriteFile(document, []byte(text), 0o644)
}
