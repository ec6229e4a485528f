package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/gofabric/gofabric/internal/testutil"
)

// event is a line of `go test -json`, as `go doc test2json` and `go help
// buildjson` describe it.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

type testKey struct{ pkg, test string }

// outcome is what became of one test.
type outcome struct {
	output   strings.Builder
	action   string // "", pass, fail or skip; "" while it runs
	parent   bool   // has subtests
	badChild bool   // a subtest failed
	claims   []string
}

// unended tells tests that began and did not end. A benchmark has an end in the
// stream only when it fails: it is counted then, and not otherwise.
func (o *outcome) unended(key testKey) bool {
	return o.action == "" && !o.parent && !strings.HasPrefix(key.test, "Benchmark")
}

type packageState struct {
	output                  strings.Builder
	passed, failed, skipped int
}

// tally turns a stream of events into counts and prints what failed.
type tally struct {
	out      io.Writer
	tests    map[testKey]*outcome
	packages map[string]*packageState
	builds   map[string]*strings.Builder
	reasons  map[string]int
	notes    map[string]int
	claims   map[string]string
	where    string
}

func newTally(out io.Writer) *tally {
	return &tally{
		out:      out,
		tests:    map[testKey]*outcome{},
		packages: map[string]*packageState{},
		builds:   map[string]*strings.Builder{},
		reasons:  map[string]int{},
		notes:    map[string]int{},
		claims:   map[string]string{},
	}
}

// read consumes a stream to its end. Lines that are no events, which a wrapper
// may print, are passed on.
func (t *tally) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			t.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) line(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprintln(t.out, strings.TrimSuffix(line, "\n"))
		return
	}
	switch {
	case e.Action == "build-output":
		if t.builds[e.ImportPath] == nil {
			t.builds[e.ImportPath] = &strings.Builder{}
		}
		t.builds[e.ImportPath].WriteString(e.Output)
	case e.Package == "":
		// Other build events say nothing that the package's end does not.
	case e.Test == "":
		t.packageEvent(e)
	default:
		t.testEvent(e)
	}
}

func (t *tally) test(pkg, name string) *outcome {
	key := testKey{pkg, name}
	if t.tests[key] == nil {
		t.tests[key] = &outcome{}
	}
	return t.tests[key]
}

func (t *tally) pkg(name string) *packageState {
	if t.packages[name] == nil {
		t.packages[name] = &packageState{}
	}
	return t.packages[name]
}

func (t *tally) testEvent(e event) {
	test := t.test(e.Package, e.Test)
	switch e.Action {
	case "run":
		for parent := parentOf(e.Test); parent != ""; parent = parentOf(parent) {
			t.test(e.Package, parent).parent = true
		}
	case "output":
		test.output.WriteString(e.Output)
		t.claim(test, e.Output)
	case "pass", "fail", "skip":
		t.ended(e.Package, e.Test, e.Action)
	}
}

func (t *tally) ended(pkg, name, action string) {
	test := t.test(pkg, name)
	if test.action != "" {
		return
	}
	test.action = action
	t.keepNotes(test.output.String())
	state := t.pkg(pkg)
	switch action {
	case "pass":
		if !test.parent {
			state.passed++
		}
		t.claimed(name, test.claims)
	case "fail":
		if parent := parentOf(name); parent != "" {
			t.test(pkg, parent).badChild = true
		}
		// A parent that failed on account of a subtest says nothing new, but
		// its own output may.
		if !test.badChild {
			state.failed++
			fmt.Fprintf(t.out, "--- FAIL %s %s\n", pkg, name)
		}
		fmt.Fprint(t.out, test.output.String())
	case "skip":
		state.skipped++
		t.reasons[skipReason(test.output.String())]++
	}
	test.output.Reset()
}

func (t *tally) packageEvent(e event) {
	state := t.pkg(e.Package)
	switch e.Action {
	case "output":
		state.output.WriteString(e.Output)
	case "pass":
		fmt.Fprintf(t.out, "ok   %s  %.1f s, %d passed%s\n", e.Package, e.Elapsed, state.passed, skippedNote(state.skipped))
	case "fail":
		t.failedPackage(e, state)
	}
	// The action skip says that a package has no test files: no test, no count.
}

func (t *tally) failedPackage(e event, state *packageState) {
	// A crash or a time-out leaves tests without an end.
	for key, test := range t.tests {
		if key.pkg == e.Package && test.unended(key) {
			test.output.WriteString("(did not end)\n")
			t.ended(key.pkg, key.test, "fail")
		}
	}
	if e.FailedBuild != "" || state.failed == 0 {
		state.failed++
		fmt.Fprintf(t.out, "--- FAIL %s\n", e.Package)
		if build := t.builds[e.FailedBuild]; build != nil {
			fmt.Fprint(t.out, build.String())
		}
	}
	fmt.Fprint(t.out, state.output.String())
	fmt.Fprintf(t.out, "FAIL %s  %.1f s, %d passed, %d failed%s\n", e.Package, e.Elapsed, state.passed, state.failed, skippedNote(state.skipped))
}

// finish closes the books of a part.
func (t *tally) finish(name string) part {
	p := part{Name: name, Skips: t.reasons, Notes: t.notes, Cases: map[string]string{}, Claims: t.claims, Where: t.where}
	for key, test := range t.tests {
		if test.unended(key) {
			fmt.Fprintf(t.out, "(the stream ended before the test did)\n")
			t.ended(key.pkg, key.test, "fail")
		}
	}
	for key, test := range t.tests {
		if !test.parent && parentOf(key.test) != "" {
			p.Cases[key.test] = test.action
		}
	}
	for _, state := range t.packages {
		p.Passed += state.passed
		p.Failed += state.failed
		p.Skipped += state.skipped
	}
	return p
}

func parentOf(test string) string {
	if i := strings.LastIndexByte(test, '/'); i >= 0 {
		return test[:i]
	}
	return ""
}

func skippedNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d skipped", n)
}

// keepNotes counts what testutil.Note left in a test's output.
func (t *tally) keepNotes(output string) {
	for line := range strings.Lines(output) {
		if _, note, ok := strings.Cut(strings.TrimSpace(line), ": "+testutil.NotePrefix); ok {
			t.notes[note]++
		}
	}
}

// skipReason picks what a skipped test said out of its output.
func skipReason(output string) string {
	for _, line := range strings.Split(output, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		// file.go:12: reason
		if parts := strings.SplitN(line, ": ", 2); len(parts) == 2 && strings.Contains(parts[0], ".go:") {
			return parts[1]
		}
		return line
	}
	return "no reason given"
}
