package arch

import (
	"bytes"
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// longestFile is the most lines that a source file may have.
const longestFile = 700

// cgoPlace matches the folders that may hold C.
var cgoPlace = regexp.MustCompile(`^internal/(c[a-z0-9]+|dl|loopdev)(/|$)`)

// gpuPlace is the folder that may hold code for GPUs, which no Go compiler sees.
const gpuPlace = "internal/nccltest/kernels"

func TestCgoStandsInOneLayer(t *testing.T) {
	for _, file := range goFiles(t) {
		for _, spec := range file.ast.Imports {
			if spec.Path.Value == `"C"` {
				assert.Regexp(t, cgoPlace, path.Dir(file.path), "%s imports C outside internal/c*, internal/dl and internal/loopdev", file.path)
			}
		}
	}
	walk(t, func(file string) {
		switch path.Ext(file) {
		case ".c", ".h", ".s", ".S", ".cc", ".cpp":
			if !strings.Contains(file, "testdata/") {
				assert.Regexp(t, cgoPlace, path.Dir(file), "%s stands outside internal/c*, internal/dl and internal/loopdev", file)
			}
		case ".cu", ".cuh", ".ptx":
			if !strings.Contains(file, "testdata/") {
				assert.Equal(t, gpuPlace, path.Dir(file), "%s is code for GPUs outside %s", file, gpuPlace)
			}
		}
	})
}

func TestNoLinkname(t *testing.T) {
	for _, file := range goFiles(t) {
		for _, group := range file.ast.Comments {
			for _, comment := range group.List {
				assert.False(t, strings.HasPrefix(comment.Text, "//go:"+"linkname"), "%s:%d reaches into another package by linkname", file.path, file.line(comment.Pos()))
			}
		}
	}
}

// TestSkipsGoThroughTestutil keeps the rule of package testutil: a bare Skip
// would pass in the lab.
func TestSkipsGoThroughTestutil(t *testing.T) {
	for _, file := range goFiles(t) {
		if strings.HasPrefix(file.path, "internal/testutil/") {
			continue
		}
		ast.Inspect(file.ast, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch selector.Sel.Name {
			case "Skipf", "SkipNow":
				assert.Fail(t, "skips by itself", "%s:%d: use testutil.Skip", file.path, file.line(call.Pos()))
			case "Skip":
				receiver, ok := selector.X.(*ast.Ident)
				assert.True(t, ok && receiver.Name == "testutil", "%s:%d: use testutil.Skip", file.path, file.line(call.Pos()))
			}
			return true
		})
	}
}

// Hosts and folders of one machine or one network have no place in the tree. The
// names are put together here so that this file does not match itself.
var (
	machinePath  = regexp.MustCompile(`(^|[\s"'` + "`" + `=:(,])/(` + "home|root|work" + `)/[A-Za-z0-9_.]`)
	registryHost = regexp.MustCompile(strings.Join([]string{
		`deb\.debian` + `\.org`, `security\.debian` + `\.org`, `snapshot\.debian` + `\.org`, `ftp\.[a-z.]*debian` + `\.org`,
		`archive\.ubuntu` + `\.com`, `proxy\.golang` + `\.org`, `sum\.golang` + `\.org`, `registry\.npmjs` + `\.org`,
		`pypi` + `\.org`, `goproxy` + `\.(io|cn)`,
	}, "|"))
)

func TestNoFileNamesAMachineOrARegistry(t *testing.T) {
	walk(t, func(file string) {
		for number, line := range bytes.Split(read(t, file), []byte("\n")) {
			if found := machinePath.Find(line); found != nil {
				assert.Fail(t, "names a path of one machine", "%s:%d: %q", file, number+1, found)
			}
			if found := registryHost.Find(line); found != nil {
				assert.Fail(t, "names a registry's host", "%s:%d: %q", file, number+1, found)
			}
		}
	})
}

func TestMachinePath(t *testing.T) {
	for _, line := range []string{"cd /" + "work/main", `"/` + `home/ann/x"`, "PATH=/" + "root/go/bin"} {
		assert.Regexp(t, machinePath, line)
	}
	for _, line := range []string{"sys/" + "root/x", "https://example.org/" + "work/x", "/usr/local/go", "a /" + "home/"} {
		assert.NotRegexp(t, machinePath, line)
	}
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func TestFilesAreShort(t *testing.T) {
	walk(t, func(file string) {
		switch path.Ext(file) {
		case ".go", ".c", ".h", ".cu", ".cuh", ".sh", ".py":
		default:
			if !strings.HasPrefix(file, ".ci/") {
				return
			}
		}
		data := read(t, file)
		if strings.Contains(file, "testdata/") || generated.Match(data) {
			return
		}
		lines := bytes.Count(data, []byte("\n"))
		assert.LessOrEqual(t, lines, longestFile, "%s has %d lines: split it by topic", file, lines)
	})
}
