package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// publicDir holds the packages whose Implements lines count.
const publicDir = "verbs"

var implements = regexp.MustCompile(`(?s)\nImplements:(.*)\.\n*$`)

// claimers are the functions by which tests claim C functions.
var claimers = []string{"covers", "Covers", "CoversElsewhere", "refuses", "Refuses", "unsupported"}

// source is what the tree says: which functions are bound, and which are claimed.
type source struct {
	bound   map[string]bool
	claimed map[string]bool
}

func readSource() (source, error) {
	s := source{bound: map[string]bool{}, claimed: map[string]bool{}}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "build" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if inPublic(path) {
			s.readImplements(file)
		}
		s.readClaims(file)
		return nil
	})
	return s, err
}

func inPublic(path string) bool {
	return strings.HasPrefix(filepath.ToSlash(path), publicDir+"/") && !strings.HasSuffix(path, "_test.go")
}

func (s source) readImplements(file *ast.File) {
	for _, decl := range file.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || !function.Name.IsExported() {
			continue
		}
		found := implements.FindStringSubmatch("\n" + function.Doc.Text())
		if found == nil {
			continue
		}
		for _, name := range strings.Split(found[1], ",") {
			s.bound[strings.TrimSpace(name)] = true
		}
	}
}

// readClaims collects the names that calls of claimers have as literals.
func (s source) readClaims(file *ast.File) {
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains(claimers, selector.Sel.Name) {
			return true
		}
		for _, arg := range call.Args {
			if literal, ok := arg.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if name, err := strconv.Unquote(literal.Value); err == nil {
					s.claimed[name] = true
				}
			}
		}
		return true
	})
}
