package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
)

func TestMain(m *testing.M) { os.Exit(testutil.Main(m)) }

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return lines[len(lines)-1]
}

func run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code, err := command(args, &out)
	require.NoError(t, err)
	return code, out.String()
}

func TestPartsAreSummed(t *testing.T) {
	dir := t.TempDir()
	passing := `echo '{"Action":"run","Package":"p","Test":"TestA"}'; echo '{"Action":"pass","Package":"p","Test":"TestA"}'; echo '{"Action":"pass","Package":"p"}'`
	for _, name := range []string{"unit", "race"} {
		code, _ := run(t, "run", dir, name, "sh", "-c", passing)
		assert.Zero(t, code)
	}
	code, out := run(t, "sum", dir)
	assert.Zero(t, code)
	assert.Equal(t, "2 passed, 0 failed, 0 skipped", lastLine(out))
	assert.Contains(t, out, "race")
}

func TestCasesByPart(t *testing.T) {
	dir := t.TempDir()
	event := func(action, test string) string {
		return `echo '{"Action":"` + action + `","Package":"p","Test":"` + test + `"}';`
	}
	begin := event("run", "TestC") + event("run", "TestC/one") + event("run", "TestOther/x")
	run(t, "run", dir, "loop0", "sh", "-c", begin+event("pass", "TestC/one")+event("pass", "TestC"))
	run(t, "run", dir, "6.1", "sh", "-c", begin+event("fail", "TestC/one")+event("run", "TestC/two")+event("skip", "TestC/two"))
	code, out := run(t, "cases", dir, "TestC")
	assert.Equal(t, 1, code)
	assert.Regexp(t, `case +loop0 +6\.1\n`, out)
	assert.Regexp(t, `one +ok +FAIL\n`, out)
	assert.Regexp(t, `two +- +SKIP\n`, out)
	assert.NotContains(t, out, "x  ")
	assert.Regexp(t, `^\d+ passed, \d+ failed, 1 skipped$`, lastLine(out))
}

func TestCommandThatFailsWithoutATestFails(t *testing.T) {
	for _, script := range []string{"exit 3", "true"} {
		dir := t.TempDir()
		code, _ := run(t, "run", dir, "lab", "sh", "-c", script)
		assert.Zero(t, code, "the next part is to run")
		code, out := run(t, "sum", dir)
		assert.Equal(t, 1, code)
		assert.Equal(t, "0 passed, 1 failed, 0 skipped", lastLine(out))
	}
}

func TestCommandThatDoesNotStartFails(t *testing.T) {
	dir := t.TempDir()
	code, _ := run(t, "run", dir, "lab", "/does/not/exist")
	assert.Zero(t, code)
	_, out := run(t, "sum", dir)
	assert.Equal(t, "0 passed, 1 failed, 0 skipped", lastLine(out))
}

func TestBadUse(t *testing.T) {
	for _, args := range [][]string{nil, {"sum"}, {"run", "dir", "name"}, {"dance"}, {"cases", "dir"}} {
		code, err := command(args, &bytes.Buffer{})
		assert.Equal(t, 2, code)
		assert.Error(t, err)
	}
	code, err := command([]string{"sum", t.TempDir()}, &bytes.Buffer{})
	assert.Equal(t, 1, code)
	assert.Error(t, err)
}
