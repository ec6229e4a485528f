package lab

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIsGoTest(t *testing.T) {
	assert.True(t, IsGoTest("/tmp/b001/verbs.test", nil))
	assert.True(t, IsGoTest("x", []string{"--test.run=A"}))
	assert.False(t, IsGoTest("ib_write_bw", []string{"-d", "rxe0", "-test"}))
}

func TestVerboseTest(t *testing.T) {
	assert.Equal(t, []string{"-test.v=true", "-test.run=A"}, VerboseTest([]string{"-test.run=A"}))
	assert.Equal(t, []string{"-test.v=test2json", "x"}, VerboseTest([]string{"-test.v=test2json", "x"}))
	assert.Equal(t, []string{"-test.v=true"}, VerboseTest([]string{"-test.v=false"}), "a hidden skip is no pass")
	assert.Equal(t, []string{"-test.v=true"}, VerboseTest([]string{"-test.v"}))
}

func TestGoTestMappings(t *testing.T) {
	in, out := GoTestMappings([]string{
		"-test.testlogfile=/b/testlog.txt", "-test.paniconexit0", "-test.cpuprofile", "cpu.prof",
		"-test.coverprofile=/b/cover.out", "-test.gocoverdir=/b/cov", "-test.outputdir=sub", "--", "plain",
	}, "/pkg")
	at := func(p string) Mapping { return Mapping{Host: p, Guest: p, Optional: true} }
	assert.ElementsMatch(t, []Mapping{at("/b/testlog.txt"), at("/pkg/sub/cpu.prof"), at("/b/cover.out"), at("/b/cov")}, out)
	assert.Equal(t, []Mapping{{Host: "/b/cov", Guest: "/b/cov"}}, in)
}

func TestSkipWatch(t *testing.T) {
	s := &SkipWatch{}
	for _, part := range []string{"=== RUN   TestA\n--- SK", "IP: TestA (0.00s)\n    --- SKIP: TestB/sub (1.20s)\n", "\x16--- SKIP: TestC (0.00s)\nsay --- SKIP: no\n--- PASS: TestD\n", strings.Repeat("x", 3*maxSkipLine), "\n--- SKIP: TestE"} {
		n, err := fmt.Fprint(s, part)
		assert.NoError(t, err)
		assert.Equal(t, len(part), n)
	}
	s.Close()
	assert.Equal(t, []string{"TestA", "TestB/sub", "TestC", "TestE"}, s.Skipped)
}

func FuzzSkipWatch(f *testing.F) {
	f.Add([]byte("--- SKIP: A (0s)\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &SkipWatch{}
		_, _ = s.Write(data)
		s.Close()
		assert.LessOrEqual(t, len(s.Skipped), strings.Count(string(data), skipLine))
	})
}

func TestConsoleTail(t *testing.T) {
	c := &consoleTail{}
	for i := 0; i < 2000; i++ {
		fmt.Fprintf(c, "\x1b[?7lline %d\r\n", i)
	}
	text := c.text()
	assert.True(t, strings.HasSuffix(text, "line 1999"))
	assert.NotContains(t, text, "\x1b")
	assert.LessOrEqual(t, len(text), 4<<10)
}
