package arch

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// implementsLine is the last line of a comment on what a C function backs. The
// coverage of the C libraries is counted from these lines.
var implementsLine = regexp.MustCompile(`^Implements: ` + cName + `(, ` + cName + `)*\.$`)

const cName = `[a-z][A-Za-z0-9_]*`

// badImplements says what is wrong with the Implements line of a comment, or
// nothing.
func badImplements(doc string) string {
	lines := strings.Split(strings.TrimRight(doc, "\n"), "\n")
	start := -1
	for i, line := range lines {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "implements:") {
			if start >= 0 {
				return "stands twice"
			}
			start = i
		}
	}
	if start < 0 {
		return ""
	}
	if start > 0 && lines[start-1] != "" {
		return "needs an empty comment line before it, or godoc runs it into the text"
	}
	// A long list goes on over the following lines, to the end of the comment.
	if joined := strings.Join(lines[start:], " "); !implementsLine.MatchString(joined) {
		return "is not the comment's end in the form \"Implements: name, name.\": " + joined
	}
	return ""
}

func TestImplementsLinesAreWellFormed(t *testing.T) {
	for _, file := range goFiles(t) {
		for _, decl := range file.ast.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			problem := badImplements(function.Doc.Text())
			assert.Empty(t, problem, "%s:%d: %s: its Implements line", file.path, file.line(function.Pos()), function.Name.Name)
		}
	}
}

func TestBadImplements(t *testing.T) {
	for _, good := range []string{
		"",
		"Close closes.\n",
		"Close closes.\n\nImplements: ibv_close_device.\n",
		"Close closes.\n\nImplements: ibv_reg_mr, ibv_reg_mr_iova2,\nibv_reg_dmabuf_mr.\n",
		"Sum sums.\n\nImplements: ncclAllReduce.\n",
		"Read reads.\n\nImplements: rread.\n",
	} {
		assert.Empty(t, badImplements(good), "%q", good)
	}
	for _, bad := range []string{
		"Close closes.\nImplements: ibv_close_device.\n",
		"Close closes.\n\nImplements: ibv_close_device\n",
		"Close closes.\n\nimplements: ibv_close_device.\n",
		"Close closes.\n\nImplements: ibv_close_device and more.\n",
		"Close closes.\n\nImplements: ibv_close_device.\n\nAnd then some.\n",
		"Close closes.\n\nImplements: .\n",
		"Close closes.\n\nImplements: ibv_a.\n\nImplements: ibv_b.\n",
	} {
		assert.NotEmpty(t, badImplements(bad), "%q", bad)
	}
}
