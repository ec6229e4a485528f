package ccuda_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write abi/check_cuda_values.c anew")

// TestCheckedValues keeps the C file that proves values.go in step with it.
func TestCheckedValues(t *testing.T) {
	const path = "abi/check_cuda_values.c"
	want := "/* Made from values.go by go test -run TestCheckedValues -update. */\n" +
		"#include <cuda.h>\n\n" +
		"#define SAME_VALUE(name, value) _Static_assert((unsigned long long)(name) == (value), #name)\n\n"
	for _, v := range constants(t, "values.go") {
		want += fmt.Sprintf("SAME_VALUE(%s, %s);\n", v.name, v.value)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "run make generate")
}

type namedValue struct{ name, value string }

// constants reads the file's constants, which are plain numbers.
func constants(t *testing.T, file string) []namedValue {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var values []namedValue
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		number, ok := spec.Values[0].(*ast.BasicLit)
		require.True(t, ok && len(spec.Names) == 1, spec.Names[0].Name)
		values = append(values, namedValue{spec.Names[0].Name, number.Value})
		return true
	})
	require.NotEmpty(t, values)
	return values
}
