package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// results is what tests showed: verdict ("tested" or "refused"), function, and by
// device the test.
type results struct {
	where  map[string]string                       // by column
	claims map[string]map[string]map[string]string // by verdict, function and column
}

const resultsFile = dataDir + "/results.txt"

const resultsHead = `# What conformance runs showed of each C function: made by make conformance.
#
#   on COLUMN: what the column ran on
#   VERDICT FUNCTION COLUMN=TEST...
`

func newResults() results {
	return results{where: map[string]string{}, claims: map[string]map[string]map[string]string{"tested": {}, "refused": {}}}
}

func (r results) add(verdict, function, column, test string) {
	byFunction := r.claims[verdict]
	if byFunction[function] == nil {
		byFunction[function] = map[string]string{}
	}
	byFunction[function][column] = test
}

// forget drops what a column showed.
func (r results) forget(column string) {
	for _, byFunction := range r.claims {
		for function, columns := range byFunction {
			delete(columns, column)
			if len(columns) == 0 {
				delete(byFunction, function)
			}
		}
	}
}

func readResults() (results, error) {
	r := newResults()
	lines, err := readLines(resultsFile)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	for _, line := range lines {
		if err := r.parse(line); err != nil {
			return r, fmt.Errorf("%s: %q: %w", resultsFile, line, err)
		}
	}
	return r, nil
}

func (r results) parse(line string) error {
	if rest, ok := strings.CutPrefix(line, "on "); ok {
		column, where, ok := strings.Cut(rest, ": ")
		if !ok {
			return errors.New("want on COLUMN: WHAT")
		}
		r.where[column] = where
		return nil
	}
	fields := strings.Fields(line)
	if len(fields) < 3 || r.claims[fields[0]] == nil {
		return errors.New("want VERDICT FUNCTION COLUMN=TEST")
	}
	for _, f := range fields[2:] {
		column, test, ok := strings.Cut(f, "=")
		if !ok {
			return errors.New("want COLUMN=TEST")
		}
		r.add(fields[0], fields[1], column, test)
	}
	return nil
}

func (r results) write() error {
	var b strings.Builder
	b.WriteString(resultsHead)
	for _, column := range slices.Sorted(maps.Keys(r.where)) {
		fmt.Fprintf(&b, "on %s: %s\n", column, r.where[column])
	}
	for _, verdict := range []string{"tested", "refused"} {
		for _, function := range slices.Sorted(maps.Keys(r.claims[verdict])) {
			columns := r.claims[verdict][function]
			fmt.Fprintf(&b, "%s %s", verdict, function)
			for _, column := range slices.Sorted(maps.Keys(columns)) {
				fmt.Fprintf(&b, " %s=%s", column, columns[column])
			}
			b.WriteByte('\n')
		}
	}
	return os.WriteFile(resultsFile, []byte(b.String()), 0o644)
}

// part is what gotally keeps of a run, as far as it concerns coverage.
type part struct {
	Name   string
	Failed int
	Claims map[string]string
	Where  string
}

// update replaces what the columns of a tally showed before, and the document's
// table with it.
func update(tally string) error {
	r, err := readResults()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(tally, "part-*.json"))
	if err != nil || len(files) == 0 {
		return errors.Join(fmt.Errorf("%s holds no part of a run", tally), err)
	}
	fresh := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var p part
		if err := json.Unmarshal(data, &p); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		r.take(p, fresh)
	}
	if err := r.write(); err != nil {
		return err
	}
	return writeDocument()
}

// take adds a part. Its column is the name without what only says how the same
// device was run, as in "loop0 race".
func (r results) take(p part, fresh map[string]bool) {
	column, _, _ := strings.Cut(p.Name, " ")
	if p.Where == "" && (r.where[column] == "" || !fresh[column]) {
		return // no run of conformance cases, nor beside one
	}
	if !fresh[column] {
		r.forget(column)
		fresh[column] = true
	}
	if p.Where != "" { // the connection manager's tests leave that to the suite's
		r.where[column] = p.Where
	}
	for claim, test := range p.Claims {
		verdict, function, _ := strings.Cut(claim, " ")
		if r.claims[verdict] != nil {
			r.add(verdict, function, column, strings.ReplaceAll(test, " ", "_"))
		}
	}
}
