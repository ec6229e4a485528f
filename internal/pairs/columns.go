package pairs

import (
	"fmt"
	"strconv"
	"strings"
)

// Column is a column of a table, named as in its header, without the unit.
type Column string

// The columns that the C tools print.
const (
	Bytes      Column = "#bytes"
	Iterations Column = "#iterations"
	BWPeak     Column = "BW peak"
	BWAverage  Column = "BW average"
	MsgRate    Column = "MsgRate"
	TMin       Column = "t_min"
	TMax       Column = "t_max"
	TTypical   Column = "t_typical"
	TAvg       Column = "t_avg"
	TStdev     Column = "t_stdev"
	P99        Column = "99% percentile"
	P999       Column = "99.9% percentile"
	TPS        Column = "tps average"
	CPUUtil    Column = "CPU_Util"
)

var knownColumns = []Column{Bytes, Iterations, BWPeak, BWAverage, MsgRate, TMin, TMax, TTypical, TAvg, TStdev, P99, P999, TPS, CPUUtil}

// Table is a header and the rows below it.
type Table struct {
	Columns []Column
	// Units has the unit of each column that names one: "MB/sec", "usec".
	Units map[Column]string
	Rows  []Values
}

// Values is a row of a table.
type Values map[Column]float64

// Has reports whether the table has the column.
func (t Table) Has(c Column) bool {
	for _, column := range t.Columns {
		if column == c {
			return true
		}
	}
	return false
}

// Tables reads every table in what a tool printed, by the headers that the C
// tools write. Below a header, up to a rule, an empty line or the end, each line
// must be a row with a number for each column, which may be what C prints for
// not a number: nan, -nan.
func Tables(text string) ([]Table, error) {
	var tables []Table
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, string(Bytes)):
			table, err := parseHeader(line)
			if err != nil {
				return nil, err
			}
			tables, inside = append(tables, table), true
		case line == "" || strings.HasPrefix(line, "---"):
			inside = false
		case inside:
			if err := tables[len(tables)-1].add(line); err != nil {
				return nil, err
			}
		}
	}
	return tables, nil
}

func parseHeader(line string) (Table, error) {
	t := Table{Units: map[Column]string{}}
	for rest := line; rest != ""; rest = strings.TrimLeft(rest, " \t") {
		column, ok := columnAt(rest)
		if !ok {
			return t, fmt.Errorf("the header %q has no known column at %q", line, rest)
		}
		t.Columns = append(t.Columns, column)
		rest = rest[len(column):]
		if unit, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]"); ok && strings.HasPrefix(rest, "[") {
			t.Units[column], rest = unit, after
		}
		if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			return t, fmt.Errorf("the header %q has %q after the column %s", line, rest, column)
		}
	}
	return t, nil
}

// columnAt finds the column that a header goes on with. No name begins another.
func columnAt(text string) (Column, bool) {
	for _, c := range knownColumns {
		if strings.HasPrefix(text, string(c)) {
			return c, true
		}
	}
	return "", false
}

func (t *Table) add(line string) error {
	fields := strings.Fields(line)
	if len(fields) != len(t.Columns) {
		return fmt.Errorf("the row %q has %d numbers for %d columns", line, len(fields), len(t.Columns))
	}
	row := Values{}
	for i, c := range t.Columns {
		text := fields[i]
		if text == "-nan" {
			text = "nan" // Go has no sign for it
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("the row %q has no number in the column %s: %w", line, c, err)
		}
		row[c] = v
	}
	t.Rows = append(t.Rows, row)
	return nil
}
