package dl

import "syscall"

// Call is how the calls of a C function ended.
type Call struct {
	Succeeded bool          // at least one did
	Failed    syscall.Errno // of the last that did not, or 0
}
