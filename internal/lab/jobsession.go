package lab

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// errHost marks what went wrong on the host's side of a run.
var errHost = errors.New("lab: writing the guest's output")

// jobSession is the host's side of one job: it takes the guest's frames.
type jobSession struct {
	job     Job
	files   *outFiles
	ready   chan struct{} // closed when a guest of a pair waits for frameGo
	started chan struct{} // closed when the job starts
	at      time.Time     // when it did, once started is closed
}

func newJobSession(j Job) *jobSession {
	return &jobSession{job: j, files: newOutFiles(j.Out), ready: make(chan struct{}), started: make(chan struct{})}
}

func (s *jobSession) isStarted() bool { return closed(s.started) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (s *jobSession) isReady() error {
	if closed(s.ready) || s.isStarted() {
		return fmt.Errorf("%w: ready twice", errFrame)
	}
	close(s.ready)
	return nil
}

func (s *jobSession) hello() error {
	if s.isStarted() {
		return fmt.Errorf("%w: a second start", errFrame)
	}
	s.at = time.Now()
	close(s.started)
	return nil
}

func (s *jobSession) output(kind frameKind, p []byte) error {
	var w io.Writer = s.job.Stdout
	if kind == frameStderr {
		w = s.job.Stderr
	}
	if w == nil {
		return nil
	}
	if _, err := w.Write(p); err != nil {
		return fmt.Errorf("%w: %w", errHost, err)
	}
	return nil
}

// sendInput passes the job's standard input on. The guest may be gone by then:
// that ends the run elsewhere.
func (s *jobSession) sendInput(port *frameWriter) {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.job.Stdin.Read(buf)
		if n > 0 && port.send(frameStdin, buf[:n]) != nil {
			return
		}
		if err != nil {
			_ = port.send(frameStdin, nil)
			return
		}
	}
}

func (s *jobSession) file(f fileFrame) error { return hostErr(s.files.begin(f)) }

func (s *jobSession) data(p []byte) error { return hostErr(s.files.data(p)) }

func hostErr(err error) error {
	if err == nil || errors.Is(err, errFrame) {
		return err
	}
	return fmt.Errorf("%w: %w", errHost, err)
}

// result turns a job's end into a result.
func (s *jobSession) result(x exitFrame, start time.Time) (Result, error) {
	r := Result{ExitCode: x.Code, Signal: x.Signal, Accel: s.job.Accel, Boot: s.at.Sub(start), Job: time.Since(s.at)}
	if x.Signal != 0 {
		r.ExitCode = 128 + x.Signal
	}
	if lost := s.files.missing(); len(lost) > 0 && r.ExitCode == 0 {
		return r, fmt.Errorf("lab: the job left no file at %s", strings.Join(lost, ", "))
	}
	return r, nil
}
