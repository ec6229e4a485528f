package life

import (
	"errors"
	"fmt"
	"strings"
)

// ErrBusy is what every *BusyError matches.
var ErrBusy = errors.New("still in use")

// BusyError is the refusal to close an object whose children are open.
type BusyError struct {
	Object   string
	Children []Info
}

// Error implements error.
func (e *BusyError) Error() string {
	const most = 6
	var names []string
	for _, c := range e.Children {
		name := c.Name
		if c.Lost {
			name += " (dropped without Close)"
		}
		names = append(names, name)
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return fmt.Sprintf("%s is still used by %s%s: close them first, or call CloseAll",
		e.Object, strings.Join(names, ", "), more)
}

// Is reports whether target is ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// LostError says that an object cannot be closed any more, because its owner
// was dropped without Close.
type LostError struct{ Info Info }

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("%s was dropped without Close; it was made at:\n%s", e.Info.Name, e.Info.Stack)
}
