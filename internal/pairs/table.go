package pairs

import (
	"fmt"
	"strconv"
	"strings"
)

// Row is one message size of a bandwidth table, in the table's unit.
type Row struct {
	Size, Iterations       uint64
	Peak, Average, MsgRate float64
}

// Rows finds the rows in what a bandwidth tool printed.
func Rows(text string) []Row {
	var rows []Row
	for line := range strings.Lines(text) {
		if row, ok := parseRow(strings.Fields(line)); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

func parseRow(fields []string) (row Row, ok bool) {
	if len(fields) != 5 {
		return row, false
	}
	numbers := make([]float64, 3)
	var err error
	if row.Size, err = strconv.ParseUint(fields[0], 10, 64); err != nil {
		return row, false
	}
	if row.Iterations, err = strconv.ParseUint(fields[1], 10, 64); err != nil {
		return row, false
	}
	for i := range numbers {
		if numbers[i], err = strconv.ParseFloat(fields[i+2], 64); err != nil {
			return row, false
		}
	}
	row.Peak, row.Average, row.MsgRate = numbers[0], numbers[1], numbers[2]
	return row, true
}

// Field returns the value of a line "name : value" of the block that the tools
// print first; several such pairs can share a line.
func Field(text, name string) (string, bool) {
	for line := range strings.Lines(text) {
		for part := range strings.SplitSeq(line, "\t\t") {
			key, value, ok := strings.Cut(part, ":")
			if ok && strings.TrimSpace(key) == name {
				return strings.TrimSpace(value), true
			}
		}
	}
	return "", false
}

// Average returns the average of the one row that a run which succeeded
// printed.
func (o Output) Average() (float64, error) {
	rows := Rows(o.Stdout)
	if o.Status != 0 || len(rows) != 1 {
		return 0, fmt.Errorf("%s ended with status %d and %d rows: %s", o.Tool, o.Status, len(rows), strings.TrimSpace(o.Stderr))
	}
	return rows[0].Average, nil
}
