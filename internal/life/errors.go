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
		names = append(names, c.Name)
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
