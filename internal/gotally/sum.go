package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// part is what one part of the suite came to.
type part struct {
	Name                    string
	Passed, Failed, Skipped int
	Seconds                 float64
	Skips                   map[string]int    // reason to number of tests
	Notes                   map[string]int    // what testutil.Note said, to number of times
	Cases                   map[string]string // subtest, without its package, to its end
	Claims                  map[string]string // "tested ibv_reg_mr" to the test that showed it
	Where                   string            // what the tests ran on, as they said
}

// savePart keeps a part in dir, numbered so that parts stay in order.
func savePart(dir string, p part) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	kept, err := partFiles(dir)
	if err != nil {
		return err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%03d.json", len(kept))), data, 0o644)
}

func partFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "part-*.json"))
	slices.Sort(files)
	return files, err
}

func loadParts(dir string) ([]part, error) {
	files, err := partFiles(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no part: run some first with gotally run %s NAME COMMAND", dir, dir)
	}
	var parts []part
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var p part
		if err := json.Unmarshal(data, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// printSum prints why tests were skipped, the table and the closing line, and
// reports whether nothing failed.
func printSum(out io.Writer, parts []part) bool {
	total := part{Skips: map[string]int{}, Notes: map[string]int{}}
	for _, p := range parts {
		total.Passed += p.Passed
		total.Failed += p.Failed
		total.Skipped += p.Skipped
		total.Seconds += p.Seconds
		for reason, n := range p.Skips {
			total.Skips[reason] += n
		}
		for note, n := range p.Notes {
			total.Notes[note] += n
		}
	}
	printCounts(out, "skipped because:", total.Skips)
	printCounts(out, "noted:", total.Notes)
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "part\tpassed\tfailed\tskipped\tseconds\t")
	for _, p := range parts {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.1f\t\n", p.Name, p.Passed, p.Failed, p.Skipped, p.Seconds)
	}
	table.Flush()
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", total.Passed, total.Failed, total.Skipped)
	return total.Failed == 0
}

func printCounts(out io.Writer, title string, counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintln(out, "\n"+title)
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "%4d  %s\n", counts[text], text)
	}
}
