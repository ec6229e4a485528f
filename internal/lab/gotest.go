package lab

import (
	"path/filepath"
	"strconv"
	"strings"
)

// testFlag splits an argument such as -test.run=X.
func testFlag(arg string) (name, value string, hasValue, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(arg, "-"), "-")
	if !ok {
		rest, ok = strings.CutPrefix(arg, "-")
	}
	if ok {
		rest, ok = strings.CutPrefix(rest, "test.")
	}
	name, value, hasValue = strings.Cut(rest, "=")
	return name, value, hasValue, ok
}

// IsGoTest says whether a program with these arguments is a Go test binary as
// the go command builds and runs it.
func IsGoTest(program string, args []string) bool {
	for _, a := range args {
		if _, _, _, ok := testFlag(a); ok {
			return true
		}
	}
	return strings.HasSuffix(program, ".test")
}

// VerboseTest returns a Go test binary's arguments with -test.v on: without
// it, a skipped test leaves no trace in the output.
func VerboseTest(args []string) []string {
	out := []string{"-test.v=true"}
	for _, a := range args {
		name, value, hasValue, ok := testFlag(a)
		if !ok || name != "v" {
			out = append(out, a)
			continue
		}
		// The other value is test2json, which is verbose too.
		if on, err := strconv.ParseBool(value); hasValue && err != nil || on {
			out[0] = a
		}
	}
	return out
}

// goTestFiles are the flags of a Go test binary whose value is a file that it
// writes.
func goTestFiles() []string {
	return []string{"testlogfile", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace"}
}

// GoTestMappings returns what a Go test binary with these arguments, run in
// the folder dir, writes beside its output, and the folders that have to exist
// for it. A job that fails may leave any of it out.
func GoTestMappings(args []string, dir string) (in, out []Mapping) {
	values := map[string]string{}
	for i, a := range args {
		name, value, hasValue, ok := testFlag(a)
		if !ok {
			continue
		}
		if !hasValue && i+1 < len(args) {
			value = args[i+1]
		}
		values[name] = value
	}
	for _, name := range goTestFiles() {
		if values[name] == "" {
			continue
		}
		base := dir
		// -test.outputdir is for profiles only.
		if d := values["outputdir"]; d != "" && name != "testlogfile" {
			base = absIn(dir, d)
		}
		at := absIn(base, values[name])
		out = append(out, Mapping{Host: at, Guest: at, Optional: true})
	}
	if d := values["gocoverdir"]; d != "" {
		at := absIn(dir, d)
		in = append(in, Mapping{Host: at, Guest: at})
		out = append(out, Mapping{Host: at, Guest: at, Optional: true})
	}
	return in, out
}

func absIn(dir, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}

// SkipWatch reads a Go test's verbose output, as a writer, and notes the tests
// that were skipped.
type SkipWatch struct {
	// Skipped are the names of the skipped tests, in order.
	Skipped []string

	line []byte
}

// skipLine is what testing prints for a skipped test, indented for a subtest
// and after a mark byte when the output is for test2json.
const skipLine = "--- SKIP: "

// maxSkipLine bounds what is kept of a line: a test's name is shorter.
const maxSkipLine = 4096

// Write notes skips in p; it never fails.
func (s *SkipWatch) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			if len(s.line) < maxSkipLine {
				s.line = append(s.line, b)
			}
			continue
		}
		s.endLine()
	}
	return len(p), nil
}

// Close notes a skip in a last line that has no end.
func (s *SkipWatch) Close() { s.endLine() }

func (s *SkipWatch) endLine() {
	line := strings.TrimLeft(string(s.line), " \t\x16")
	s.line = s.line[:0]
	if name, ok := strings.CutPrefix(line, skipLine); ok {
		name, _, _ = strings.Cut(name, " (")
		s.Skipped = append(s.Skipped, strings.TrimSpace(name))
	}
}
