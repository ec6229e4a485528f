//go:build linux && cgo

package gpulab

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// limitEnv is how long a process may play its role.
const limitEnv = "GOFABRIC_GPULAB_LIMIT"

// tester is what a test and a process in a role have in common.
type tester interface {
	require.TestingT
	Helper()
	Cleanup(func())
}

func fatal(t tester, format string, args ...any) {
	t.Helper()
	t.Errorf(format, args...)
	t.FailNow()
}

// process is a process in a role: its first failure ends it.
type process struct {
	name     string
	cleanups []func()
	failed   bool
}

func (p *process) Helper() {}

func (p *process) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

func (p *process) Errorf(format string, args ...any) {
	p.failed = true
	fmt.Fprintf(os.Stderr, "role %s: "+format+"\n", append([]any{p.name}, args...)...)
}

// FailNow leaves everything as it is: the process ends.
func (p *process) FailNow() {
	family.killAll()
	os.Exit(1)
}

// roles are what a process of this binary can be started for.
var roles = map[string]func(*process){
	"rank":         rankRole,
	"beside":       besideRole,
	"absent":       absentRole,
	"survivor":     survivorRole,
	"victim":       victimRole,
	"abort-graphs": abortGraphsRole,
	"abort-busy":   abortBusyRole,
	"migrate":      migrateRole,
	"one-gpu":      oneGPURole,
	"signals":      signalsRole,
	"peer":         peerRole,
	"topology":     topologyRole,
	"asleep":       func(*process) { select {} },
}

func TestRoleThatHangsIsEndedWithItsStacks(t *testing.T) {
	limit(t, testLimit)
	p := launch(t, role("asleep", 50*time.Millisecond))
	var exit *exec.ExitError
	require.ErrorAs(t, p.wait(), &exit)
	require.Equal(t, 3, exit.ExitCode())
	require.Contains(t, p.said(), "[select (no cases)")
}

// playRole ends the process.
func playRole(name string) {
	p := &process{name: name}
	play := roles[name]
	if play == nil {
		fatal(p, "there is no such role")
	}
	d, err := time.ParseDuration(os.Getenv(limitEnv))
	require.NoError(p, err)
	timer := time.AfterFunc(d, func() { expire("role "+name, d) })
	play(p)
	for i := len(p.cleanups) - 1; i >= 0; i-- {
		p.cleanups[i]()
	}
	timer.Stop()
	if p.failed {
		os.Exit(1)
	}
	os.Exit(0)
}
