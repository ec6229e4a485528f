package lab

import (
	"path/filepath"
	"strings"
)

// IsGoTest says whether a program with these arguments is a Go test binary as
// the go command runs it.
func IsGoTest(program string, args []string) bool {
	for _, a := range args {
		if strings.HasPrefix(strings.TrimPrefix(a, "-"), "-test.") || strings.HasPrefix(a, "-test.") {
			return true
		}
	}
	return strings.HasSuffix(program, ".test")
}

// goTestOutputs are the flags of a Go test binary whose value is a file or
// folder that it writes.
var goTestFiles = map[string]bool{
	"testlogfile": true, "coverprofile": true, "cpuprofile": true, "memprofile": true,
	"blockprofile": true, "mutexprofile": true, "trace": true,
}

// GoTestMappings returns what a Go test binary with these arguments, run in
// the folder dir, writes beside its output, and the folders that have to exist
// for it. A job that fails may leave any of it out.
func GoTestMappings(args []string, dir string) (in, out []Mapping) {
	values := map[string]string{}
	for i, a := range args {
		name, ok := strings.CutPrefix(strings.TrimPrefix(a, "-"), "-test.")
		if !ok {
			if name, ok = strings.CutPrefix(a, "-test."); !ok {
				continue
			}
		}
		name, value, has := strings.Cut(name, "=")
		if !has && i+1 < len(args) {
			value = args[i+1]
		}
		values[name] = value
	}
	base := dir
	if d := values["outputdir"]; d != "" {
		base = absIn(dir, d)
	}
	for name, value := range values {
		if !goTestFiles[name] || value == "" {
			continue
		}
		at := absIn(base, value)
		if name == "testlogfile" {
			at = absIn(dir, value)
		}
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

// SkipWatch is a writer's filter: it passes a Go test's verbose output on and
// notes the tests that were skipped.
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
