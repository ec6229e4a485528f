package arch

import (
	"context"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
)

const modulePath = "github.com/gofabric/gofabric"

// foreignSymbol matches names that belong to the libraries we open. A program
// that defined one of them would answer calls meant for the library.
var foreignSymbol = regexp.MustCompile(`^(ibv_|rdma_|mlx5dv_|efadv_|nccl|cu[A-Z]|cuda|nvml)`)

// presentLibraries lists the libraries that the tree has.
func presentLibraries(t *testing.T) []string {
	t.Helper()
	var present []string
	for library, modules := range allowedModules(t) {
		if !slices.Equal(modules, []string{absent}) {
			present = append(present, library)
		}
	}
	slices.Sort(present)
	if len(present) == 0 {
		testutil.Skip(t, "the tree has no library to link yet")
	}
	return present
}

// buildOutside builds a program of another module, as a user would: the tree
// comes in by a replace directive.
func buildOutside(t *testing.T, program string) string {
	t.Helper()
	binary, output, err := tryBuildOutside(t, program)
	require.NoError(t, err, "%s", output)
	return binary
}

// tryBuildOutside is buildOutside for a program that may not build.
func tryBuildOutside(t *testing.T, program string) (binary string, output []byte, err error) {
	t.Helper()
	dir := t.TempDir()
	// The user's module needs what ours needs; the sums come along.
	mod := strings.Replace(string(read(t, "go.mod")), "module "+modulePath, "module outside", 1)
	mod += "\nrequire " + modulePath + " v0.0.0\nreplace " + modulePath + " => " + root(t) + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), read(t, "go.sum"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644))
	binary = filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=-mod=readonly")
	output, err = build.CombinedOutput()
	return binary, output, err
}

// definedSymbols returns the names that a program offers to the dynamic linker
// or to the static one.
func definedSymbols(t *testing.T, binary string) []string {
	t.Helper()
	file, err := elf.Open(binary)
	require.NoError(t, err)
	defer file.Close()
	dynamic, err := file.DynamicSymbols()
	// A program without any cgo is static and offers nothing.
	if !errors.Is(err, elf.ErrNoSymbols) {
		require.NoError(t, err)
	}
	static, err := file.Symbols()
	require.NoError(t, err)
	var names []string
	for _, symbol := range slices.Concat(dynamic, static) {
		if symbol.Section != elf.SHN_UNDEF && elf.ST_BIND(symbol.Info) != elf.STB_LOCAL {
			names = append(names, symbol.Name)
		}
	}
	return names
}

func needLinuxCgo(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		testutil.Skip(t, "programs are ELF files on Linux only")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		testutil.Skip(t, "needs a C compiler: install gcc")
	}
}

// TestProgramExportsNoLibrarySymbol links every library of the tree into one
// program and looks at what that program defines.
func TestProgramExportsNoLibrarySymbol(t *testing.T) {
	needLinuxCgo(t)
	program := "package main\n\nimport (\n"
	for _, library := range presentLibraries(t) {
		program += "\t_ \"" + modulePath + "/" + library + "\"\n"
	}
	program += ")\n\nfunc main() {}\n"
	for _, name := range definedSymbols(t, buildOutside(t, program)) {
		assert.NotRegexp(t, foreignSymbol, name, "a program with our libraries defines it")
	}
}

// TestLinkedLibraryBesideUs builds a program that links libibverbs itself and
// uses our verbs too: each reaches the library in its own way.
func TestLinkedLibraryBesideUs(t *testing.T) {
	needLinuxCgo(t)
	if !slices.Contains(presentLibraries(t), "verbs") {
		testutil.Skip(t, "the tree has no verbs package yet")
	}
	if _, err := os.Stat("/usr/include/infiniband/verbs.h"); err != nil {
		testutil.Skip(t, "needs libibverbs' development files: install libibverbs-dev")
	}
	source, err := os.ReadFile(filepath.Join("testdata", "beside.go.txt"))
	require.NoError(t, err)
	binary := buildOutside(t, string(source))

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	output, err := exec.CommandContext(ctx, binary).CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, name := range definedSymbols(t, binary) {
		assert.NotRegexp(t, foreignSymbol, name)
	}
}
