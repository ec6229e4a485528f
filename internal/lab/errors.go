package lab

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotSupported is returned on hosts on which the lab cannot run at all:
// it needs Linux on amd64.
var ErrNotSupported = errors.New("lab: needs a Linux host on amd64")

// Missing names one thing that the host lacks and the Debian package that
// brings it.
type Missing struct {
	Thing   string
	Package string
}

// MissingError lists everything that was looked for and not found.
type MissingError struct {
	Where string
	Items []Missing
}

func (e *MissingError) Error() string {
	things := make([]string, 0, len(e.Items))
	var packages []string
	seen := map[string]bool{}
	for _, m := range e.Items {
		things = append(things, m.Thing)
		if m.Package != "" && !seen[m.Package] {
			seen[m.Package] = true
			packages = append(packages, m.Package)
		}
	}
	s := fmt.Sprintf("lab: missing in %s: %s", e.Where, strings.Join(things, ", "))
	if len(packages) > 0 {
		s += "; Debian packages that bring them: " + strings.Join(packages, " ")
	}
	return s
}

// GuestError reports a guest that ended without delivering the job's exit
// status: it did not boot, its kernel panicked, or its set-up failed.
type GuestError struct {
	// Reason says what was seen.
	Reason string
	// Console is the end of the guest's console.
	Console string
}

func (e *GuestError) Error() string {
	if e.Console == "" {
		return "lab: " + e.Reason
	}
	return "lab: " + e.Reason + "; the console ends with:\n" + e.Console
}
