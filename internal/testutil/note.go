package testutil

import "testing"

// NotePrefix begins the line that Note leaves in a test's output. The tally of
// the suite counts such lines of tests that pass, too.
const NotePrefix = "note: "

// Note tells something about a test that passes all the same and that nobody
// would read in its output, such as that it had to try twice.
func Note(t testing.TB, text string) {
	t.Helper()
	t.Log(NotePrefix + text)
}
