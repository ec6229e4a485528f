package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// headers are the public headers whose functions count.
var headers = []string{"infiniband/verbs.h", "rdma/rdma_cma.h", "rdma/rdma_verbs.h", "rdma/rsocket.h"}

// internals are functions of the headers that are not for programs, though they
// have no underscore to say so.
var internals = []string{"verbs_get_ctx"}

var (
	comments     = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	directives   = regexp.MustCompile(`(?m)^[ \t]*#.*$`)
	continued    = regexp.MustCompile(`\\\n`)
	linkage      = regexp.MustCompile(`extern\s+"C"\s*\{`)
	attributes   = regexp.MustCompile(`__attribute__\s*\(\(.*?\)\)`)
	functionName = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)\s*\(`)
)

// declared returns the functions that a header declares or defines.
func declared(source string) []string {
	source = comments.ReplaceAllString(source, "")
	source = continued.ReplaceAllString(source, " ")
	source = directives.ReplaceAllString(source, "")
	source = linkage.ReplaceAllString(source, "")
	source = attributes.ReplaceAllString(source, "")
	var names []string
	for _, statement := range statements(source) {
		name, ok := functionOf(statement)
		if ok && !strings.HasPrefix(name, "_") && !slices.Contains(internals, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// statements splits a source at the outermost level. What stands in braces is
// left out, whether it is a body or a type's members.
func statements(source string) []string {
	var list []string
	var text strings.Builder
	depth := 0
	for _, c := range source {
		switch {
		case c == '{':
			if depth == 0 {
				list = append(list, text.String())
				text.Reset()
			}
			depth++
		case c == '}':
			depth = max(0, depth-1)
			text.Reset()
		case depth > 0:
		case c == ';':
			list = append(list, text.String())
			text.Reset()
		default:
			text.WriteRune(c)
		}
	}
	return list
}

// functionOf returns the name of the function that a statement declares.
func functionOf(statement string) (string, bool) {
	statement = strings.TrimSpace(statement)
	if strings.HasPrefix(statement, "typedef") || strings.Contains(statement, "=") {
		return "", false
	}
	found := functionName.FindStringSubmatchIndex(statement)
	if found == nil || found[2] == 0 {
		return "", false // a call of a macro has nothing before its name
	}
	return statement[found[2]:found[3]], true
}

// listOf reads the functions of a release's headers: lines "header function".
func listOf(dir string) ([]string, error) {
	var lines []string
	for _, header := range headers {
		source, err := os.ReadFile(filepath.Join(dir, header))
		if err != nil {
			return nil, err
		}
		names := declared(string(source))
		if len(names) == 0 {
			return nil, fmt.Errorf("%s declares no function: the parser is lost", header)
		}
		for _, name := range names {
			lines = append(lines, header+" "+name)
		}
	}
	return lines, nil
}

func listFile(release string) string {
	return filepath.Join(dataDir, "functions-"+release+".txt")
}

func checkHeaders(out io.Writer, release, dir string) error {
	got, err := listOf(dir)
	if err != nil {
		return err
	}
	want, err := readLines(listFile(release))
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s does not hold against the headers in %s: run go run ./internal/coverage lists %s DIR and look at the difference",
			listFile(release), dir, release)
	}
	fmt.Fprintf(out, "coverage: %d functions of rdma-core %s are those of its headers\n", len(got), release)
	return nil
}

func writeList(release, dir string) error {
	lines, err := listOf(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(listFile(release), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

func readLines(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, line := range strings.Split(string(data), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines, nil
}
