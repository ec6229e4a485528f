//go:build linux && cgo

package gpulab

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// mostRestarts bounds how many tests may take their process along.
	mostRestarts = 12
	// enoughTime is for all children together, if no -test.timeout says so.
	enoughTime = 8 * time.Minute
)

var (
	runLine  = regexp.MustCompile(`^=== RUN   (Test[^/\s]*)$`)
	doneLine = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (Test\S*) `)
)

// supervise runs a test binary as a child. When a test ends the child, it is
// reported as failed, and another child runs the tests that are left. It answers
// the exit status.
func supervise(program string, args []string, bound time.Duration, out io.Writer) int {
	// The child dies with this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if bound == 0 {
		bound = enoughTime
	}
	start := time.Now()
	status := 0
	var done []string
	for restarts := 0; restarts < mostRestarts && time.Since(start) < bound; restarts++ {
		left := (bound - time.Since(start)).Round(time.Second)
		all := append(args[:len(args):len(args)], "-test.v=true", "-test.timeout="+max(left, time.Second).String())
		if len(done) > 0 {
			all = append(all, "-test.skip=^("+strings.Join(done, "|")+")$")
		}
		finished, running, err := superviseOnce(program, all, out)
		done = append(done, finished...)
		if err != nil {
			status = 1
		}
		if running == "" {
			return status
		}
		status = 1
		fmt.Fprintf(out, "--- FAIL: %s (0.00s)\n    its process ended: %v\n", running, err)
		done = append(done, running)
	}
	fmt.Fprintf(out, "gpulab: gave up after %.0f s; these tests were done: %s\n", time.Since(start).Seconds(), strings.Join(done, " "))
	return 1
}

// superviseOnce runs one child, and tells which tests ended and which was running
// when the child ended.
func superviseOnce(program string, args []string, out io.Writer) (finished []string, running string, err error) {
	cmd := exec.Command(program, args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), innerEnv+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer read.Close()
	cmd.Stdout = write
	err = cmd.Start()
	write.Close()
	if err != nil {
		return nil, "", err
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		// Whatever it left would hold the pipe and the GPUs.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		ended <- err
	}()
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		fmt.Fprintln(out, line)
		if m := runLine.FindStringSubmatch(line); m != nil {
			running = m[1]
		}
		if m := doneLine.FindStringSubmatch(line); m != nil {
			finished = append(finished, m[2])
			running = ""
		}
	}
	// After a line that was too long the child must not block on the pipe.
	_, _ = io.Copy(io.Discard, read)
	return finished, running, <-ended
}

// dying is a test binary of four tests: the second one is killed, the third fails
// and the last leaves a process that would hold the pipe for ever.
const dying = `#!/bin/sh
case "$*" in
*skip*TestB*)
	echo '=== RUN   TestC'
	echo '--- FAIL: TestC (0.00s)'
	echo '=== RUN   TestD'
	sleep 1000 &
	echo '--- PASS: TestD (0.00s)'
	echo FAIL "$@"
	exit 1
	;;
esac
echo '=== RUN   TestA'
echo '=== RUN   TestA/part'
echo '    --- PASS: TestA/part (0.00s)'
echo '--- PASS: TestA (0.00s)'
echo '=== RUN   TestB'
kill -9 $$
`

func TestSupervisorGoesOnAfterATestThatDies(t *testing.T) {
	limit(t, testLimit)
	program := filepath.Join(t.TempDir(), "dying")
	require.NoError(t, os.WriteFile(program, []byte(dying), 0o700))
	var out bytes.Buffer
	status := supervise(program, []string{"-test.run", "."}, time.Minute, &out)
	assert.Equal(t, 1, status)
	text := out.String()
	assert.Equal(t, 2, strings.Count(text, "--- PASS: Test")-strings.Count(text, "    --- PASS"), text)
	assert.Contains(t, text, "--- FAIL: TestB (0.00s)\n    its process ended: signal: killed")
	assert.Contains(t, text, "FAIL -test.run . -test.v=true -test.timeout=1m0s -test.skip=^(TestA|TestB)$")
}
