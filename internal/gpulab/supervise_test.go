//go:build linux && cgo

package gpulab

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
)

// mostRestarts bounds how many tests may take their process along.
const mostRestarts = 12

var (
	runLine  = regexp.MustCompile(`^=== RUN   (Test[^/\s]*)$`)
	doneLine = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (Test\S*) `)
)

// supervise runs the tests in a child. When a test ends the child, it is reported
// as failed, and another child runs the tests that are left. It answers the exit
// status.
func supervise(args []string) int {
	// The children die with this thread.
	runtime.LockOSThread()
	status := 0
	var done []string
	for range mostRestarts {
		all := append(args[:len(args):len(args)], "-test.v=true")
		if len(done) > 0 {
			all = append(all, "-test.skip=^("+strings.Join(done, "|")+")$")
		}
		finished, running, err := superviseOnce(all)
		done = append(done, finished...)
		if err != nil {
			status = 1
		}
		if running == "" {
			return status
		}
		status = 1
		fmt.Printf("--- FAIL: %s (0.00s)\n    its process ended: %v\n", running, err)
		done = append(done, running)
	}
	fmt.Printf("gpulab: %d tests ended their process: giving up\n", mostRestarts)
	return 1
}

// superviseOnce runs one child, and tells which tests ended and which was running
// when the child ended.
func superviseOnce(args []string) (finished []string, running string, err error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), innerEnv+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, write, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer out.Close()
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
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		fmt.Println(line)
		if m := runLine.FindStringSubmatch(line); m != nil {
			running = m[1]
		}
		if m := doneLine.FindStringSubmatch(line); m != nil {
			finished = append(finished, m[2])
			running = ""
		}
	}
	// A line that was too long: the child must not block on the pipe.
	_, _ = io.Copy(io.Discard, out)
	err = <-ended
	return finished, running, err
}
