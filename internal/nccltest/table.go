package nccltest

import (
	"fmt"
	"strconv"
	"strings"
)

// tableRow is a row of the table that we and the C tool print.
type tableRow struct {
	size, count     uint64
	dataType, redop string
	root            int
	halves          [2]tableHalf
}

// tableHalf is one half of a row. wrong is nil where nothing was checked.
type tableHalf struct {
	time, algorithm, bus float64
	wrong                *float64
}

func (r *tableRow) label() string {
	s := r.dataType
	if r.redop != "" {
		s += " " + r.redop
	}
	if r.root >= 0 {
		s += fmt.Sprintf(" root %d", r.root)
	}
	return s
}

// Columns of a half, and those that -I adds.
const (
	halfColumns    = 4
	perIterColumns = 4
)

// parseTable finds the rows in what a program of the family printed.
func parseTable(text string, perIter bool) (rows []tableRow) {
	for line := range strings.Lines(text) {
		if row, ok := parseTableRow(strings.Fields(line), perIter); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

func parseTableRow(fields []string, perIter bool) (row tableRow, ok bool) {
	const head = 4
	if len(fields) < head {
		return row, false
	}
	var err error
	if row.size, err = strconv.ParseUint(fields[0], 10, 64); err != nil {
		return row, false
	}
	if row.count, err = strconv.ParseUint(fields[1], 10, 64); err != nil {
		return row, false
	}
	row.dataType = fields[2]
	rest := fields[3:]
	// The reduction of a hypercube is empty.
	if _, err := strconv.Atoi(rest[0]); err != nil {
		row.redop, rest = rest[0], rest[1:]
	}
	if len(rest) == 0 {
		return row, false
	}
	if row.root, err = strconv.Atoi(rest[0]); err != nil {
		return row, false
	}
	rest = rest[1:]
	for i := range row.halves {
		if len(rest) < halfColumns || !row.halves[i].parse(rest) {
			return row, false
		}
		rest = rest[halfColumns:]
		if perIter {
			rest = rest[min(perIterColumns, len(rest)):]
		}
	}
	return row, true
}

func (h *tableHalf) parse(fields []string) bool {
	for i, to := range []*float64{&h.time, &h.algorithm, &h.bus} {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return false
		}
		*to = v
	}
	if fields[3] == "N/A" {
		return true
	}
	v, err := strconv.ParseFloat(fields[3], 64)
	h.wrong = &v
	return err == nil
}
