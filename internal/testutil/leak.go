package testutil

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"
)

// leakGrace is how long the end of a test run waits for goroutines and files
// that are on their way out.
const leakGrace = 5 * time.Second

// threadSlack is how many threads a run may add. The runtime keeps threads it
// has once needed, so the check finds a thread for each waiter, not a single one.
const threadSlack = 32

// Main runs the tests and then fails the run if it left goroutines or file
// descriptors behind, or many threads. Further checks run last; each returns an
// error that names what is still alive. It is called from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(testutil.Main(m)) }
func Main(m *testing.M, checks ...func() error) int {
	before := takeSnapshot()
	code := m.Run()
	if code != 0 {
		// A failed test often leaves things open: its own message matters more.
		return code
	}
	problems := before.leaksAfter(leakGrace)
	for _, check := range checks {
		if err := check(); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if len(problems) == 0 {
		return 0
	}
	for _, problem := range problems {
		fmt.Fprintf(os.Stderr, "leaked: %s\n", problem)
	}
	return 1
}

// snapshot is what a process holds at one moment. Where /proc is absent, files
// and threads stay empty and only goroutines are compared.
type snapshot struct {
	goroutines map[string]string // number to stack
	files      map[string]string // descriptor to target
	threads    int
}

func takeSnapshot() snapshot {
	return snapshot{goroutines: goroutines(), files: openFiles(), threads: threadCount()}
}

// leaksAfter says what the process holds beyond the snapshot once the grace is
// over, or nothing as soon as there is nothing.
func (before snapshot) leaksAfter(grace time.Duration) []string {
	deadline := time.Now().Add(grace)
	for {
		problems := before.compare(takeSnapshot())
		if len(problems) == 0 || !time.Now().Before(deadline) {
			return problems
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (before snapshot) compare(now snapshot) []string {
	var problems []string
	for _, id := range newKeys(before.goroutines, now.goroutines) {
		if stack := now.goroutines[id]; !ownedByRuntime(stack) {
			problems = append(problems, "goroutine "+stack)
		}
	}
	for _, fd := range newKeys(before.files, now.files) {
		if target := now.files[fd]; !ownedByNetpoller(target) {
			problems = append(problems, fmt.Sprintf("file descriptor %s: %s", fd, target))
		}
	}
	if added := now.threads - before.threads; added > threadSlack {
		problems = append(problems, fmt.Sprintf("%d threads more than at the start (%d are allowed)", added, threadSlack))
	}
	return problems
}

func newKeys(before, now map[string]string) []string {
	var keys []string
	for key := range now {
		if _, was := before[key]; !was {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys
}

// ownedByRuntime: os/signal starts one goroutine at the first Notify, for good.
func ownedByRuntime(stack string) bool {
	return strings.Contains(stack, "os/signal.signal_recv") || strings.Contains(stack, "os/signal.loop")
}

// The netpoller opens its descriptors at the first use and keeps them.
func ownedByNetpoller(target string) bool {
	return strings.Contains(target, "[eventpoll]") || strings.Contains(target, "[eventfd]")
}

func goroutines() map[string]string {
	buf := make([]byte, 1<<16)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	found := map[string]string{}
	for _, stack := range strings.Split(string(buf), "\n\n") {
		head, rest, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		found[head] = head + " " + strings.TrimSpace(rest)
	}
	return found
}

func openFiles() map[string]string {
	files := map[string]string{}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return files
	}
	for _, entry := range entries {
		// The descriptor of the folder itself is gone by now and has no target.
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); err == nil {
			files[entry.Name()] = target
		}
	}
	return files
}

func threadCount() int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	return len(entries)
}
