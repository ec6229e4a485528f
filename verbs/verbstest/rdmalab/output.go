package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/gofabric/gofabric/internal/lab"
)

// output is where one guest's output goes.
type output struct {
	o      *options
	label  string // before each line; empty for a guest by itself
	skips  *lab.SkipWatch
	stdout *labelled
	stderr *labelled
}

// newOutputs makes one for each guest.
func newOutputs(o *options) []*output {
	labels := []string{""}
	if o.verb == verbPair {
		labels = []string{"a: ", "b: "}
	}
	lock := new(sync.Mutex)
	var list []*output
	for _, l := range labels {
		list = append(list, &output{
			o: o, label: l, skips: &lab.SkipWatch{},
			stdout: &labelled{to: os.Stdout, label: l, lock: lock},
			stderr: &labelled{to: os.Stderr, label: l, lock: lock},
		})
	}
	return list
}

// attach makes a job write here.
func (out *output) attach(j *lab.Job) {
	j.Stdout, j.Stderr = io.Writer(os.Stdout), io.Writer(os.Stderr)
	if out.label != "" {
		j.Stdout, j.Stderr = out.stdout, out.stderr
	}
	if out.o.strict {
		j.Stdout = io.MultiWriter(j.Stdout, out.skips)
	}
	if sameFile(os.Stdout, os.Stderr) {
		j.Stderr = j.Stdout
	}
	if out.o.verbose {
		j.Console = os.Stderr
		if out.label != "" {
			j.Console = out.stderr
		}
	}
}

// close ends the last line.
func (out *output) close() {
	out.skips.Close()
	out.stdout.close()
	out.stderr.close()
}

// judge tells what was wrong with a job that has run, and returns the exit
// status that it stands for.
func (out *output) judge(r lab.Result) int {
	if r.Signal != 0 {
		fmt.Fprintf(os.Stderr, "rdmalab: %sthe program was killed by signal %d (%v)\n", out.label, r.Signal, syscall.Signal(r.Signal))
	}
	if bad := out.o.refused(out.skips.Skipped); len(bad) > 0 {
		fmt.Fprintf(os.Stderr, "rdmalab: %sskipped tests are failures here (--strict): %s\n", out.label, strings.Join(bad, ", "))
		if r.ExitCode == 0 {
			return 1
		}
	}
	return r.ExitCode
}

// labelled writes whole lines, each behind a label, so that two programs'
// output can share a terminal.
type labelled struct {
	to    io.Writer
	label string
	lock  *sync.Mutex // of all that share the terminal
	line  []byte
}

func (w *labelled) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.line = append(w.line, p...)
	end := bytes.LastIndexByte(w.line, '\n')
	if end < 0 {
		return len(p), nil
	}
	var text []byte
	for _, l := range bytes.SplitAfter(w.line[:end+1], []byte("\n")) {
		if len(l) > 0 {
			text = append(append(text, w.label...), l...)
		}
	}
	w.line = append(w.line[:0], w.line[end+1:]...)
	_, err := w.to.Write(text)
	return len(p), err
}

// close writes a last line that has no end.
func (w *labelled) close() {
	if len(w.line) > 0 {
		// There is nobody left to tell that the terminal is gone.
		_, _ = w.Write([]byte("\n"))
	}
}

// refused returns the skipped tests that were not allowed to be.
func (o *options) refused(skipped []string) []string {
	var bad []string
	for _, name := range skipped {
		if o.allow == nil || !o.allow.MatchString(name) {
			bad = append(bad, name)
		}
	}
	return bad
}

// sameFile says whether both streams end in one place, where their order
// matters.
func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}
