//go:build race

package testutil

// Race reports whether the race detector watches. What takes it long and has the
// same goroutines in every case may then be done in fewer cases: the suite's unit
// part has all of them.
const Race = true
