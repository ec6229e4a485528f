//go:build !linux || !cgo

package dl

// ForgetCalls does nothing: this build calls no C.
func ForgetCalls() {}

// Calls returns nothing: this build calls no C.
func Calls() map[string]Call { return nil }
