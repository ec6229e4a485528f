package nccltest

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// progress says on a terminal's stderr what is being timed, on one line that the
// next row replaces.
type progress struct {
	mu    sync.Mutex
	w     io.Writer // nil: nothing is said
	sizes int
	done  int
	shown bool
}

// newProgress is silent unless stderr is a terminal.
func newProgress(stderr io.Writer, cfg *Config, enabled bool) *progress {
	p := &progress{sizes: cfg.sizes()}
	if f, ok := stderr.(*os.File); ok && enabled {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = stderr
		}
	}
	return p
}

func (p *progress) size(t *trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil {
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%v: %d bytes (%d of %d)", t.dt, t.bytes(), p.done%p.sizes+1, p.sizes)
	p.done++
	p.shown = true
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
