//go:build linux && cgo

package gpulab

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// testLimit bounds a test that says nothing else.
const testLimit = time.Minute

// limit ends the process, with all stacks printed, if the test does not end in
// time.
func limit(t testing.TB, d time.Duration) {
	t.Helper()
	timer := time.AfterFunc(d, func() { expire(t.Name(), d) })
	t.Cleanup(func() { timer.Stop() })
}

func expire(what string, d time.Duration) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Fprintf(os.Stderr, "gpulab: %s is not over after %v\n%s\n", what, d, stacks)
	family.killAll()
	os.Exit(3)
}

// family is the children of this process.
var family children

type children struct {
	sync.Mutex
	alive map[*child]bool
}

func (f *children) add(c *child) {
	f.Lock()
	defer f.Unlock()
	if f.alive == nil {
		f.alive = map[*child]bool{}
	}
	f.alive[c] = true
}

func (f *children) remove(c *child) {
	f.Lock()
	defer f.Unlock()
	delete(f.alive, c)
}

func (f *children) killAll() {
	f.Lock()
	defer f.Unlock()
	for c := range f.alive {
		_ = c.cmd.Process.Kill()
	}
}
