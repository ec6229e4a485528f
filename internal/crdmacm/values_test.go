package crdmacm_test

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

var update = flag.Bool("update", false, "write abi/check_values.c anew")

// TestCheckedValues keeps the C file that proves values.go in step with it.
func TestCheckedValues(t *testing.T) {
	const path = "abi/check_values.c"
	want := "/* Made from values.go by go test -run TestCheckedValues -update. */\n" +
		"#include <rdma/rdma_cma.h>\n\n" +
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

func constants(t *testing.T, file string) []namedValue {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, 0)
	require.NoError(t, err)
	conf := types.Config{Importer: importer.Default()}
	pkg, err := conf.Check("crdmacm", fset, []*ast.File{f}, nil)
	require.NoError(t, err)
	var values []namedValue
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, id := range spec.Names {
			if c, ok := pkg.Scope().Lookup(id.Name).(*types.Const); ok && (strings.HasPrefix(id.Name, "RDMA_") || strings.HasPrefix(id.Name, "RAI_") || strings.HasPrefix(id.Name, "IBV_")) {
				v, exact := constant.Uint64Val(c.Val())
				require.True(t, exact, id.Name)
				values = append(values, namedValue{id.Name, fmt.Sprint(v)})
			}
		}
		return true
	})
	require.NotEmpty(t, values)
	return values
}
