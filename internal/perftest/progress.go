package perftest

import (
	"fmt"
	"io"
	"os"
)

// progress says on a terminal's stderr what is being measured, on one line that
// the next row replaces.
type progress struct {
	w     io.Writer // nil: nothing is said
	shown bool
}

// newProgress is silent unless stderr is a terminal.
func newProgress(stderr io.Writer, enabled bool) *progress {
	p := &progress{}
	if f, ok := stderr.(*os.File); ok && enabled {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull {
			p.w = stderr
		}
	}
	return p
}

// size is the i-th of n.
func (p *progress) size(size, i, n int) {
	if p.w == nil {
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%d bytes (%d of %d)", size, i+1, n)
	p.shown = true
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
