//go:build linux && cgo

package gpulab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a process that a test started. What it prints is kept, for the error;
// its figures are printed at once.
type child struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // what it prints to its standard output, if asked for
	done  chan struct{}
	err   error

	mu     sync.Mutex
	output bytes.Buffer
}

// command says what to start.
type command struct {
	name  string
	args  []string // the program and its arguments
	env   []string // added to this process's
	limit time.Duration
	talk  bool // it is told what to do through in, and answers in lines
}

// role is a command that runs this binary in a role.
func role(name string, limit time.Duration, env ...string) command {
	return command{
		name: name, args: []string{"/proc/self/exe"}, limit: limit,
		env: append(env, roleEnv+"="+name, limitEnv+"="+limit.String()),
	}
}

// launch starts a process, which ends with the test.
func launch(t tester, c command) *child {
	t.Helper()
	p := &child{name: c.name, cmd: exec.Command(c.args[0], c.args[1:]...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), c.env...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		fatal(t, "%s: %v", c.name, err)
	}
	p.cmd.Stderr = locked{p}
	if c.talk {
		p.lines = make(chan string, 64)
		if p.in, err = p.cmd.StdinPipe(); err != nil {
			fatal(t, "%s: %v", c.name, err)
		}
	}
	if err := p.cmd.Start(); err != nil {
		fatal(t, "%s: %v", c.name, err)
	}
	family.add(p)
	timer := time.AfterFunc(c.limit+5*time.Second, func() {
		fmt.Fprintf(locked{p}, "gpulab: killed after %v\n", c.limit+5*time.Second)
		_ = p.cmd.Process.Kill()
	})
	go func() {
		p.read(out)
		p.err = p.cmd.Wait()
		timer.Stop()
		family.remove(p)
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

func (p *child) read(out io.Reader) {
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		fmt.Fprintln(locked{p}, line)
		// A launcher puts its own words before a line.
		if i := strings.Index(line, "figure: "); i >= 0 && p.lines == nil {
			figure("%s", line[i+len("figure: "):])
		}
		if p.lines != nil {
			p.lines <- line
		}
	}
	if p.lines != nil {
		close(p.lines)
	}
}

// locked writes into the output that is kept.
type locked struct{ p *child }

func (l locked) Write(b []byte) (int, error) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if l.p.output.Len() < 1<<18 {
		l.p.output.Write(b)
	}
	return len(b), nil
}

func (p *child) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for line := range strings.Lines(p.output.String()) {
		b.WriteString("    [" + p.name + "] " + line)
	}
	return b.String()
}

// wait waits for the end of the process and answers an error with what it said,
// if it did not end well.
func (p *child) wait() error {
	<-p.done
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, p.err, p.said())
	}
	return nil
}

// killed reports whether the process was ended by SIGKILL.
func (p *child) killed() bool {
	<-p.done
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
