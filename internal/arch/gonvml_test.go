package arch

import (
	"go/build/constraint"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goNVML links whatever imports it with flags that hide undefined symbols and
// export all others. permissiveLibrary is the one library that may.
const (
	goNVML            = "github.com/NVIDIA/go-nvml"
	permissiveLibrary = "nvml/nvmllib"
)

// TestGoNVMLStandsInOneFile also checks that the file is left out where go-nvml
// does not build.
func TestGoNVMLStandsInOneFile(t *testing.T) {
	var found []string
	for _, file := range goFiles(t) {
		for _, spec := range file.ast.Imports {
			if !strings.HasPrefix(strings.Trim(spec.Path.Value, `"`), goNVML) {
				continue
			}
			found = append(found, file.path)
			assert.True(t, strings.HasPrefix(file.path, permissiveLibrary+"/"), "%s imports go-nvml", file.path)
			line, _, _ := strings.Cut(string(read(t, file.path)), "\n")
			expr, err := constraint.Parse(line)
			require.NoError(t, err, "%s: the first line is its build constraint", file.path)
			for _, without := range []string{"linux", "cgo"} {
				assert.False(t, expr.Eval(func(tag string) bool { return tag != without }), "%s builds without %s", file.path, without)
			}
		}
	}
	assert.Len(t, found, 1, "go-nvml is imported by %v", found)
}

// strictLibraries are those that bring no linker flags of go-nvml.
func strictLibraries(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(presentLibraries(t), func(library string) bool { return library == permissiveLibrary })
}

// undefined is a program with a mistake that the linker must find.
const undefined = `package main

// extern void gofabric_nobody_defines_this(void);
// static void call(void) { gofabric_nobody_defines_this(); }
import "C"

import (
	IMPORTS
)

func main() { C.call() }
`

// TestLinkerStaysStrict builds a program of all libraries but that over go-nvml:
// without a mistake it links, so none of our C lacks a function, and with one it
// does not, so none of our flags hides it.
func TestLinkerStaysStrict(t *testing.T) {
	needLinuxCgo(t)
	var imports strings.Builder
	for _, library := range strictLibraries(t) {
		imports.WriteString("\t_ \"" + modulePath + "/" + library + "\"\n")
	}
	wrong := strings.Replace(undefined, "\tIMPORTS\n", imports.String(), 1)
	right := strings.ReplaceAll(wrong, "extern void gofabric_nobody_defines_this(void);", "static void gofabric_nobody_defines_this(void) {}")

	binary := buildOutside(t, right)
	for _, name := range definedSymbols(t, binary) {
		assert.NotRegexp(t, foreignSymbol, name)
	}
	_, output, err := tryBuildOutside(t, wrong)
	require.Error(t, err, "a program that calls an undefined function was linked")
	require.Contains(t, string(output), "gofabric_nobody_defines_this")
}

// TestProgramStartsWithoutNVML runs a program with go-nvml in it where there is
// no libnvidia-ml, and there it must say what is missing.
func TestProgramStartsWithoutNVML(t *testing.T) {
	needLinuxCgo(t)
	binary := buildOutside(t, `package main

import (
	"errors"
	"fmt"
	"os"

	"`+modulePath+`/nvml"
	"`+modulePath+`/nvml/nvmllib"
)

func main() {
	_, err := nvmllib.Open(nvmllib.Options{Path: os.Args[1]})
	fmt.Println(errors.Is(err, nvml.ErrLibraryNotFound), err)
}
`)
	output, err := exec.Command(binary, t.TempDir()+"/libnvidia-ml.so.1").CombinedOutput()
	require.NoError(t, err, "%s", output)
	assert.Regexp(t, `^true nvml: open the driver's library: .*libnvidia-ml1`, string(output))
}
