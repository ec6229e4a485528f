package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func tallied(t *testing.T, lines ...string) (part, string) {
	t.Helper()
	var out bytes.Buffer
	tally := newTally(&out)
	require.NoError(t, tally.read(strings.NewReader(strings.Join(lines, "\n"))))
	return tally.finish("x"), out.String()
}

func TestSubtestsAreCountedNotTheirParent(t *testing.T) {
	p, out := tallied(t,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"run","Package":"p","Test":"TestA/one"}`,
		`{"Action":"run","Package":"p","Test":"TestA/two"}`,
		`{"Action":"output","Package":"p","Test":"TestA/two","Output":"a.go:1: two is wrong\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestA/one"}`,
		`{"Action":"fail","Package":"p","Test":"TestA/two"}`,
		`{"Action":"fail","Package":"p","Test":"TestA"}`,
		`{"Action":"fail","Package":"p","Elapsed":1.5}`,
	)
	assert.Equal(t, []int{1, 1, 0}, []int{p.Passed, p.Failed, p.Skipped})
	assert.Contains(t, out, "two is wrong")
}

func TestParentThatFailsByItselfCounts(t *testing.T) {
	p, _ := tallied(t,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"run","Package":"p","Test":"TestA/one"}`,
		`{"Action":"pass","Package":"p","Test":"TestA/one"}`,
		`{"Action":"fail","Package":"p","Test":"TestA"}`,
		`{"Action":"fail","Package":"p"}`,
	)
	assert.Equal(t, []int{1, 1, 0}, []int{p.Passed, p.Failed, p.Skipped})
}

func TestSkipKeepsItsReason(t *testing.T) {
	p, _ := tallied(t,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:9: needs a device: see docs\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestA"}`,
		`{"Action":"pass","Package":"p"}`,
		`{"Action":"skip","Package":"no/tests"}`,
	)
	assert.Equal(t, []int{0, 0, 1}, []int{p.Passed, p.Failed, p.Skipped})
	assert.Equal(t, map[string]int{"needs a device: see docs": 1}, p.Skips)
}

func TestBuildFailureIsOneFailed(t *testing.T) {
	p, out := tallied(t,
		`{"ImportPath":"p [p.test]","Action":"build-output","Output":"./a.go:3: undefined: x\n"}`,
		`{"ImportPath":"p [p.test]","Action":"build-fail"}`,
		`{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}`,
		`{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p [p.test]"}`,
	)
	assert.Equal(t, 1, p.Failed)
	assert.Contains(t, out, "undefined: x")
}

func TestCrashFailsTheTestThatRan(t *testing.T) {
	p, out := tallied(t,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"SIGSEGV\n"}`,
		`{"Action":"fail","Package":"p"}`,
	)
	assert.Equal(t, 1, p.Failed)
	assert.Contains(t, out, "SIGSEGV")
}

func TestBenchmarksCountWhenTheyFail(t *testing.T) {
	p, _ := tallied(t,
		`{"Action":"run","Package":"p","Test":"BenchmarkGood"}`,
		`{"Action":"output","Package":"p","Test":"BenchmarkGood","Output":"1\t9 ns/op\n"}`,
		`{"Action":"run","Package":"p","Test":"BenchmarkBad"}`,
		`{"Action":"fail","Package":"p","Test":"BenchmarkBad"}`,
		`{"Action":"fail","Package":"p"}`,
	)
	assert.Equal(t, []int{0, 1, 0}, []int{p.Passed, p.Failed, p.Skipped})
}

func TestTruncatedStreamFails(t *testing.T) {
	p, _ := tallied(t, `{"Action":"run","Package":"p","Test":"TestA"}`)
	assert.Equal(t, 1, p.Failed)
}

func TestForeignLinesPass(t *testing.T) {
	_, out := tallied(t, "the guest says hello", `{"not": "an event"}`)
	assert.Equal(t, "the guest says hello\n{\"not\": \"an event\"}\n", out)
}

func FuzzTally(f *testing.F) {
	f.Add(`{"Action":"run","Package":"p","Test":"TestA/b"}` + "\n" + `{"Action":"fail","Package":"p"}`)
	f.Add(`{"Action":"build-output","ImportPath":"p"}`)
	f.Add("{\n}\n\x00")
	f.Fuzz(func(t *testing.T, stream string) {
		var out bytes.Buffer
		tally := newTally(&out)
		require.NoError(t, tally.read(strings.NewReader(stream)))
		p := tally.finish("fuzz")
		assert.GreaterOrEqual(t, p.Passed+p.Failed+p.Skipped, 0)
	})
}

func TestNotesOfTestsThatPass(t *testing.T) {
	p, out := tallied(t,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: note: run again: the clock\n"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: note: run again: the clock\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"pass","Package":"p","Elapsed":1.5}`,
	)
	assert.Equal(t, map[string]int{"run again: the clock": 2}, p.Notes)
	assert.NotContains(t, out, "clock")
	var sum bytes.Buffer
	assert.True(t, printSum(&sum, []part{p, p}))
	assert.Contains(t, sum.String(), "noted:\n   4  run again: the clock\n")
}
