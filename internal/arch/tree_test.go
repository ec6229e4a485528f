package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the top of the tree, two folders above this file.
func root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	require.True(t, ok)
	dir := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	require.NoError(t, err, "the architecture tests run in the tree, without -trimpath")
	return dir
}

// walk calls visit for every file of the tree that git may hold, with its path
// relative to the root.
func walk(t testing.TB, visit func(path string)) {
	t.Helper()
	top := root(t)
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && (relative == ".git" || relative == "build" || relative == ".cache"):
			return filepath.SkipDir
		case entry.Type().IsRegular() && relative != ".git":
			visit(filepath.ToSlash(relative))
		}
		return nil
	})
	require.NoError(t, err)
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), path))
	require.NoError(t, err)
	return data
}

// goFile is one parsed source file, whatever its build tags.
type goFile struct {
	path string
	set  *token.FileSet
	ast  *ast.File
}

func (f goFile) line(pos token.Pos) int { return f.set.Position(pos).Line }

// goFiles parses every Go file outside testdata.
func goFiles(t testing.TB) []goFile {
	t.Helper()
	var files []goFile
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata/") {
			return
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, read(t, path), parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, goFile{path, set, parsed})
	})
	require.NotEmpty(t, files)
	return files
}
