package testutil

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/dl"
)

// Coverage of the C libraries. A claim is checked when the test ends and is good
// only if the function was called since WatchCalls and answered so. The lines
// that good claims print are what the coverage table is made of.
const (
	testedLine  = "coverage: tested "
	refusedLine = "coverage: refused "
)

// composed lists functions that are nothing but others of their library, one
// after the other: ours call those.
var composed = map[string][]string{
	"ibv_create_ah_from_wc": {"ibv_init_ah_from_wc", "ibv_create_ah"},
}

// WatchCalls begins a test that makes claims. Its claims are checked after what
// the test cleans up later than this call.
func WatchCalls(t testing.TB) {
	t.Helper()
	dl.ForgetCalls()
}

// Covers claims that the test shows the effect of these C functions.
func Covers(t testing.TB, functions ...string) {
	t.Helper()
	for _, f := range functions {
		claim(t, f, testedLine, func(c dl.Call) bool { return c.Succeeded })
	}
}

// Refuses checks that err is the refusal of a C function that device, kernel or
// library cannot carry out, and claims that the test asked for it.
func Refuses(t testing.TB, err error, function string) {
	t.Helper()
	require.ErrorIs(t, err, errors.ErrUnsupported)
	claim(t, function, refusedLine, func(c dl.Call) bool {
		return errors.Is(c.Failed, syscall.EOPNOTSUPP) || errors.Is(c.Failed, errors.ErrUnsupported)
	})
}

func claim(t testing.TB, function, line string, good func(dl.Call) bool) {
	atEnd(t, func() {
		if t.Failed() {
			return
		}
		calls, parts := dl.Calls(), composed[function]
		if parts == nil {
			parts = []string{function}
		}
		for _, part := range parts {
			if !good(calls[part]) {
				t.Errorf("the test claims %s, and its calls say otherwise: %s: %+v", function, part, calls[part])
				return
			}
		}
		t.Logf("%s%s", line, function)
	})
}

// atEnd runs check when the test's objects are closed: tests may claim what
// their cleaning up calls.
func atEnd(t testing.TB, check func()) {
	if r, ok := t.(interface{ AtEnd(func()) }); ok {
		r.AtEnd(check)
		return
	}
	t.Cleanup(check)
}
