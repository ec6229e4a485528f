package testutil

import (
	"errors"
	"strings"
	"testing"

	"github.com/gofabric/gofabric/internal/dl"
)

// Coverage of the C libraries. A claim is checked when the test ends and is good
// only if the function was called since WatchCalls and answered so. The lines
// that good claims print are what the coverage table is made of.
const (
	testedLine  = "coverage: tested "
	refusedLine = "coverage: refused "
	onLine      = "coverage: on "
)

// composed lists functions that are nothing but others of their library, one
// after the other: ours call those.
var composed = map[string][]string{
	"ibv_create_ah_from_wc": {"ibv_init_ah_from_wc", "ibv_create_ah"},
	"ibv_cq_ex_to_cq":       {"ibv_create_cq_ex", "ibv_destroy_cq"},
}

// computed lists functions that are nothing but arithmetic in the library's header:
// there is no call to see.
var computed = map[string]bool{
	"ibv_inc_rkey":                true,
	"ibv_is_qpt_supported":        true,
	"ibv_flow_label_to_udp_sport": true,
}

// WatchCalls begins a test that makes claims. Its claims are checked after what
// the test cleans up later than this call.
func WatchCalls(t testing.TB) {
	t.Helper()
	dl.ForgetCalls()
}

// CoverageOn says what the tests run on, for the coverage table.
func CoverageOn(t testing.TB, where string) {
	t.Helper()
	t.Logf("%s%s", onLine, where)
}

// Covers claims that the test shows the effect of these C functions.
func Covers(t testing.TB, functions ...string) {
	t.Helper()
	for _, f := range functions {
		claim(t, f, testedLine, func(c dl.Call) bool { return c.Succeeded })
	}
}

// CoversElsewhere makes the claims of a test that ran in a process of its own; out
// is what that printed.
func CoversElsewhere(t testing.TB, out string, functions ...string) {
	t.Helper()
	for _, f := range functions {
		if !strings.Contains(out, testedLine+f+"\n") {
			t.Errorf("the other process did not show %s", f)
			continue
		}
		t.Logf("%s%s", testedLine, f)
	}
}

// Refuses checks that err is the refusal of a C function that device, kernel or
// library cannot carry out, and claims that the test asked for it.
func Refuses(t testing.TB, err error, function string) {
	t.Helper()
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("%s was to be refused as unsupported: %v", function, err)
	}
	claim(t, function, refusedLine, func(c dl.Call) bool {
		return c.Failed != 0 && errors.Is(c.Failed, errors.ErrUnsupported)
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
			if !computed[part] && !good(calls[part]) {
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
