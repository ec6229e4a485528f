// Package abivalues keeps the C files that prove our constants in step with the Go
// files that declare them: each constant becomes a static assertion, which make
// check compiles against the real headers.
package abivalues

import (
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the C files of constants anew")

// Check fails unless the file check holds what becomes of the constants in
// values.go: those whose names begin with a prefix, or all without one. With
// -update it writes the file.
func Check(t *testing.T, check, header string, prefixes ...string) {
	t.Helper()
	const source = "values.go"
	var want strings.Builder
	fmt.Fprintf(&want, "/* Made from %s by go test -run %s -update. */\n#include <%s>\n\n", source, t.Name(), header)
	want.WriteString("#define SAME_VALUE(name, value) _Static_assert((unsigned long long)(name) == (value), #name)\n\n")
	for _, line := range constants(t, source, prefixes) {
		want.WriteString(line)
	}
	if *update {
		require.NoError(t, os.WriteFile(check, []byte(want.String()), 0o644))
	}
	got, err := os.ReadFile(check)
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(got), "run make generate")
}

func constants(t *testing.T, file string, prefixes []string) (lines []string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	conf := types.Config{Importer: importer.Default()}
	pkg, err := conf.Check(f.Name.Name, fset, []*ast.File{f}, nil)
	require.NoError(t, err)
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, id := range spec.Names {
			c, ok := pkg.Scope().Lookup(id.Name).(*types.Const)
			if !ok || !begins(id.Name, prefixes) {
				continue
			}
			v, exact := constant.Uint64Val(c.Val())
			require.True(t, exact, "%s is no number from 0 to 2^64-1", id.Name)
			lines = append(lines, fmt.Sprintf("SAME_VALUE(%s, %d);\n", id.Name, v))
		}
		return true
	})
	require.NotEmpty(t, lines, "%s has no such constant", file)
	return lines
}

func begins(name string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return len(prefixes) == 0
}
